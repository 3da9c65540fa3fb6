"""Declared types as plain data (JSON), which is read without the classes of a program.

A type is an object. ``type``: its word, such as ``LIST``. ``of``: the types in it, in their order
(a map's keys, then its values), if there are any. ``names``: those of a row's fields, if given.
A type that ``Types`` does not make has its ``text``: one that a class stands for has the word
``CLASS``, with ``module`` and ``qualname``; what ``Aggregates`` keep has the word ``AGGREGATES``,
with pairs of function and field.
"""

from __future__ import annotations

from typing import Any

TypeData = dict[str, Any]

CLASS = "CLASS"
ANY = "PICKLED_BYTE_ARRAY"
"""The word of the type of anything that pickles."""


def type_data(name: str, *of: TypeData, **more: Any) -> TypeData:
    """The data of a type with the types in it."""
    return {"type": name, **({"of": [*of]} if of else {}), **more}


def type_text(data: TypeData) -> str:
    """The type as it would be written, without ``Types.``: ``LIST<INT>``."""
    if "text" in data:
        return str(data["text"])
    parts = [*map(type_text, data.get("of", ()))]
    if data["type"] == "ROW":
        parts = [f"{name}: {part}" for name, part in zip(_names(data), parts, strict=True)]
    elif not parts and data["type"] != "TUPLE":
        return str(data["type"])
    return f"{data['type']}<{', '.join(parts)}>"


def types_compatible(one: TypeData, other: TypeData) -> bool:
    """True when both are one type, but for parts of either that may hold anything."""
    if ANY in (one["type"], other["type"]):
        return True
    if one["type"] != other["type"] or "text" in one:
        return type_text(one) == type_text(other)
    parts, others = one.get("of", ()), other.get("of", ())
    return (
        len(parts) == len(others)
        and (one["type"] != "ROW" or _names(one) == _names(other))
        and all(map(types_compatible, parts, others))
    )


def _names(row: TypeData) -> list[str]:
    return row.get("names") or [f"f{index}" for index in range(len(row.get("of", ())))]

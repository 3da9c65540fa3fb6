"""Declared types as JSON, which can be read without the classes of the program.

A type is an object:

- ``type``: its name, such as ``LIST``.
- ``of``: the types in it, in order (of a map: keys, values). Left out if there are none.
- ``names``: the field names of a row, if given.
- ``text``: how the type is shown, for types that ``Types`` does not make. A user's class has the
  name ``CLASS``, with ``module`` and ``qualname``. The state of ``Aggregates`` has the name
  ``AGGREGATES``, with pairs of function and field.
"""

from __future__ import annotations

from typing import Any

TypeData = dict[str, Any]

CLASS = "CLASS"
ANY = "PICKLED_BYTE_ARRAY"
"""The name of the type of any pickled value."""


def type_data(name: str, *of: TypeData, **more: Any) -> TypeData:
    """Return the JSON of a type: its name, the types in it, and other entries."""
    return {"type": name, **({"of": [*of]} if of else {}), **more}


def type_text(data: TypeData) -> str:
    """Return a type as users see it: ``LIST<INT>``."""
    if "text" in data:
        return str(data["text"])
    parts = [*map(type_text, data.get("of", ()))]
    if data["type"] == "ROW":
        parts = [f"{name}: {part}" for name, part in zip(field_names(data), parts, strict=True)]
    elif not parts and data["type"] != "TUPLE":
        return str(data["type"])
    return f"{data['type']}<{', '.join(parts)}>"


def field_names(row: TypeData) -> list[str]:
    """Return the names of a row's fields; of one without names f0, f1, …"""
    return row.get("names") or [f"f{index}" for index in range(len(row.get("of", ())))]

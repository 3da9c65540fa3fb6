"""A small tagged JSON for the values that travel through streams, faithful to their types.

It knows no library: a ``Row`` of PyFlink and a ``Row`` of Headrace have one encoding. What JSON
itself keeps apart (null, booleans, integers, strings) stands bare; everything else is an object
whose first key is its tag, so that 1, 1.0, (1,) and [1] stay four different values.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json


def encode(value: object) -> object:
    """Return ``value`` as JSON-ready data; equal values of equal types give equal data.

    Raises:
        TypeError: a type this encoding does not know, named with its module.
    """
    kind = type(value)
    if value is None or kind in (bool, str, int):
        return value
    if isinstance(value, enum.Enum):
        return {"enum": f"{kind.__name__}.{value.name}"}
    if kind is float:
        return {"float": repr(value)}
    if kind is list and isinstance(value, list):
        return {"list": [encode(item) for item in value]}
    if isinstance(value, tuple):
        return _encode_tuple(value)
    if kind is dict and isinstance(value, dict):
        pairs = [[encode(key), encode(item)] for key, item in value.items()]
        return {"dict": sorted(pairs, key=canonical)}
    if isinstance(value, set | frozenset):
        return {kind.__name__: sorted((encode(item) for item in value), key=canonical)}
    if isinstance(value, bytes | bytearray):
        return {kind.__name__: value.hex()}
    if kind is decimal.Decimal:
        return {"decimal": str(value)}
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return {kind.__name__: value.isoformat()}
    if isinstance(value, datetime.timedelta):
        return {"timedelta": [value.days, value.seconds, value.microseconds]}
    if kind.__name__ == "Row" and kind.__module__.endswith(".common.types"):
        return _encode_row(value)
    if kind.__name__ == "Instant" and kind.__module__.endswith(".common.time"):
        return {"instant": [value.seconds, value.nanos]}  # type: ignore[attr-defined]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"dataclass": kind.__name__, "fields": fields}
    raise TypeError(f"no encoding for {kind.__module__}.{kind.__qualname__}: {value!r}")


def canonical(encoded: object) -> str:
    """Return the one text of encoded data: a key to sort and to compare by."""
    return json.dumps(encoded, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _encode_tuple(value: tuple[object, ...]) -> object:
    items = [encode(item) for item in value]
    names = getattr(type(value), "_fields", None)
    if names is None:
        return {"tuple": items}
    return {"namedtuple": type(value).__name__, "names": list(names), "values": items}


def _encode_row(row: object) -> object:
    # Only the public face of Row: its kind, its fields by position, its names through as_dict.
    try:
        names: list[str] | None = list(row.as_dict())  # type: ignore[attr-defined]
    except TypeError:  # a Row without names says so in this way, in both libraries
        names = None
    return {
        "row": [encode(item) for item in row],  # type: ignore[attr-defined]
        "names": names,
        "kind": row.get_row_kind().name,  # type: ignore[attr-defined]
    }

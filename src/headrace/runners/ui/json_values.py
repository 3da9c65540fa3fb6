"""State as JSON, for people and scripts that ask the page's server."""

from __future__ import annotations

import base64
import dataclasses
import math
from decimal import Decimal
from enum import Enum
from typing import Any

from headrace.common.types import Row

_AS_THEY_ARE = frozenset({type(None), bool, int, str})


def json_value(value: Any) -> Any:
    """Return a value as JSON has it.

    Dataclasses and rows with names become objects, other rows, tuples and sets arrays, bytes
    base64, and a dict with keys that are no strings an array of pairs. What JSON does not have is a
    text: decimals, dates, NaN, and otherwise what Python prints.
    """
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if kind is tuple or kind is list:
        return [*map(json_value, value)]
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Enum):
        return json_value(value.value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Row):
        return json_value(value.as_dict() if hasattr(value, "_fields") else [*value])
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: json_value(each) for key, each in value.items()}
        return [[json_value(key), json_value(each)] for key, each in value.items()]
    if isinstance(value, list | tuple | set | frozenset):
        return [*map(json_value, value)]
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = (each.name for each in dataclasses.fields(value))
        return {name: json_value(getattr(value, name, None)) for name in names}
    if isinstance(value, Decimal):
        return f"{value:f}" if value.is_finite() else str(value)
    return value.isoformat() if hasattr(value, "isoformat") else repr(value)

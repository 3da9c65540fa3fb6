"""Values of rows as PyFlink gives them."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from headrace.common._types.java_text import float_text
from headrace.common.types import Row
from headrace.sql.types import (
    ArrayType,
    BytesType,
    FloatType,
    MapType,
    MultisetType,
    RowType,
    SqlType,
)


def python_row(row: Row, types: Sequence[SqlType]) -> Row:
    """Return a row without names, with its kind, and with the values of PyFlink's classes."""
    values = [python_value(value, kind) for value, kind in zip(row._values, types, strict=True)]
    made = Row(*values)
    made.set_row_kind(row.get_row_kind())
    return made


def python_value(value: Any, kind: SqlType) -> Any:
    """Return what Arrow gives for a value as PyFlink's value of its type."""
    if value is None:
        return None
    match kind:
        case MapType():
            pairs = value.items() if isinstance(value, dict) else value
            return {_key(key, kind.key): python_value(each, kind.value) for key, each in pairs}
        case MultisetType():
            pairs = value.items() if isinstance(value, dict) else value
            return {_key(key, kind.element): count for key, count in pairs}
        case ArrayType():
            return [python_value(each, kind.element) for each in value]
        case RowType():
            given = value.values() if isinstance(value, dict) else value
            return Row(
                *(
                    python_value(each, field.type)
                    for each, field in zip(given, kind.fields, strict=True)
                )
            )
        case FloatType() if isfinite(value):
            return float(float_text(value))  # 0.1, not 0.10000000149011612
        case BytesType():
            return bytearray(value)  # as Java's arrays of bytes are unpickled
    return value


def _key(value: Any, kind: SqlType) -> Any:
    """Return a value that a dict accepts as a key: bytes in place of a bytearray, a tuple in place
    of an array."""
    if isinstance(kind, ArrayType) and value is not None:
        return tuple(_key(each, kind.element) for each in value)
    return value if isinstance(kind, BytesType) else python_value(value, kind)

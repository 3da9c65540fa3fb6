"""Python values in the form that Arrow accepts."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

from headrace.table._types.data_types import (
    ArrayType,
    DataType,
    DecimalType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
)
from headrace.table._types.intervals import DayTimeIntervalType
from headrace.table._types.rows import RowType, UserDefinedType, values_of

_HALF_UP = decimal.Context(prec=1000, rounding=decimal.ROUND_HALF_UP)


def arrow_value(kind: DataType, value: Any) -> Any:
    """Return a value in the form that Arrow accepts."""
    if value is None:
        return None
    match kind:
        case LocalZonedTimestampType():
            return value.astimezone(datetime.UTC)
        case DecimalType():
            return _rounded(value, kind)
        case DayTimeIntervalType():
            return value // datetime.timedelta(milliseconds=1)
        case RowType():
            pairs = zip(kind, values_of(value, kind.names), strict=True)
            return {field.name: arrow_value(field.data_type, each) for field, each in pairs}
        case MultisetType():
            return value
        case ArrayType():
            return [arrow_value(kind.element_type, each) for each in value]
        case MapType():
            key, item = kind.key_type, kind.value_type
            return [(arrow_value(key, one), arrow_value(item, each)) for one, each in value.items()]
        case UserDefinedType():
            return arrow_value(kind.sql_type(), kind.serialize(value))
    return bytes(value) if isinstance(value, bytearray) else value


def _rounded(value: decimal.Decimal, kind: DecimalType) -> decimal.Decimal | None:
    """Return a decimal rounded to its type; None, as in Flink: it is too large.

    Raises:
        ValueError: it is not finite.
    """
    if not value.is_finite():
        raise ValueError(f"{kind} can not accept object {value!r}")
    rounded = value.quantize(decimal.Decimal(1).scaleb(-kind.scale), context=_HALF_UP)
    return rounded if abs(rounded) < 10 ** (kind.precision - kind.scale) else None

"""Columns as the values that Python functions get."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

from headrace.common._time_zones import zone_of
from headrace.common.types import Row, row_of
from headrace.sql.types import (
    ArrayType,
    BooleanType,
    DateType,
    DoubleType,
    FloatType,
    IntegerType,
    MapType,
    MultisetType,
    RowType,
    SqlType,
    TimestampLtzType,
    TimestampType,
)

Change = Callable[[Any], Any]

_NUMBERS = (IntegerType, FloatType, DoubleType)


def python_values(column: Any, kind: SqlType, zone: str) -> list[Any]:
    """Return the values of an Arrow array as Python values; NULL is None.

    ``zone``: of the values of a TIMESTAMP_LTZ.
    """
    if isinstance(kind, _NUMBERS):
        return _numbers(column)
    if isinstance(kind, BooleanType) and not column.null_count:
        return column.to_numpy(zero_copy_only=False).tolist()  # type: ignore[no-any-return]
    if isinstance(kind, DateType):
        return _moments(column, "D")
    if isinstance(kind, TimestampType):
        return _moments(column, "us")
    if isinstance(kind, TimestampLtzType):
        in_zone = _in_zone(zone)
        return [None if each is None else in_zone(each) for each in _moments(column, "us")]
    values: list[Any] = column.to_pylist()
    change = change_of(kind, zone)
    if change is None:
        return values
    return [None if each is None else change(each) for each in values]


def rows_of(columns: Sequence[list[Any]], names: tuple[str, ...]) -> list[Row]:
    """Return the rows of columns, with names."""
    return [row_of(names, [*values]) for values in zip(*columns, strict=True)]


def _numbers(column: Any) -> list[Any]:
    import numpy as np

    if not column.null_count:
        return column.to_numpy().tolist()  # type: ignore[no-any-return]
    values: list[Any] = column.fill_null(0).to_numpy().tolist()
    for place in np.flatnonzero(np.asarray(column.is_null())).tolist():
        values[place] = None
    return values


def _moments(column: Any, unit: str) -> list[Any]:
    """Return dates or moments without a zone; numpy is far faster here than ``to_pylist``."""
    found = column.to_numpy(zero_copy_only=False).astype(f"datetime64[{unit}]")
    return found.tolist()  # type: ignore[no-any-return]


def _in_zone(zone: str) -> Change:
    utc = datetime.UTC
    if zone == "UTC":
        return lambda value: value.replace(tzinfo=utc)
    target = zone_of(zone)
    return lambda value: value.replace(tzinfo=utc).astimezone(target)


def change_of(kind: SqlType, zone: str) -> Change | None:
    """Return what changes Arrow's value of a type to the function's; None: nothing."""
    match kind:
        case ArrayType():
            element = change_of(kind.element, zone)
            if element is None:
                return None
            return lambda value: [None if each is None else element(each) for each in value]
        case MapType():
            return _pairs(change_of(kind.key, zone), change_of(kind.value, zone))
        case MultisetType():
            return _pairs(change_of(kind.element, zone), None)
        case RowType():
            return _rows(kind, zone)
        case TimestampLtzType():
            target = zone_of(zone)
            return lambda value: value.astimezone(target)
    return None


def _pairs(key: Change | None, value: Change | None) -> Change:
    if key is None and value is None:
        return dict
    keys, values = key or _same, value or _same
    return lambda pairs: {
        keys(one): None if other is None else values(other) for one, other in pairs
    }


def _rows(kind: RowType, zone: str) -> Change:
    names = tuple(each.name for each in kind.fields)
    changes = [change_of(each.type, zone) or _same for each in kind.fields]

    def row(value: dict[str, Any]) -> Row:
        return row_of(
            names,
            [
                None if each is None else change(each)
                for each, change in zip(value.values(), changes, strict=True)
            ],
        )

    return row


def _same(value: Any) -> Any:
    return value

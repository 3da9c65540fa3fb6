"""Records of Avro to the values of columns."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

from headrace.sql.rel import Columns
from headrace.sql.types import (
    ArrayType,
    IntegerType,
    MapType,
    MultisetType,
    RowType,
    SqlType,
    TimestampType,
)

Convert = Callable[[Any], Any]


def record_converter(columns: Columns) -> Callable[[dict[str, Any]], list[Any]]:
    """Return a function from a record to the values of a row, which Arrow takes."""
    converts = [(column.name, _convert(column.type)) for column in columns]

    def convert(record: dict[str, Any]) -> list[Any]:
        return [
            value if turn is None or value is None else turn(value)
            for (_, turn), value in zip(
                converts, [record[name] for name, _ in converts], strict=True
            )
        ]

    return convert


def _convert(kind: SqlType) -> Convert | None:
    match kind:
        case IntegerType() if kind.bits < 32:
            return lambda value: _narrow(value, kind.bits)
        case TimestampType():
            return _without_zone
        case MapType() | MultisetType():
            turn = _convert(kind.value) if isinstance(kind, MapType) else None
            return lambda found: [(k, _apply(turn, v)) for k, v in found.items()]
        case ArrayType():
            element = _convert(kind.element)
            return None if element is None else lambda xs: [_apply(element, x) for x in xs]
        case RowType():
            turns = [(each.name, _convert(each.type)) for each in kind.fields]
            return lambda row: {name: _apply(turn, row[name]) for name, turn in turns}
    return None


def _apply(turn: Convert | None, value: Any) -> Any:
    return value if turn is None or value is None else turn(value)


def _narrow(value: int, bits: int) -> int:
    """Return the low bits of a number, as Java's casts do."""
    return ((value + (1 << (bits - 1))) & ((1 << bits) - 1)) - (1 << (bits - 1))


def _without_zone(moment: datetime.datetime) -> datetime.datetime:
    return moment.astimezone(datetime.UTC).replace(tzinfo=None) if moment.tzinfo else moment


def records_of(columns: Sequence[Sequence[Any]], of: Columns) -> list[dict[str, Any]]:
    """Return columns of Python values as records that Avro's writer takes."""
    turned = [
        values if (turn := _to_avro(column.type)) is None else [_apply(turn, v) for v in values]
        for values, column in zip(columns, of, strict=True)
    ]
    names = [column.name for column in of]
    return [dict(zip(names, row, strict=True)) for row in zip(*turned, strict=True)]


def _to_avro(kind: SqlType) -> Convert | None:
    match kind:
        case MapType() | MultisetType():
            turn = _to_avro(kind.value) if isinstance(kind, MapType) else None
            return lambda found: {
                k: _apply(turn, v) for k, v in (found.items() if isinstance(found, dict) else found)
            }
        case ArrayType():
            element = _to_avro(kind.element)
            return None if element is None else lambda xs: [_apply(element, x) for x in xs]
        case RowType():
            turns = [(each.name, _to_avro(each.type)) for each in kind.fields]

            def convert(row: Any) -> dict[str, Any]:
                values = [row.get(n) for n, _ in turns] if isinstance(row, dict) else [*row]
                return {
                    name: _apply(turn, value)
                    for (name, turn), value in zip(turns, values, strict=True)
                }

            return convert
    return None

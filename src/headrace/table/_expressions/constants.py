"""``lit``: constants with a type, and arrays of numbers."""

from __future__ import annotations

import datetime
from array import array
from typing import Any

from sqlglot import exp

from headrace.common.types import Row, RowKind
from headrace.errors import PlanError
from headrace.sql.dialect.nodes import ValueLiteral
from headrace.sql.refusals import refuse
from headrace.table._expressions.trees import CONSTANT, constant, interval, type_name
from headrace.table._types.arrow_values import arrow_value
from headrace.table._types.data_types import (
    ArrayType,
    CharType,
    DataType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
)
from headrace.table._types.inference import ARRAY_TYPES
from headrace.table._types.intervals import DayTimeIntervalType, YearMonthIntervalType
from headrace.table._types.rows import RowType
from headrace.table._types.sql import to_sql
from headrace.table._types.verification import verifier_of


def literal(value: Any, data_type: DataType | None) -> exp.Expr:
    """Return the tree of a constant; None: its type follows from its value.

    Raises:
        TypeError: the value is of another class than its type.
        ValueError: it is too large, or has another number of fields.
        UnsupportedError: there are no such constants.
    """
    if data_type is None:
        if isinstance(value, array):
            return _with_parts(value, _array_type(value))
        return constant(value)
    if isinstance(data_type, YearMonthIntervalType) and isinstance(value, int):
        return interval(constant(value), "MONTH")
    if isinstance(data_type, DayTimeIntervalType) and isinstance(value, datetime.timedelta):
        return constant(value)
    aware = isinstance(value, datetime.datetime) and value.tzinfo is not None
    parts = isinstance(data_type, ArrayType | MapType | RowType)
    if value is None or not (parts or (aware and isinstance(data_type, LocalZonedTimestampType))):
        made = exp.Cast(this=constant(value), to=type_name(to_sql(data_type)))
        made.meta[CONSTANT] = True
        return made
    return _with_parts(value, data_type)


def _array_type(value: array[Any]) -> DataType:
    if value.typecode not in ARRAY_TYPES:
        refuse(f"a constant of array({value.typecode!r})")
    kind = CharType(1) if value.typecode == "u" else ARRAY_TYPES[value.typecode]
    return ArrayType(kind, nullable=False)


def _with_parts(value: Any, data_type: DataType) -> exp.Expr:
    if isinstance(data_type, MultisetType):
        refuse("a constant of the type MULTISET")
    if isinstance(data_type, RowType) and not len(data_type):
        refuse("a constant of the type ROW without fields")
    if isinstance(value, Row) and value.get_row_kind() is not RowKind.INSERT:
        raise PlanError(
            f"a constant must be a row of the kind INSERT, not {value.get_row_kind().name}"
        )
    if isinstance(value, Row) and isinstance(data_type, RowType) and len(value) != len(data_type):
        raise ValueError(f"the row has {len(value)} values, and its type {len(data_type)} fields")
    verifier_of(data_type)(value)
    frozen = _frozen(arrow_value(data_type, value), data_type)
    return ValueLiteral(this=frozen, to=type_name(to_sql(data_type)))


def _frozen(value: Any, kind: DataType) -> Any:
    """Return a value for Arrow, with tuples in place of lists and dicts, because constants are
    hashed."""
    if value is None:
        return None
    match kind:
        case RowType():
            return tuple(_frozen(value[each.name], each.data_type) for each in kind)
        case MapType():
            key, item = kind.key_type, kind.value_type
            return tuple((_frozen(one, key), _frozen(each, item)) for one, each in value)
        case ArrayType():
            return tuple(_frozen(each, kind.element_type) for each in value)
    return value

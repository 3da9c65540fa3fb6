"""Data types of the API and types of SQL, in both directions."""

from __future__ import annotations

from headrace.errors import UnsupportedError
from headrace.sql import types as sql
from headrace.table._types import data_types as t
from headrace.table._types import intervals as spans
from headrace.table._types.rows import RowField, RowType, UserDefinedType

_SIMPLE: dict[type[t.DataType], type[sql.SqlType]] = {
    t.BooleanType: sql.BooleanType,
    t.TinyIntType: sql.TinyIntType,
    t.SmallIntType: sql.SmallIntType,
    t.IntType: sql.IntType,
    t.BigIntType: sql.BigIntType,
    t.FloatType: sql.FloatType,
    t.DoubleType: sql.DoubleType,
    t.DateType: sql.DateType,
}
_SIZED: dict[type[t.DataType], type[sql.CharacterType] | type[sql.BytesType]] = {
    t.CharType: sql.CharType,
    t.VarCharType: sql.VarCharType,
    t.BinaryType: sql.BinaryType,
    t.VarBinaryType: sql.VarBinaryType,
}
_MOMENTS: dict[
    type[t.DataType], type[sql.TimeType] | type[sql.TimestampType] | type[sql.TimestampLtzType]
] = {
    t.TimeType: sql.TimeType,
    t.TimestampType: sql.TimestampType,
    t.LocalZonedTimestampType: sql.TimestampLtzType,
}


def to_sql(data_type: t.DataType) -> sql.SqlType:
    """Return the SQL type of a data type.

    Raises:
        UnsupportedError: tables have no such columns.
    """
    kind, nullable = type(data_type), data_type._nullable
    match data_type:
        case t.NullType():
            return sql.NullType()
        case t.DecimalType():
            return sql.DecimalType(data_type.precision, data_type.scale, nullable=nullable)
        case t.CharType() | t.VarCharType() | t.BinaryType() | t.VarBinaryType():
            return _SIZED[kind](data_type.length, nullable=nullable)
        case t.TimeType() | t.TimestampType() | t.LocalZonedTimestampType():
            return _MOMENTS[kind](data_type.precision, nullable=nullable)
        case spans.YearMonthIntervalType():
            return sql.MonthIntervalType(nullable=nullable)
        case spans.DayTimeIntervalType():
            return sql.SecondIntervalType(nullable=nullable)
        case t.MultisetType():
            return sql.MultisetType(to_sql(data_type.element_type), nullable=nullable)
        case t.ArrayType():
            return sql.ArrayType(to_sql(data_type.element_type), nullable=nullable)
        case t.MapType():
            return sql.MapType(
                to_sql(data_type.key_type), to_sql(data_type.value_type), nullable=nullable
            )
        case RowType():
            return sql.RowType(tuple(map(_field, data_type)), nullable=nullable)
        case UserDefinedType():
            return to_sql(data_type.sql_type()).with_nullable(nullable)
    if kind in _SIMPLE:
        return _SIMPLE[kind](nullable=nullable)
    raise UnsupportedError(f"columns of the type {data_type!r} are not supported")


def _field(field: RowField) -> sql.Field:
    known = field.description != t.DEFAULT_DESCRIPTION
    return sql.Field(field.name, to_sql(field.data_type), field.description if known else "")


def from_sql(kind: sql.SqlType) -> t.DataType:
    """Return the data type of an SQL type."""
    nullable = kind.nullable
    match kind:
        case sql.NullType():
            return t.NullType()
        case sql.DecimalType():
            return t.DecimalType(kind.precision, kind.scale, nullable)
        case sql.CharacterType() | sql.BytesType():
            sized = {made: given for given, made in _SIZED.items()}[type(kind)]
            return sized(kind.length, nullable)  # type: ignore[call-arg,arg-type]
        case sql.TimeType() | sql.TimestampType() | sql.TimestampLtzType():
            moment = {made: given for given, made in _MOMENTS.items()}[type(kind)]
            return moment(kind.precision, nullable)  # type: ignore[call-arg,arg-type]
        case sql.MonthIntervalType():
            months = spans.YearMonthIntervalType
            return months(months.YearMonthResolution.MONTH, nullable=nullable)
        case sql.SecondIntervalType():
            seconds = spans.DayTimeIntervalType
            return seconds(seconds.DayTimeResolution.DAY_TO_SECOND, nullable=nullable)
        case sql.MultisetType():
            return t.MultisetType(from_sql(kind.element), nullable)
        case sql.ArrayType():
            return t.ArrayType(from_sql(kind.element), nullable)
        case sql.MapType():
            return t.MapType(from_sql(kind.key), from_sql(kind.value), nullable)
        case sql.RowType():
            fields = [
                RowField(each.name, from_sql(each.type), each.description or None)
                for each in kind.fields
            ]
            return RowType(fields, nullable)
    return {made: given for given, made in _SIMPLE.items()}[type(kind)](nullable)


def sql_type_of(given: object) -> sql.SqlType:
    """Return the type that a DataType or a type's name says."""
    if isinstance(given, t.DataType):
        return to_sql(given)
    if isinstance(given, str):
        from headrace.sql.type_names import parse_type

        return parse_type(given)
    raise TypeError(f"a DataType or the name of a type is needed, not {given!r}")

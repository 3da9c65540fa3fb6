"""The SQL types of the records of streams, of their types in the DataStream API."""

from __future__ import annotations

from typing import Any

from headrace.common import typeinfo as info
from headrace.common.typeinfo import BasicType, LocalTimeTypeInfo, TypeInformation
from headrace.errors import UnsupportedError
from headrace.sql import types as sql

_BASIC: dict[BasicType, sql.SqlType] = {
    BasicType.STRING: sql.STRING,
    BasicType.BOOLEAN: sql.BooleanType(nullable=False),
    BasicType.BYTE: sql.TinyIntType(nullable=False),
    BasicType.SHORT: sql.SmallIntType(nullable=False),
    BasicType.INT: sql.IntType(nullable=False),
    BasicType.LONG: sql.BigIntType(nullable=False),
    BasicType.FLOAT: sql.FloatType(nullable=False),
    BasicType.DOUBLE: sql.DoubleType(nullable=False),
    BasicType.BIG_DEC: sql.DecimalType(38, 18),
    BasicType.INSTANT: sql.TimestampLtzType(9),
}
_LOCAL = LocalTimeTypeInfo.TimeType
_MOMENTS: dict[Any, sql.SqlType] = {
    _LOCAL.LOCAL_DATE: sql.DATE,
    _LOCAL.LOCAL_TIME: sql.TimeType(9),
    _LOCAL.LOCAL_DATE_TIME: sql.TimestampType(9),
}
_HINT = "declare a type that tables have: map(function, output_type=Types.ROW_NAMED([…], […]))"


def plain(given: TypeInformation) -> TypeInformation:
    """Return the type without wrappers."""
    while isinstance(given, info.ExternalTypeInfo):
        given = given._type_info
    return given


def fields_of(given: TypeInformation) -> list[tuple[str, TypeInformation]]:
    """Return the columns of records: the fields of rows and tuples, or f0 for all others."""
    given = plain(given)
    if isinstance(given, info.RowTypeInfo):
        return [*zip(given.get_field_names(), given.get_field_types(), strict=True)]
    if isinstance(given, info.TupleTypeInfo):
        return [(f"f{place}", each) for place, each in enumerate(given.get_field_types())]
    return [("f0", given)]


def sql_type_of_info(given: TypeInformation) -> sql.SqlType:
    """Return the SQL type of a declared type.

    Raises:
        UnsupportedError: no column has such values.
    """
    given = plain(given)
    match given:
        case info.BasicTypeInfo() if given._basic_type in _BASIC:
            return _BASIC[given._basic_type]
        case info.DateTypeInfo():
            return sql.DATE
        case info.TimeTypeInfo():
            return sql.TimeType(0)
        case info.TimestampTypeInfo():
            return sql.TimestampType(9)
        case LocalTimeTypeInfo():
            return _MOMENTS[given._time_type]
        case info.PrimitiveArrayTypeInfo() if given._is_byte_array():
            return sql.BYTES.with_nullable(False)
        case info.PrimitiveArrayTypeInfo():
            return sql.ArrayType(sql_type_of_info(given._element_type), nullable=False)
        case info.BasicArrayTypeInfo() | info.ObjectArrayTypeInfo():
            element = sql_type_of_info(given._element_type).with_nullable(True)
            return sql.ArrayType(element, nullable=False)
        case info.MapTypeInfo():
            key = sql_type_of_info(given._key_type_info).with_nullable(True)
            value = sql_type_of_info(given._value_type_info).with_nullable(True)
            return sql.MapType(key, value, nullable=False)
        case info.RowTypeInfo() | info.TupleTypeInfo():
            rows = isinstance(given, info.RowTypeInfo)
            return sql.RowType(
                tuple(
                    sql.Field(name, kind.with_nullable(True) if rows else kind)
                    for name, kind in (
                        (name, sql_type_of_info(each)) for name, each in fields_of(given)
                    )
                )
            )
    raise UnsupportedError(f"records of the type {given} are not supported as a table", hint=_HINT)


def columns_of_info(given: TypeInformation) -> list[tuple[str, sql.SqlType]]:
    """Return the names and types of the columns that a stream's records have.

    Raises:
        UnsupportedError: the type of the records is not declared, or a column has no SQL type.
    """
    given = plain(given)
    if isinstance(given, info.PickledBytesTypeInfo):
        raise UnsupportedError(
            "a stream whose records have no declared type is not supported as a table", hint=_HINT
        )
    rows = isinstance(given, info.RowTypeInfo)
    found = [(name, sql_type_of_info(each)) for name, each in fields_of(given)]
    return [(name, kind.with_nullable(True) if rows else kind) for name, kind in found]

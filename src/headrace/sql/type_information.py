"""The SQL types of a stream's fields, of their types in the DataStream API."""

from __future__ import annotations

from headrace.common._types.basic import BasicType, BasicTypeInfo
from headrace.common._types.times import DateTypeInfo, TimestampTypeInfo, TimeTypeInfo
from headrace.common.typeinfo import TypeInformation
from headrace.sql.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TINYINT,
    CharType,
    DecimalType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    TimeType,
)

_OF_BASIC: dict[BasicType, SqlType] = {
    BasicType.STRING: STRING,
    BasicType.BYTE: TINYINT,
    BasicType.BOOLEAN: BOOLEAN,
    BasicType.SHORT: SMALLINT,
    BasicType.INT: INT,
    BasicType.LONG: BIGINT,
    BasicType.FLOAT: FLOAT,
    BasicType.DOUBLE: DOUBLE,
    BasicType.CHAR: CharType(1),
    BasicType.BIG_DEC: DecimalType(38, 18),
    BasicType.INSTANT: TimestampLtzType(6),
}


def scalar_type_of(declared: TypeInformation) -> SqlType | None:
    """Return the SQL type of values that are no collections; None: SQL has none."""
    match declared:
        case BasicTypeInfo():
            return _OF_BASIC.get(declared._basic_type)
        case DateTypeInfo():
            return DATE
        case TimeTypeInfo():
            return TimeType(3)
        case TimestampTypeInfo():
            return TimestampType(6)
    return None

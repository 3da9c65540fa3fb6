"""Which types a column of a table takes without a CAST in the statement."""

from __future__ import annotations

from headrace.sql.coercion import same_type
from headrace.sql.types import (
    BytesType,
    CharacterType,
    CharType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    NullType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    VarBinaryType,
    VarCharType,
)


def is_assignable(given: SqlType, wanted: SqlType) -> bool:
    """Return whether values of a type are written to a column of another: wider ones are.

    Decimals are rounded, texts and bytes are cut, and a TIMESTAMP becomes a DATE or a moment.
    """
    if isinstance(given, NullType) or same_type(given, wanted):
        return True
    match given, wanted:
        case IntegerType(), IntegerType():
            return given.bits <= wanted.bits
        case (IntegerType() | DecimalType(), DecimalType() | FloatType() | DoubleType()):
            return True
        case FloatType(), DoubleType():
            return True
        case CharacterType(), VarCharType():
            return True
        case CharType(), CharType():
            return given.length <= wanted.length
        case BytesType(), VarBinaryType():
            return True
        case TimestampType(), (TimestampType() | TimestampLtzType() | DateType()):
            return True
        case TimestampLtzType(), (TimestampLtzType() | TimestampType()):
            return True
    return False

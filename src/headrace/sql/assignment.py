"""Which types a column of a table takes without a CAST in the statement."""

from __future__ import annotations

from headrace.sql.coercion import same_type
from headrace.sql.types import (
    ArrayType,
    BytesType,
    CharacterType,
    CharType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    MapType,
    NullType,
    RowType,
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
        case RowType(), RowType():
            pairs = [*zip(given.fields, wanted.fields, strict=False)]
            fits = all(is_assignable(one.type, other.type) for one, other in pairs)
            return fits and len(given.fields) == len(wanted.fields)
        case ArrayType(), ArrayType():
            return is_assignable(given.element, wanted.element)
        case MapType(), MapType():
            return is_assignable(given.key, wanted.key) and is_assignable(given.value, wanted.value)
    return False

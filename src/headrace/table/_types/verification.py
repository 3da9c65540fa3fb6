"""Checks that values fit their declared types."""

from __future__ import annotations

import datetime
import decimal
from array import array
from collections.abc import Callable
from typing import Any

from headrace.common.types import Row
from headrace.table._types.data_types import (
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
    ZonedTimestampType,
)
from headrace.table._types.intervals import DayTimeIntervalType
from headrace.table._types.rows import RowType, UserDefinedType

Verifier = Callable[[Any], None]

_CLASSES: dict[type[DataType], tuple[type, ...]] = {
    BooleanType: (bool,),
    TinyIntType: (int,),
    SmallIntType: (int,),
    IntType: (int,),
    BigIntType: (int,),
    FloatType: (float,),
    DoubleType: (float,),
    DecimalType: (decimal.Decimal,),
    CharType: (str,),
    VarCharType: (str,),
    BinaryType: (bytearray, bytes),
    VarBinaryType: (bytearray, bytes),
    DateType: (datetime.date, datetime.datetime),
    TimeType: (datetime.time,),
    TimestampType: (datetime.datetime,),
    DayTimeIntervalType: (datetime.timedelta,),
    LocalZonedTimestampType: (datetime.datetime,),
    ZonedTimestampType: (datetime.datetime,),
    ArrayType: (list, tuple, array),
    MapType: (dict,),
    RowType: (tuple, list, dict),
    MultisetType: (list, tuple, dict),
}
"""The classes of values; subclasses of them are not taken, as in PyFlink."""

_BITS: dict[type[DataType], int] = {TinyIntType: 8, SmallIntType: 16, IntType: 32}


def verifier_of(data_type: DataType, name: str | None = None) -> Verifier:
    """Return what checks values of a type; ``name`` says where they are.

    The verifier raises TypeError for a value of another class, ValueError for one that is too
    large, too long, or None where the type has none.
    """
    where = "" if name is None else f"{name}: "
    verify = _verifier(data_type, name, where)

    def verify_value(obj: Any) -> None:
        if obj is not None:
            verify(obj)
        elif not data_type._nullable:
            raise ValueError(f"{where}This field is not nullable, but got None")

    return verify_value


def _verifier(data_type: DataType, name: str | None, where: str) -> Verifier:
    if isinstance(data_type, UserDefinedType):
        return _user_defined(data_type, name, where)
    if isinstance(data_type, RowType):
        return _row(data_type, name, where)
    classes = _CLASSES.get(type(data_type))
    if classes is None:
        raise TypeError(f"{where}unknown datatype: {data_type}")
    check = _checker(data_type, name, where)

    def verify(obj: Any) -> None:
        if type(obj) not in classes:
            raise TypeError(f"{where}{data_type} can not accept object {obj!r} in type {type(obj)}")
        check(obj)

    return verify


def _checker(data_type: DataType, name: str | None, where: str) -> Verifier:
    kind = type(data_type).__name__
    match data_type:
        case CharType() | BinaryType():
            return _length(data_type.length, f"{kind} is not", where, exact=True)
        case VarCharType() | VarBinaryType():
            return _length(data_type.length, f"{kind} exceeds", where, exact=False)
        case TinyIntType() | SmallIntType() | IntType():
            limit = 1 << _BITS[type(data_type)] - 1

            def check_range(obj: Any) -> None:
                if not -limit <= obj < limit:
                    raise ValueError(f"{where}object of {kind} out of range, got: {obj}")

            return check_range
        case ArrayType() if not isinstance(data_type, MultisetType):
            element = verifier_of(data_type.element_type, f"element in array {name}")

            def check_elements(obj: Any) -> None:
                for each in obj:
                    element(each)

            return check_elements
        case MapType():
            key = verifier_of(data_type.key_type, f"key of map {name}")
            value = verifier_of(data_type.value_type, f"value of map {name}")

            def check_pairs(obj: Any) -> None:
                for one, other in obj.items():
                    key(one)
                    value(other)

            return check_pairs
    return lambda obj: None


def _length(length: int, what: str, where: str, *, exact: bool) -> Verifier:
    def check(obj: Any) -> None:
        if len(obj) > length or (exact and len(obj) != length):
            raise ValueError(f"{where}length of object ({obj}) of {what}: {length}")

    return check


def _user_defined(data_type: UserDefinedType, name: str | None, where: str) -> Verifier:
    stored = data_type.sql_type()
    inner = verifier_of(stored, name)

    def verify(obj: Any) -> None:
        if getattr(obj, "__UDT__", None) != data_type:
            raise ValueError(f"{where}{obj!r} is not an instance of type {data_type!r}")
        data = data_type.to_sql_type(obj)
        inner(data[1:] if isinstance(stored, RowType) else data)

    return verify


def _row(data_type: RowType, name: str | None, where: str) -> Verifier:
    inside = "" if name is None else f" in {name}"
    verifiers = [
        (each.name, verifier_of(each.data_type, f"field {each.name}{inside}")) for each in data_type
    ]

    def verify(obj: Any) -> None:
        if isinstance(obj, Row) and not obj._from_dict:
            obj = tuple(obj)
        if isinstance(obj, dict):
            values = [obj.get(field) for field, _ in verifiers]
        elif isinstance(obj, Row):
            missing = [field for field, _ in verifiers if field not in obj._fields]
            if missing:
                raise ValueError(f"{where}the row has no field {missing[0]}: {obj!r}")
            values = [obj[field] for field, _ in verifiers]
        elif isinstance(obj, tuple | list):
            if len(obj) != len(verifiers):
                raise ValueError(
                    f"{where}Length of object ({len(obj)}) does not match with length of fields"
                    f" ({len(verifiers)})"
                )
            values = [*obj]
        elif hasattr(obj, "__dict__"):
            values = [vars(obj).get(field) for field, _ in verifiers]
        else:
            raise TypeError(f"{where}RowType can not accept object {obj!r} in type {type(obj)}")
        for value, (_, check) in zip(values, verifiers, strict=True):
            check(value)

    return verify

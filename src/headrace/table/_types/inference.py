"""The types that Python values have when a program declares none."""

from __future__ import annotations

import ctypes
import datetime
import decimal
from array import array
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

from headrace.common.types import Row
from headrace.table._types.data_types import (
    ArrayType,
    BigIntType,
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
    NullType,
    SmallIntType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)
from headrace.table._types.rows import RowField, RowType

MAX_LENGTH = 0x7FFFFFFF

_TYPES: dict[type, DataType] = {
    bool: BooleanType(),
    int: BigIntType(),
    float: DoubleType(),
    str: VarCharType(MAX_LENGTH),
    bytearray: VarBinaryType(MAX_LENGTH),
    bytes: VarBinaryType(MAX_LENGTH),
    decimal.Decimal: DecimalType(38, 18),
    datetime.date: DateType(),
    datetime.datetime: LocalZonedTimestampType(),
    datetime.time: TimeType(),
}

SIGNED_TYPECODES: dict[str, Any] = {
    "b": ctypes.c_byte,
    "h": ctypes.c_short,
    "i": ctypes.c_int,
    "l": ctypes.c_long,
}
"""Codes of ``array``, and the types of C that they stand for."""

UNSIGNED_TYPECODES: dict[str, Any] = {
    "B": ctypes.c_ubyte,
    "H": ctypes.c_ushort,
    "I": ctypes.c_uint,
    "L": ctypes.c_ulong,
}


def _array_types() -> dict[str, DataType]:
    found: dict[str, DataType] = {"f": FloatType(), "d": DoubleType()}
    sizes: tuple[tuple[int, DataType], ...] = (
        (8, TinyIntType()),
        (16, SmallIntType()),
        (32, IntType()),
        (64, BigIntType()),
    )
    for codes, sign_bits in ((SIGNED_TYPECODES, 0), (UNSIGNED_TYPECODES, 1)):
        for code, kind in codes.items():
            bits = ctypes.sizeof(kind) * 8 + sign_bits
            fitting = next((each for size, each in sizes if bits <= size), None)
            if fitting is not None:
                found[code] = fitting
    found["u"] = CharType(ctypes.sizeof(ctypes.c_wchar))
    return found


ARRAY_TYPES = _array_types()
"""The types of the elements of ``array``, by its code."""


def infer_type(obj: Any) -> DataType:
    """Return the type of a value.

    Raises:
        TypeError: values of its class have no type.
    """
    if obj is None:
        return NullType()
    if hasattr(obj, "__UDT__"):
        declared: DataType = obj.__UDT__
        return declared
    found = _TYPES.get(type(obj))
    if found is not None:
        return found
    if isinstance(obj, dict):
        for key, value in obj.items():
            if key is not None and value is not None:
                return MapType(infer_type(key).not_null(), infer_type(value))
        return MapType(NullType(), NullType())
    if isinstance(obj, list):
        first = next((each for each in obj if each is not None), None)
        return ArrayType(infer_type(first))
    if isinstance(obj, array):
        if obj.typecode not in ARRAY_TYPES:
            raise TypeError(f"not supported type: array({obj.typecode})")
        return ArrayType(ARRAY_TYPES[obj.typecode].not_null())
    try:
        return infer_row(obj)
    except TypeError:
        raise TypeError(f"not supported type: {type(obj)}") from None


def infer_row(row: Any, names: Sequence[str] | None = None) -> RowType:
    """Return the type of a dict, a row, a sequence or an object."""
    items: Iterable[tuple[str, Any]]
    if isinstance(row, dict):
        items = sorted(row.items())
    elif isinstance(row, tuple | list | Row):
        if hasattr(row, "_fields"):
            items = zip(row._fields, tuple(row), strict=False)
        else:
            given = [*(names or ())]
            rest = [f"_{place}" for place in range(len(given) + 1, len(row) + 1)]
            items = zip([*given, *rest], row, strict=False)
    elif hasattr(row, "__dict__"):
        items = sorted(vars(row).items())
    else:
        raise TypeError(f"Can not infer schema for type: {type(row)}")
    return RowType([RowField(name, infer_type(value)) for name, value in items])


def infer_rows(rows: Sequence[Any], names: Sequence[str] | None = None) -> RowType:
    """Return the type that all rows have.

    Raises:
        ValueError: there is no row, or a field is None in each.
        TypeError: the types of a field differ.
    """
    if not rows:
        raise ValueError("can not infer schema from empty data set")
    found = reduce(merge_types, (infer_row(row, names) for row in rows))
    if _has_null(found):
        raise ValueError("Some column types cannot be determined after inferring")
    return found


def merge_types(a: DataType, b: DataType, name: str | None = None) -> Any:
    """Return the type of values that have two types.

    Raises:
        TypeError: they differ.
    """
    if isinstance(a, NullType):
        return b
    if isinstance(b, NullType):
        return a
    if type(a) is not type(b):
        where = "" if name is None else f"{name}: "
        raise TypeError(f"{where}Can not merge type {type(a)} and {type(b)}")
    if isinstance(a, RowType):
        assert isinstance(b, RowType)
        return _merged_rows(a, b, name)
    if isinstance(a, MultisetType):
        assert isinstance(b, MultisetType)
        return MultisetType(
            merge_types(a.element_type, b.element_type, f"element in multiset {name}")
        )
    if isinstance(a, ArrayType):
        assert isinstance(b, ArrayType)
        return ArrayType(merge_types(a.element_type, b.element_type, f"element in array {name}"))
    if isinstance(a, MapType):
        assert isinstance(b, MapType)
        return MapType(
            merge_types(a.key_type, b.key_type, f"key of map {name}"),
            merge_types(a.value_type, b.value_type, f"value of map {name}"),
        )
    return a


def _merged_rows(a: RowType, b: RowType, name: str | None) -> RowType:
    others = {field.name: field.data_type for field in b}
    fields = []
    for field in a:
        other = others.pop(field.name, NullType())
        where = f"field {field.name}" + ("" if name is None else f" in {name}")
        fields.append(RowField(field.name, merge_types(field.data_type, other, where)))
    return RowType([*fields, *(RowField(each, kind) for each, kind in others.items())])


def _has_null(kind: DataType) -> bool:
    if isinstance(kind, RowType):
        return any(_has_null(each.data_type) for each in kind)
    if isinstance(kind, ArrayType):
        return _has_null(kind.element_type)
    if isinstance(kind, MapType):
        return _has_null(kind.key_type) or _has_null(kind.value_type)
    return isinstance(kind, NullType)

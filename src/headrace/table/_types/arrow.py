"""Arrow types of data types, as PyFlink chooses them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from headrace.table._types import data_types as t
from headrace.table._types.inference import MAX_LENGTH
from headrace.table._types.rows import RowField, RowType

if TYPE_CHECKING:
    import pyarrow as pa

Unit = Literal["s", "ms", "us", "ns"]


def create_arrow_schema(field_names: Sequence[str], field_types: Sequence[t.DataType]) -> pa.Schema:
    """Return the Arrow schema of fields."""
    import pyarrow as pa

    return pa.schema(
        [
            pa.field(name, to_arrow_type(kind), kind._nullable)
            for name, kind in zip(field_names, field_types, strict=True)
        ]
    )


def _unit(precision: int) -> Unit:
    return ("s", "ms", "ms", "ms", "us", "us", "us", "ns", "ns", "ns")[precision]


def to_arrow_type(data_type: t.DataType) -> pa.DataType:
    """Return the Arrow type of a data type.

    Raises:
        TypeError: Arrow columns of the type are not supported.
    """
    import pyarrow as pa

    simple: dict[type, Any] = {
        t.NullType: pa.null(),
        t.TinyIntType: pa.int8(),
        t.SmallIntType: pa.int16(),
        t.IntType: pa.int32(),
        t.BigIntType: pa.int64(),
        t.BooleanType: pa.bool_(),
        t.FloatType: pa.float32(),
        t.DoubleType: pa.float64(),
        t.CharType: pa.utf8(),
        t.VarCharType: pa.utf8(),
        t.VarBinaryType: pa.binary(),
        t.DateType: pa.date32(),
    }
    found = simple.get(type(data_type))
    if found is not None:
        return found
    match data_type:
        case t.BinaryType():
            return pa.binary(data_type.length)
        case t.DecimalType():
            return pa.decimal128(data_type.precision, data_type.scale)
        case t.TimeType():
            unit = _unit(data_type.precision)
            return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
        case t.TimestampType() | t.LocalZonedTimestampType():
            return pa.timestamp(_unit(data_type.precision))
        case t.MapType():
            return pa.map_(to_arrow_type(data_type.key_type), to_arrow_type(data_type.value_type))
        case t.ArrayType() if not isinstance(data_type, t.MultisetType):
            if isinstance(data_type.element_type, t.LocalZonedTimestampType | RowType):
                raise ValueError(
                    f"{data_type.element_type} is not supported to be used as the element type of"
                    " ArrayType."
                )
            return pa.list_(to_arrow_type(data_type.element_type))
        case RowType():
            for field in data_type:
                if isinstance(field.data_type, t.LocalZonedTimestampType | RowType):
                    raise TypeError(
                        f"{field.data_type} is not supported to be used as the field type of"
                        " RowType"
                    )
            return pa.struct([*create_arrow_schema(data_type.names, data_type.field_types())])
    raise ValueError(f"field_type {data_type} is not supported.")


def from_arrow_type(arrow_type: pa.DataType, nullable: bool = True) -> t.DataType:
    """Return the data type of an Arrow type.

    Raises:
        TypeError: there is none.
    """
    from pyarrow import types

    simple: list[tuple[Any, type[t.DataType]]] = [
        (types.is_boolean, t.BooleanType),
        (types.is_int8, t.TinyIntType),
        (types.is_int16, t.SmallIntType),
        (types.is_int32, t.IntType),
        (types.is_int64, t.BigIntType),
        (types.is_float32, t.FloatType),
        (types.is_float64, t.DoubleType),
        (types.is_date32, t.DateType),
    ]
    for test, kind in simple:
        if test(arrow_type):
            return kind(nullable)
    given: Any = arrow_type
    if types.is_null(given):
        return t.NullType()
    if types.is_decimal(given):
        return t.DecimalType(given.precision, given.scale, nullable)
    if types.is_string(given) or types.is_large_string(given):
        return t.VarCharType(MAX_LENGTH, nullable)
    if types.is_fixed_size_binary(given):
        return t.BinaryType(given.byte_width, nullable)
    if types.is_binary(given):
        return t.VarBinaryType(MAX_LENGTH, nullable)
    digits = {"s": 0, "ms": 3, "us": 6, "ns": 9}
    if types.is_time(given):
        return t.TimeType(digits[given.unit], nullable)
    if types.is_timestamp(given):
        return t.TimestampType(digits[given.unit], nullable)
    if types.is_map(given):
        return t.MapType(
            from_arrow_type(given.key_type), from_arrow_type(given.item_type), nullable
        )
    if types.is_list(given):
        return t.ArrayType(from_arrow_type(given.value_type), nullable)
    if types.is_struct(given):
        if any(types.is_struct(field.type) for field in given):
            raise TypeError(f"Nested RowType is not supported in conversion from Arrow: {given}")
        fields = [RowField(each.name, from_arrow_type(each.type, each.nullable)) for each in given]
        return RowType(fields)
    raise TypeError(f"there is no data type for the Arrow type {given}")

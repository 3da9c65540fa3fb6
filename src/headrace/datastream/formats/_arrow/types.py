"""Converts declared types to Arrow types, and columns of values to Arrow arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from headrace.common.time import Instant
from headrace.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    ExternalTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from headrace.common.types import Row
from headrace.datastream.formats._json.values import element_type
from headrace.errors import PlanError, TypeMismatchError

_BASIC: dict[BasicType, Any] = {
    BasicType.STRING: pa.string(),
    BasicType.CHAR: pa.string(),
    BasicType.BOOLEAN: pa.bool_(),
    BasicType.BYTE: pa.int8(),
    BasicType.SHORT: pa.int16(),
    BasicType.INT: pa.int32(),
    BasicType.LONG: pa.int64(),
    BasicType.FLOAT: pa.float32(),
    BasicType.DOUBLE: pa.float64(),
    BasicType.BIG_INT: pa.decimal128(38, 0),
    # The precision that Flink and Spark give a decimal of unknown scale.
    BasicType.BIG_DEC: pa.decimal128(38, 18),
    BasicType.INSTANT: pa.timestamp("us", "UTC"),
}
_BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())


def arrow_schema(row_type: Any, utc_timestamp: bool = False) -> Any:
    """Return the Arrow schema of a row type; a pyarrow schema is returned unchanged.

    Raises:
        PlanError: the argument is not a row type, or Arrow has no type for a field.
    """
    if isinstance(row_type, pa.Schema):
        return row_type
    if not isinstance(row_type, RowTypeInfo):
        raise PlanError(
            f"the type of a row is needed here, not {row_type!r}",
            hint="use Types.ROW_NAMED(['name', …], [Types.STRING(), …]) or a pyarrow schema",
        )
    return pa.schema(_to_arrow_fields(row_type, utc_timestamp))


def _to_arrow_fields(row_type: RowTypeInfo, utc: bool) -> list[Any]:
    parts = zip(row_type.get_field_names(), row_type.get_field_types(), strict=True)
    return [pa.field(name, arrow_type(kind, utc)) for name, kind in parts]


def arrow_type(kind: TypeInformation, utc: bool = False) -> Any:
    """Return the Arrow type of a declared type; ``utc`` gives timestamps a time zone.

    Raises:
        PlanError: Arrow has no such type.
    """
    if isinstance(kind, ExternalTypeInfo):
        return arrow_type(kind._arguments()[0], utc)
    if isinstance(kind, BasicTypeInfo):
        return _BASIC[kind._basic_type]
    if isinstance(kind, RowTypeInfo):
        return pa.struct(_to_arrow_fields(kind, utc))
    if isinstance(kind, TupleTypeInfo):
        parts = enumerate(kind.get_field_types())
        return pa.struct([pa.field(f"f{index}", arrow_type(part, utc)) for index, part in parts])
    if isinstance(kind, MapTypeInfo):
        key, value = kind._arguments()
        return pa.map_(arrow_type(key, utc), arrow_type(value, utc))
    if kind == _BYTES:
        return pa.binary()
    element = element_type(kind)
    if element is not None:
        return pa.list_(arrow_type(element, utc))
    if str(kind) in ("SQL_DATE", "LOCAL_DATE"):
        return pa.date32()
    if str(kind) in ("SQL_TIME", "LOCAL_TIME"):
        return pa.time64("us")
    if str(kind) in ("SQL_TIMESTAMP", "LOCAL_DATE_TIME"):
        return pa.timestamp("us", "UTC" if utc else None)
    raise PlanError(
        f"values of type {kind} cannot be represented in Arrow", hint="declare their type"
    )


def arrow_values(field: Any, column: Sequence[Any]) -> Any:
    """Return one column as an Arrow array.

    Raises:
        TypeMismatchError: a value does not fit the column.
    """
    if pa.types.is_nested(field.type) or pa.types.is_timestamp(field.type):
        column = [_to_plain(value, field.type) for value in column]
    try:
        return pa.array(column, field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise TypeMismatchError(
            f"a value does not fit the column {field.name!r} ({field.type}): {error}"
        ) from error


def _to_plain(value: Any, kind: Any) -> Any:
    """Return the value as pyarrow accepts it for a nested type, or for an instant."""
    if value is None:
        return None
    if isinstance(value, Instant):
        return value.seconds * 1_000_000 + value.nanos // 1000
    if pa.types.is_struct(kind):
        names = [kind.field(index).name for index in range(kind.num_fields)]
        if isinstance(value, Mapping):
            parts = [value.get(name) for name in names]
        elif isinstance(value, Row | tuple | list):
            parts = list(value)
        elif dataclasses.is_dataclass(value):
            parts = [getattr(value, name) for name in names]
        else:
            return value
        inner = [kind.field(index).type for index in range(kind.num_fields)]
        return {n: _to_plain(p, t) for n, p, t in zip(names, parts, inner, strict=True)}
    if pa.types.is_map(kind):
        return [
            (_to_plain(key, kind.key_type), _to_plain(item, kind.item_type))
            for key, item in dict(value).items()
        ]
    if pa.types.is_list(kind):
        return [_to_plain(part, kind.value_type) for part in value]
    return value


def from_arrow(kind: TypeInformation) -> Callable[[Any], Any] | None:
    """Return a function from pyarrow's values to those that the type's coercer accepts, or None."""
    if isinstance(kind, ExternalTypeInfo):
        return from_arrow(kind._arguments()[0])
    if isinstance(kind, BasicTypeInfo):
        return _FROM_ARROW.get(kind._basic_type)
    if isinstance(kind, RowTypeInfo):
        names = kind.get_field_names()
        return _make_struct_converter(names, [from_arrow(part) for part in kind.get_field_types()])
    if isinstance(kind, TupleTypeInfo):
        parts = kind.get_field_types()
        names = [f"f{index}" for index in range(len(parts))]
        return _make_struct_converter(names, [from_arrow(part) for part in parts])
    if isinstance(kind, MapTypeInfo):
        of_key, of_value = (from_arrow(part) or _return_unchanged for part in kind._arguments())
        return lambda pairs: {of_key(key): of_value(item) for key, item in pairs}
    element = element_type(kind)
    convert = None if element is None or kind == _BYTES else from_arrow(element)
    if convert is None:
        return None
    return lambda values: [None if value is None else convert(value) for value in values]


def _make_struct_converter(
    names: Sequence[str], converts: Sequence[Callable[[Any], Any] | None]
) -> Callable[[Any], tuple[Any, ...]]:
    fields = [
        (name, convert or _return_unchanged) for name, convert in zip(names, converts, strict=True)
    ]

    def convert_all(value: Any) -> tuple[Any, ...]:
        parts = [(value[name], convert) for name, convert in fields]
        return tuple(None if part is None else convert(part) for part, convert in parts)

    return convert_all


def _return_unchanged(value: Any) -> Any:
    return value


def _to_int(value: Any) -> Any:
    # A fraction is left unchanged, so that the coercer rejects it.
    return int(value) if value == int(value) else value


def _to_instant(value: Any) -> Any:
    if not isinstance(value, datetime):
        return value
    moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    micros = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    return Instant(micros // 1_000_000, micros % 1_000_000 * 1000)


_FROM_ARROW: dict[BasicType, Callable[[Any], Any]] = {
    BasicType.BIG_INT: _to_int,
    BasicType.INSTANT: _to_instant,
}

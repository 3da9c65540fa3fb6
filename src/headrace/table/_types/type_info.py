"""Types of streams and types of SQL, and their values: as records have them, and as Arrow has them.

A reader makes of a record's value what Arrow takes for a column; a writer makes of a column's value
what records have in PyFlink. None: the values are the same.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common import typeinfo as info
from headrace.common.time import Instant
from headrace.common.typeinfo import LocalTimeTypeInfo, TypeInformation, Types
from headrace.common.types import Row, row_of
from headrace.errors import UnsupportedError
from headrace.sql import types as sql
from headrace.sql.type_information import fields_of, plain

Convert = Callable[[Any], Any]


def reader_of(given: TypeInformation) -> Convert | None:
    """Return what makes of a record's value one for Arrow."""
    given = plain(given)
    match given:
        case info.InstantTypeInfo():
            return _read_instant
        case info.TimestampTypeInfo():
            return _read_timestamp
        case info.TimeTypeInfo():
            return _read_time
        case info.MapTypeInfo():
            key = reader_of(given._key_type_info) or _same
            value = reader_of(given._value_type_info) or _same
            return lambda found: None if found is None else _pairs(found, key, value)
        case info.RowTypeInfo() | info.TupleTypeInfo():
            fields = [(name, reader_of(each) or _same) for name, each in fields_of(given)]
            return lambda found: None if found is None else _struct(found, fields)
        case info.PrimitiveArrayTypeInfo() | info.BasicArrayTypeInfo() | info.ObjectArrayTypeInfo():
            each = reader_of(given._element_type)
            return None if each is None else _of_each(each)
    return None


@dataclass(frozen=True)
class FieldReaders:
    """The values that a record of a type has for columns: those of its fields at ``places``."""

    given: TypeInformation
    places: tuple[int, ...]

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Where records are rows with the values of the columns: the names of these fields."""
        if not isinstance(plain(self.given), info.RowTypeInfo):
            return None
        fields = fields_of(self.given)
        return tuple(fields[place][0] for place in self.places)

    def compile(self) -> Callable[[Any], Sequence[Any]]:
        """Return the function: from a record to its values as Arrow takes them."""
        given, places = plain(self.given), self.places
        fields = fields_of(given)
        readers = [reader_of(fields[place][1]) or _same for place in places]
        if isinstance(given, info.RowTypeInfo):
            if readers == [_same] * len(fields) and [*places] == [*range(len(fields))]:
                return _row_values
            return lambda record: [
                read(record._values[place]) for read, place in zip(readers, places, strict=True)
            ]
        if isinstance(given, info.TupleTypeInfo):
            return lambda record: [
                read(record[place]) for read, place in zip(readers, places, strict=True)
            ]
        return lambda record: [read(record) for read in readers]


def _row_values(record: Row) -> list[Any]:
    return record._values


def type_info_of(kind: sql.SqlType) -> TypeInformation:
    """Return the type of records' values for an SQL type.

    Raises:
        UnsupportedError: records have no such values.
    """
    match kind:
        case sql.BooleanType():
            return Types.BOOLEAN()
        case sql.IntegerType():
            return {8: Types.BYTE, 16: Types.SHORT, 32: Types.INT, 64: Types.LONG}[kind.bits]()
        case sql.FloatType():
            return Types.FLOAT()
        case sql.DoubleType():
            return Types.DOUBLE()
        case sql.DecimalType():
            return Types.BIG_DEC()
        case sql.CharacterType():
            return Types.STRING()
        case sql.BytesType():
            return Types.PRIMITIVE_ARRAY(Types.BYTE())
        case sql.DateType():
            return LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE)
        case sql.TimeType():
            return LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_TIME)
        case sql.TimestampType():
            return LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME)
        case sql.TimestampLtzType():
            return Types.INSTANT()
        case sql.ArrayType():
            return Types.OBJECT_ARRAY(type_info_of(kind.element))
        case sql.MapType():
            return Types.MAP(type_info_of(kind.key), type_info_of(kind.value))
        case sql.MultisetType():
            return Types.MAP(type_info_of(kind.element), Types.INT())
        case sql.RowType():
            names = [field.name for field in kind.fields]
            return Types.ROW_NAMED(names, [type_info_of(field.type) for field in kind.fields])
    raise UnsupportedError(f"a stream's record with a value of type {kind} is not supported")


def writer_of(kind: sql.SqlType) -> Convert | None:
    """Return what makes of a column's value one for a record."""
    match kind:
        case sql.TimestampLtzType():
            return _write_instant
        case sql.ArrayType():
            each = writer_of(kind.element)
            return None if each is None else _of_each(each)
        case sql.MapType() | sql.MultisetType():
            key_type = kind.key if isinstance(kind, sql.MapType) else kind.element
            key = writer_of(key_type) or _same
            value = (writer_of(kind.value) if isinstance(kind, sql.MapType) else None) or _same
            return lambda found: (
                None if found is None else {key(one): value(each) for one, each in _items(found)}
            )
        case sql.RowType():
            names = tuple(field.name for field in kind.fields)
            writers = [writer_of(field.type) or _same for field in kind.fields]
            return lambda found: None if found is None else _row(found, names, writers)
    return None


@dataclass(frozen=True)
class ColumnWriters:
    """What makes records' values of those of columns of SQL types."""

    kinds: tuple[sql.SqlType, ...]

    def compile(self) -> list[Convert | None]:
        """Return a function for each column; None: its values stay as they are."""
        return [writer_of(kind) for kind in self.kinds]


def _same(value: Any) -> Any:
    return value


def _of_each(convert: Convert) -> Convert:
    return lambda found: None if found is None else [convert(each) for each in found]


def _pairs(found: dict[Any, Any], key: Convert, value: Convert) -> list[tuple[Any, Any]]:
    return [(key(one), value(each)) for one, each in found.items()]


def _struct(found: Any, fields: Sequence[tuple[str, Convert]]) -> dict[str, Any]:
    return {name: read(value) for (name, read), value in zip(fields, found, strict=True)}


def _items(found: Any) -> Any:
    return found.items() if isinstance(found, dict) else found


def _row(found: dict[str, Any], names: Sequence[str], writers: Sequence[Convert]) -> Any:
    pairs = zip(found.values(), writers, strict=True)
    return row_of(names, [write(value) for value, write in pairs])


def _read_instant(found: Instant | None) -> int | None:
    """Return nanoseconds since the epoch."""
    return None if found is None else found.seconds * 1_000_000_000 + found.nanos


def _read_timestamp(found: datetime.datetime | None) -> datetime.datetime | None:
    """Return a datetime in UTC without a time zone."""
    if found is None or found.tzinfo is None:
        return found
    return found.astimezone(datetime.UTC).replace(tzinfo=None)


def _read_time(found: datetime.time | None) -> datetime.time | None:
    """Return a time in whole seconds, as a TIME(0)."""
    return None if found is None else found.replace(microsecond=0, tzinfo=None)


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def _write_instant(found: datetime.datetime | None) -> Instant | None:
    if found is None:
        return None
    since = found - _EPOCH
    seconds = since.days * 86_400 + since.seconds
    return Instant(seconds, since.microseconds * 1000)

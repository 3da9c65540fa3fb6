"""What Python functions give, as columns of their result type."""

from __future__ import annotations

import datetime
import decimal
import operator
from collections.abc import Callable, Sequence
from typing import Any

from headrace.common._time_zones import zone_of
from headrace.common.types import Row
from headrace.sql.types import (
    ArrayType,
    BooleanType,
    BytesType,
    CharacterType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    MapType,
    MultisetType,
    RowType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    TimeType,
    to_arrow,
)

Encode = Callable[[Any], Any]
"""Returns what pyarrow takes for a value that is not None.

Raises:
    TypeError: the value is of another class.
    ValueError: it is out of range.
"""


class WrongResult(Exception):
    """A value that is not of the result type: its place, and what is wrong."""

    def __init__(self, place: int, problem: str) -> None:
        super().__init__(place, problem)
        self.place = place
        self.problem = problem


class ResultWriter:
    """Makes columns of values; ``classes`` are those that need no ``encode``."""

    def __init__(self, kind: SqlType, zone: str) -> None:
        self._kind = kind
        self._arrow = to_arrow(kind)
        self._encode = encoder(kind, zone)
        self._classes = frozenset((type(None), *_PLAIN.get(_family(kind), ())))

    def __call__(self, values: list[Any]) -> Any:
        """Return the column of values.

        Raises:
            WrongResult: one is not of the type.
        """
        import pyarrow as pa

        if {*map(type, values)} <= self._classes:
            try:
                made = pa.array(values, self._arrow)
            except (pa.ArrowException, OverflowError):
                made = self._one_by_one(values)
        else:
            made = self._one_by_one(values)
        if made.null_count and not self._kind.nullable:
            raise WrongResult(made.is_null().index(True).as_py(), "None, and the type is NOT NULL")
        return made

    def _one_by_one(self, values: list[Any]) -> Any:
        import pyarrow as pa

        encode, encoded = self._encode, list[Any]()
        add = encoded.append
        try:
            for value in values:
                add(None if value is None else encode(value))
            return pa.array(encoded, self._arrow)
        except pa.ArrowException as error:
            raise self._first_wrong(encoded, str(error)) from None
        except (TypeError, ValueError, OverflowError, ArithmeticError, AttributeError) as error:
            place = len(encoded)
            raise WrongResult(place, _shown(values[place], error)) from None

    def _first_wrong(self, encoded: list[Any], problem: str) -> WrongResult:
        """Return the error of the first value that pyarrow does not take."""
        import pyarrow as pa

        for place, value in enumerate(encoded):
            try:
                pa.array([value], self._arrow)
            except pa.ArrowException as error:
                return WrongResult(place, _shown(value, error))
        return WrongResult(0, problem)


def _shown(value: Any, error: Exception) -> str:
    return f"{value!r} ({type(value).__name__}): {error}"[:300]


_PLAIN: dict[type[SqlType], tuple[type, ...]] = {
    IntegerType: (int,),
    BooleanType: (bool,),
    CharacterType: (str,),
    BytesType: (bytes,),
    FloatType: (float,),
    DoubleType: (float,),
    TimeType: (datetime.time,),
    DateType: (datetime.date,),
}
"""The classes whose values pyarrow makes exactly the column of."""


def _family(kind: SqlType) -> type[SqlType]:
    return next((each for each in _PLAIN if isinstance(kind, each)), type(kind))


def encoder(kind: SqlType, zone: str) -> Encode:
    """Return what encodes the values of a type."""
    match kind:
        case IntegerType():
            return _integer(kind)
        case FloatType() | DoubleType():
            return _float
        case BooleanType():
            return _boolean
        case CharacterType():
            return _text
        case BytesType():
            return _bytes
        case DecimalType():
            return _decimal(kind)
        case DateType():
            return _date
        case TimeType():
            return _time
        case TimestampType():
            return _timestamp
        case TimestampLtzType():
            return _local_timestamp(zone)
        case ArrayType():
            return _array(encoder(kind.element, zone))
        case MapType():
            return _map(encoder(kind.key, zone), encoder(kind.value, zone))
        case MultisetType():
            return _map(encoder(kind.element, zone), operator.index)
        case RowType():
            return _row(kind, zone)
    return operator.index  # intervals


def _integer(kind: IntegerType) -> Encode:
    """Return what encodes integers; as in PyFlink, a float loses what is after its point."""
    lowest, highest = -(1 << kind.bits - 1), (1 << kind.bits - 1) - 1

    def encode(value: Any) -> int:
        number = int(value) if isinstance(value, float) else operator.index(value)
        if not lowest <= number <= highest:
            raise ValueError(f"out of the range of {kind.root}")
        return number

    return encode


def _float(value: Any) -> float:
    if isinstance(value, str | bytes):
        raise TypeError("a number is needed")
    return float(value)


def _boolean(value: Any) -> bool:
    if type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    return operator.index(value) != 0


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a str is needed")
    return str(value)


def _bytes(value: Any) -> bytes:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise TypeError("bytes are needed")
    return bytes(value)


def _decimal(kind: DecimalType) -> Encode:
    context = decimal.Context(prec=kind.precision)
    unit = decimal.Decimal(10) ** -kind.scale

    def encode(value: Any) -> decimal.Decimal:
        if not isinstance(value, decimal.Decimal):
            raise TypeError("a Decimal is needed")
        if not value.is_finite():
            raise ValueError("it is not finite")
        try:
            return context.quantize(value, unit)
        except decimal.InvalidOperation:
            raise ValueError(f"out of the range of {kind.summary}") from None

    return encode


def _date(value: Any) -> datetime.date:
    if isinstance(value, datetime.datetime):
        return value.date()
    if not isinstance(value, datetime.date):
        raise TypeError("a date is needed")
    return value


def _time(value: Any) -> datetime.time:
    if not isinstance(value, datetime.time):
        raise TypeError("a time is needed")
    return value.replace(tzinfo=None)


def _timestamp(value: Any) -> datetime.datetime:
    """Return the date and time that the value shows, whatever its zone."""
    if not isinstance(value, datetime.datetime):
        raise TypeError("a datetime is needed")
    return value.replace(tzinfo=None)


def _local_timestamp(zone: str) -> Encode:
    target = datetime.UTC if zone == "UTC" else zone_of(zone)

    def encode(value: Any) -> datetime.datetime:
        if not isinstance(value, datetime.datetime):
            raise TypeError("a datetime is needed")
        aware = value if value.tzinfo is not None else value.replace(tzinfo=target)
        return aware.astimezone(datetime.UTC)

    return encode


def _array(element: Encode) -> Encode:
    def encode(value: Any) -> list[Any]:
        if hasattr(value, "tolist"):  # numpy and array.array
            value = value.tolist()
        if not isinstance(value, list):
            raise TypeError("a list is needed")
        return [None if each is None else element(each) for each in value]

    return encode


def _map(key: Encode, value: Encode) -> Encode:
    def encode(given: Any) -> list[tuple[Any, Any]]:
        if not isinstance(given, dict):
            raise TypeError("a dict is needed")
        return [(key(one), None if two is None else value(two)) for one, two in given.items()]

    return encode


def _row(kind: RowType, zone: str) -> Encode:
    names = [each.name for each in kind.fields]
    encoders = [encoder(each.type, zone) for each in kind.fields]

    def encode(value: Any) -> dict[str, Any]:
        fields = fields_of(value, names)
        if len(fields) != len(names):
            raise ValueError(f"{len(fields)} values, and {kind} has {len(names)} fields")
        return {
            name: None if each is None else encode(each)
            for name, each, encode in zip(names, fields, encoders, strict=True)
        }

    return encode


def fields_of(value: Any, names: Sequence[str]) -> Sequence[Any]:
    """Return the fields of a row: a Row, a tuple, a list, or a dict with the names."""
    match value:
        case Row():
            return value.get_fields_by_names(names)
        case tuple() | list():
            return value
        case dict():
            return [value.get(name) for name in names]
    raise TypeError("a Row or a tuple is needed")

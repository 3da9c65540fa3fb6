"""The classes of data types, with PyFlink's names, texts and equality."""

from __future__ import annotations

import copy
import datetime
import time
from calendar import timegm
from typing import Any, ClassVar, Self

DEFAULT_DESCRIPTION = "..."
"""The description of a field that has none, as in PyFlink."""


class DataType:
    """The type of a value in a table. Types with equal fields are equal."""

    _texts: ClassVar[tuple[str, ...]] = ()
    """The attributes that ``repr`` shows before whether the type has NULL."""

    def __init__(self, nullable: bool = True) -> None:
        self._nullable = nullable

    def __repr__(self) -> str:
        shown = [repr(getattr(self, name)) for name in self._texts]
        return f"{type(self).__name__}({', '.join([*shown, str(self._nullable).lower()])})"

    def __str__(self) -> str:
        return self.type_name()

    def __hash__(self) -> int:
        return hash(str(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, self.__class__) and self.__dict__ == other.__dict__

    def not_null(self) -> Self:
        """Return the same type without NULL."""
        return self._with_nullable(False)

    def nullable(self) -> Self:
        """Return the same type with NULL."""
        return self._with_nullable(True)

    def _with_nullable(self, nullable: bool) -> Self:
        copied = copy.copy(self)
        copied._nullable = nullable
        return copied

    @classmethod
    def type_name(cls) -> str:
        """Return the name of the class without Type, in capitals."""
        return cls.__name__[:-4].upper()

    def bridged_to(self, conversion_cls: object) -> DataType:
        """Return the type itself; there are no classes of Java to choose."""
        return self

    def need_conversion(self) -> bool:
        """Return whether ``to_sql_type`` changes values."""
        return False

    def to_sql_type(self, obj: Any) -> Any:
        """Return a Python value as PyFlink stores it."""
        return obj

    def from_sql_type(self, obj: Any) -> Any:
        """Return the Python value of a stored one."""
        return obj


class AtomicType(DataType):
    """A type that has no parts."""


class NullType(AtomicType):
    """The type of None when nothing else is known."""

    def __init__(self) -> None:
        super().__init__(True)


class NumericType(AtomicType):
    """A number."""


class IntegralType(NumericType):
    """A whole number."""


class FractionalType(NumericType):
    """A number with a fraction."""


class _SizedType(AtomicType):
    _texts = ("length",)

    def __init__(self, length: int = 1, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.length = length


class CharType(_SizedType):
    """A text of a fixed length."""


class VarCharType(_SizedType):
    """A text of at most a length."""


class BinaryType(_SizedType):
    """Bytes of a fixed length."""


class VarBinaryType(_SizedType):
    """Bytes of at most a length."""


class BooleanType(AtomicType):
    """True or false."""


class TinyIntType(IntegralType):
    """8 bits."""


class SmallIntType(IntegralType):
    """16 bits."""


class IntType(IntegralType):
    """32 bits."""


class BigIntType(IntegralType):
    """64 bits."""


class FloatType(FractionalType):
    """A floating-point number of 32 bits."""


class DoubleType(FractionalType):
    """A floating-point number of 64 bits."""


class DecimalType(FractionalType):
    """A decimal number."""

    _texts = ("precision", "scale")

    def __init__(self, precision: int = 10, scale: int = 0, nullable: bool = True) -> None:
        super().__init__(nullable)
        if not 1 <= precision <= 38:
            raise ValueError(f"the precision of a DECIMAL is 1 to 38, not {precision}")
        if not 0 <= scale <= precision:
            raise ValueError(f"the scale of a DECIMAL is 0 to its precision, not {scale}")
        self.precision = precision
        self.scale = scale
        self.has_precision_info = True


_SECOND_US = 10**6


class DateType(AtomicType):
    """A day."""

    EPOCH_ORDINAL = datetime.date(1970, 1, 1).toordinal()

    def need_conversion(self) -> bool:
        return True

    def to_sql_type(self, d: Any) -> Any:
        return None if d is None else d.toordinal() - self.EPOCH_ORDINAL

    def from_sql_type(self, v: Any) -> Any:
        return None if v is None else datetime.date.fromordinal(v + self.EPOCH_ORDINAL)


class _PreciseType(AtomicType):
    _texts = ("precision",)

    def __init__(self, precision: int, nullable: bool = True) -> None:
        super().__init__(nullable)
        if not 0 <= precision <= 9:
            raise ValueError(f"the precision of a {type(self).__name__} is 0 to 9, not {precision}")
        self.precision = precision

    def need_conversion(self) -> bool:
        return True


class TimeType(_PreciseType):
    """A time of day; stored in microseconds."""

    EPOCH_ORDINAL = datetime.date(1970, 1, 1).toordinal()

    def __init__(self, precision: int = 0, nullable: bool = True) -> None:
        super().__init__(precision, nullable)

    def to_sql_type(self, t: Any) -> Any:
        if t is None:
            return None
        offset = t.utcoffset()
        shift = 0 if offset is None else offset // datetime.timedelta(microseconds=1)
        seconds = (t.hour * 60 + t.minute) * 60 + t.second
        return seconds * _SECOND_US + t.microsecond - shift

    def from_sql_type(self, t: Any) -> Any:
        if t is None:
            return None
        seconds, microseconds = divmod(t, _SECOND_US)
        minutes, seconds = divmod(seconds, 60)
        hours, minutes = divmod(minutes, 60)
        return datetime.time(hours, minutes, seconds, microseconds)


class _MomentType(_PreciseType):
    def __init__(self, precision: int = 6, nullable: bool = True) -> None:
        super().__init__(precision, nullable)

    def to_sql_type(self, dt: Any) -> Any:
        if dt is None:
            return None
        aware = dt.tzinfo is not None
        seconds = timegm(dt.utctimetuple()) if aware else int(time.mktime(dt.timetuple()))
        return seconds * _SECOND_US + dt.microsecond

    def from_sql_type(self, ts: Any) -> Any:
        if ts is None:
            return None
        moment = datetime.datetime.fromtimestamp(ts // _SECOND_US)
        return moment.replace(microsecond=ts % _SECOND_US)


class TimestampType(_MomentType):
    """A date and time of day without a time zone."""


class LocalZonedTimestampType(_MomentType):
    """A moment."""

    EPOCH_ORDINAL = timegm(time.localtime(0)) * _SECOND_US

    def to_sql_type(self, dt: Any) -> Any:
        return None if dt is None else super().to_sql_type(dt) + self.EPOCH_ORDINAL

    def from_sql_type(self, ts: Any) -> Any:
        return None if ts is None else super().from_sql_type(ts - self.EPOCH_ORDINAL)


class ZonedTimestampType(_PreciseType):
    """A moment with its time zone; no table has such columns."""

    def __init__(self, precision: int = 6, nullable: bool = True) -> None:
        super().__init__(precision, nullable)

    def to_sql_type(self, dt: Any) -> Any:
        if dt is None:
            return None
        seconds = timegm(dt.utctimetuple()) if dt.tzinfo else int(time.mktime(dt.timetuple()))
        offset = int(dt.utcoffset().total_seconds()) if dt.tzinfo else 0
        return (seconds + offset) * _SECOND_US + dt.microsecond, offset

    def from_sql_type(self, zoned_ts: Any) -> Any:
        if zoned_ts is None:
            return None
        ts, offset = zoned_ts
        zone = datetime.timezone(datetime.timedelta(seconds=offset))
        moment = datetime.datetime.fromtimestamp(ts // _SECOND_US - offset, tz=zone)
        return moment.replace(microsecond=ts % _SECOND_US)


# Types with parts


def _check(name: str, value: object) -> None:
    if not isinstance(value, DataType):
        raise AssertionError(f"{name} {value} should be an instance of {DataType}")


class ArrayType(DataType):
    """A list of elements of one type."""

    _texts = ("element_type",)

    def __init__(self, element_type: DataType, nullable: bool = True) -> None:
        _check("element_type", element_type)
        super().__init__(nullable)
        self.element_type = element_type

    def need_conversion(self) -> bool:
        return self.element_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        return obj and [self.element_type.to_sql_type(each) for each in obj]

    def from_sql_type(self, obj: Any) -> Any:
        return obj and [self.element_type.from_sql_type(each) for each in obj]


class MultisetType(ArrayType):
    """Elements, each with the number of its occurrences."""


class MapType(DataType):
    """Values by key; keys are not None."""

    _texts = ("key_type", "value_type")

    def __init__(self, key_type: DataType, value_type: DataType, nullable: bool = True) -> None:
        _check("key_type", key_type)
        _check("value_type", value_type)
        super().__init__(nullable)
        self.key_type = key_type
        self.value_type = value_type

    def need_conversion(self) -> bool:
        return self.key_type.need_conversion() or self.value_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        key, value = self.key_type.to_sql_type, self.value_type.to_sql_type
        return obj and {key(k): value(v) for k, v in obj.items()}

    def from_sql_type(self, obj: Any) -> Any:
        key, value = self.key_type.from_sql_type, self.value_type.from_sql_type
        return obj and {key(k): value(v) for k, v in obj.items()}


class _ViewType(DataType):
    def to_sql_type(self, obj: Any) -> Any:
        raise TypeError(f"{type(self).__name__} is only for accumulators of aggregate functions")

    from_sql_type = to_sql_type


class ListViewType(_ViewType):
    """A list in the state of an aggregate function."""

    def __init__(self, element_type: DataType) -> None:
        _check("element_type", element_type)
        super().__init__(False)
        self._element_type = element_type

    def __repr__(self) -> str:
        return f"ListViewType({self._element_type!r})"


class MapViewType(_ViewType):
    """A map in the state of an aggregate function."""

    def __init__(self, key_type: DataType, value_type: DataType) -> None:
        _check("key_type", key_type)
        _check("value_type", value_type)
        super().__init__(False)
        self._key_type = key_type
        self._value_type = value_type

    def __repr__(self) -> str:
        return f"MapViewType({self._key_type!r}, {self._value_type!r})"


class RawType(DataType):
    """A pickled value."""

    def from_sql_type(self, obj: Any) -> Any:
        import pickle

        return pickle.loads(obj)

"""Types of dates, times of day and timestamps."""

from __future__ import annotations

import datetime
from enum import Enum
from typing import Any

from headrace.common._types.data import TypeData, type_data
from headrace.common._types.information import Coercer, TypeInformation, mismatch
from headrace.common._types.java_text import local_time_text, sql_timestamp_text

_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_EPOCH = datetime.datetime(1970, 1, 1)
_ONE_MICROSECOND = datetime.timedelta(microseconds=1)


def _in_utc(moment: datetime.datetime) -> datetime.datetime:
    """Return a datetime in UTC without a time zone; a naive datetime is taken as UTC."""
    if moment.tzinfo is None:
        return moment
    return moment.astimezone(datetime.UTC).replace(tzinfo=None)


def _microseconds_of_day(time: datetime.time) -> int:
    seconds = (time.hour * 60 + time.minute) * 60 + time.second
    return seconds * 1_000_000 + time.microsecond


def _make_date_coercer(declared: TypeInformation) -> Coercer:
    def coerce(value: Any) -> Any:
        if isinstance(value, datetime.datetime):
            return value.date()
        if value is None or isinstance(value, datetime.date):
            return value
        raise mismatch(value, declared)

    return coerce


def _make_time_coercer(declared: TypeInformation) -> Coercer:
    def coerce(value: Any) -> Any:
        if value is None or isinstance(value, datetime.time):
            return value
        raise mismatch(value, declared)

    return coerce


def _make_datetime_coercer(declared: TypeInformation) -> Coercer:
    def coerce(value: Any) -> Any:
        if value is None or isinstance(value, datetime.datetime):
            return value
        raise mismatch(value, declared)

    return coerce


class SqlTimeTypeInfo(TypeInformation):
    """The SQL types of date and time: ``DATE``, ``TIME`` and ``TIMESTAMP``."""

    def _arguments(self) -> tuple[Any, ...]:
        return ()

    @staticmethod
    def DATE() -> DateTypeInfo:
        """Return the type of datetime.date."""
        return DateTypeInfo()

    @staticmethod
    def TIME() -> TimeTypeInfo:
        """Return the type of datetime.time."""
        return TimeTypeInfo()

    @staticmethod
    def TIMESTAMP() -> TimestampTypeInfo:
        """Return the type of datetime.datetime."""
        return TimestampTypeInfo()


class DateTypeInfo(SqlTimeTypeInfo):
    """The type of datetime.date; its internal form is days since the epoch."""

    def to_data(self) -> TypeData:
        return type_data("SQL_DATE")

    def coercer(self) -> Coercer | None:
        """Return a function that accepts dates, and converts a datetime to its date."""
        return _make_date_coercer(self)

    def _format(self, value: datetime.date) -> str:
        return value.isoformat()

    def need_conversion(self) -> bool:
        """Return True: the internal form is an int."""
        return True

    def to_internal_type(self, obj: datetime.date | None) -> int | None:
        """Convert to days since the epoch."""
        return None if obj is None else obj.toordinal() - _EPOCH_DAY

    def from_internal_type(self, obj: int | None) -> datetime.date | None:
        """Return the date that is ``obj`` days after the epoch."""
        return None if obj is None else datetime.date.fromordinal(obj + _EPOCH_DAY)


class TimeTypeInfo(SqlTimeTypeInfo):
    """The type of datetime.time; its internal form is microseconds since midnight."""

    def to_data(self) -> TypeData:
        return type_data("SQL_TIME")

    def coercer(self) -> Coercer | None:
        """Return a function that accepts times."""
        return _make_time_coercer(self)

    def _format(self, value: datetime.time) -> str:
        return value.strftime("%H:%M:%S")

    def need_conversion(self) -> bool:
        """Return True: the internal form is an int."""
        return True

    def to_internal_type(self, obj: datetime.time | None) -> int | None:
        """Convert to microseconds since midnight; a time with a time zone is converted to UTC."""
        if obj is None:
            return None
        offset = obj.utcoffset() or datetime.timedelta()
        return (_microseconds_of_day(obj) - offset // _ONE_MICROSECOND) % 86_400_000_000

    def from_internal_type(self, obj: int | None) -> datetime.time | None:
        """Return the time that is ``obj`` microseconds after midnight, without a time zone."""
        return None if obj is None else (_EPOCH + obj * _ONE_MICROSECOND).time()


class TimestampTypeInfo(SqlTimeTypeInfo):
    """The type of datetime.datetime; its internal form is microseconds since the epoch (UTC)."""

    def to_data(self) -> TypeData:
        return type_data("SQL_TIMESTAMP")

    def coercer(self) -> Coercer | None:
        """Return a function that accepts datetimes; unlike PyFlink it keeps microseconds."""
        return _make_datetime_coercer(self)

    def _format(self, value: datetime.datetime) -> str:
        return sql_timestamp_text(_in_utc(value))

    def need_conversion(self) -> bool:
        """Return True: the internal form is an int."""
        return True

    def to_internal_type(self, obj: datetime.datetime | None) -> int | None:
        """Convert to microseconds since the epoch; a datetime without a time zone is UTC."""
        return None if obj is None else (_in_utc(obj) - _EPOCH) // _ONE_MICROSECOND

    def from_internal_type(self, obj: int | None) -> datetime.datetime | None:
        """Return the datetime that is ``obj`` microseconds after the epoch.

        It is in UTC, without a time zone.
        """
        return None if obj is None else _EPOCH + obj * _ONE_MICROSECOND


class LocalTimeTypeInfo(TypeInformation):
    """The types of ``java.time`` for dates and times without a time zone."""

    class TimeType(Enum):
        """The three local types: date, time, and date with time."""

        LOCAL_DATE = 0
        LOCAL_TIME = 1
        LOCAL_DATE_TIME = 2

    def __init__(self, time_type: TimeType) -> None:
        self._time_type = time_type

    def _arguments(self) -> tuple[Any, ...]:
        return (self._time_type.name,)

    def to_data(self) -> TypeData:
        return type_data(self._time_type.name)

    def coercer(self) -> Coercer | None:
        """Return a function that accepts values of this type."""
        kinds = LocalTimeTypeInfo.TimeType
        build = {kinds.LOCAL_DATE: _make_date_coercer, kinds.LOCAL_TIME: _make_time_coercer}.get(
            self._time_type, _make_datetime_coercer
        )
        return build(self)

    def _format(self, value: Any) -> str:
        if isinstance(value, datetime.datetime):
            return f"{value.date().isoformat()}T{local_time_text(value)}"
        return local_time_text(value) if isinstance(value, datetime.time) else str(value)

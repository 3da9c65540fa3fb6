"""Parses the time formats of the feeds; results are milliseconds since the epoch, UTC.

Each function raises ``ValueError`` for an invalid time. ``datetime.fromisoformat`` is not used: it
accepts any character between date and time, and ``24:00`` depends on the version of Python.
"""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache

DAY_MS = 86_400_000
_EPOCH_DAY = date(1970, 1, 1).toordinal()

# The first and last millisecond that the four-digit years can name.
_FIRST_MS = (date.min.toordinal() - _EPOCH_DAY) * DAY_MS
_LAST_MS = (date.max.toordinal() + 1 - _EPOCH_DAY) * DAY_MS - 1

_FIX = re.compile(r"([0-9]{8})-([0-9]{2}):([0-9]{2}):([0-9]{2})\.([0-9]{3})")
_OFFSET = r"(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
_FRACTION = r"(?:[.,]([0-9]+))?"
_EXTENDED = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})"
    + _FRACTION
    + ")?"
    + _OFFSET
)
_COMPACT = re.compile(
    r"([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})(?:([0-9]{2})" + _FRACTION + ")?" + _OFFSET
)
_DATE = re.compile(r"([0-9]{4})-?([0-9]{2})-?([0-9]{2})")


def fix_time_ms(text: str) -> int:
    """Return the time of a FIX UTCTimestamp, exactly ``yyyyMMdd-HH:mm:ss.SSS``."""
    match = _FIX.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not of the form yyyyMMdd-HH:mm:ss.SSS")
    day, hour, minute, second, millis = match.groups()
    return _day_ms(day) + _clock_ms(text, hour, minute, second) + int(millis)


def micros_ms(micros: int) -> int:
    """Return a time in microseconds since the epoch, truncated to milliseconds."""
    time_ms = micros // 1000
    if not _FIRST_MS <= time_ms <= _LAST_MS:
        raise ValueError(f"{micros} is outside the years 1 to 9999")
    return time_ms


def iso_time_ms(text: str, *, naive_is_utc: bool = False) -> int:
    """Return the time of an ISO 8601 date and time, truncated to milliseconds.

    An offset is required, unless ``naive_is_utc``.
    """
    match = _EXTENDED.fullmatch(text) or _COMPACT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not an ISO 8601 time")
    year, month, day, hour, minute, second, fraction, offset = match.groups()
    if offset is None and not naive_is_utc:
        raise ValueError(f"{text!r} has no offset from UTC")
    time_ms = _day_ms(year + month + day) + _clock_ms(text, hour, minute, second or "0")
    if fraction:
        time_ms += int(fraction[:3].ljust(3, "0"))
    return time_ms if offset is None or offset == "Z" else time_ms - _offset_ms(offset)


def date_or_time_ms(text: str) -> int:
    """Return the time of an ISO 8601 date (midnight), or date and time.

    Without an offset the time is in UTC.
    """
    match = _DATE.fullmatch(text)
    if match is None:
        return iso_time_ms(text, naive_is_utc=True)
    return _day_ms("".join(match.groups()))


@lru_cache(maxsize=256)
def _day_ms(yyyymmdd: str) -> int:
    day = date(int(yyyymmdd[:4]), int(yyyymmdd[4:6]), int(yyyymmdd[6:]))
    return (day.toordinal() - _EPOCH_DAY) * DAY_MS


def _clock_ms(text: str, hour: str, minute: str, second: str) -> int:
    hours, minutes, seconds = int(hour), int(minute), int(second)
    if hours > 23 or minutes > 59 or seconds > 59:
        raise ValueError(f"{text!r} is no time of day")
    return ((hours * 60 + minutes) * 60 + seconds) * 1000


@lru_cache(maxsize=256)
def _offset_ms(offset: str) -> int:
    hours, minutes = int(offset[1:3]), int(offset[3:].lstrip(":") or "0")
    if hours > 23 or minutes > 59:
        raise ValueError(f"{offset!r} is no offset from UTC")
    shift_ms = (hours * 60 + minutes) * 60_000
    return -shift_ms if offset[0] == "-" else shift_ms

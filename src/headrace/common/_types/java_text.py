"""Numbers and times as Java's ``toString`` formats them, for the same output as Flink's."""

from __future__ import annotations

import datetime
import struct
from collections.abc import Mapping
from decimal import Decimal
from typing import TypeVar

from headrace.common.time import Instant

V = TypeVar("V")

_FLOAT32 = struct.Struct(">f")


def round_to_float32(value: float) -> float:
    """Return the nearest float of 32 bits.

    Raises:
        OverflowError: the value is larger than the largest float of 32 bits.
    """
    result: float = _FLOAT32.unpack(_FLOAT32.pack(value))[0]
    return result


def double_text(value: float) -> str:
    """Return a float as Java's ``Double.toString``: ``1.0``, ``1.0E10``, ``NaN``, ``Infinity``."""
    return _java_floating(value, repr(value))


def float_text(value: float) -> str:
    """Return a 32-bit float as Java's ``Float.toString``: the fewest digits that identify it."""
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        try:
            if round_to_float32(float(text)) == value:
                return _java_floating(value, text)
        except OverflowError:  # these digits round up beyond the largest float
            continue
    return double_text(value)


def _java_floating(value: float, text: str) -> str:
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    sign, figures, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)  # neither NaN nor infinite
    digits = "".join(map(str, figures)).lstrip("0")
    minus = "-" if sign else ""
    if not digits:
        return f"{minus}0.0"
    point = len(digits) + exponent  # the number of digits before the decimal point
    digits = digits.rstrip("0") or "0"
    if 1e-3 <= abs(value) < 1e7:
        if point <= 0:
            return f"{minus}0.{'0' * -point}{digits}"
        digits = digits.ljust(point, "0")
        return f"{minus}{digits[:point]}.{digits[point:] or '0'}"
    return f"{minus}{digits[0]}.{digits[1:] or '0'}E{point - 1}"


def sql_timestamp_text(value: datetime.datetime) -> str:
    """Return the text of a datetime, with at least one digit after the point.

    Source: ``java.sql.Timestamp.toString``.
    """
    fraction = f"{value.microsecond:06d}".rstrip("0") or "0"
    return f"{value.replace(tzinfo=None).isoformat(' ', 'seconds')}.{fraction}"


def local_time_text(value: datetime.time | datetime.datetime) -> str:
    """Return the time in the format of ``java.time``: seconds and fractions only where not zero."""
    text = f"{value.hour:02d}:{value.minute:02d}"
    if value.microsecond:
        return f"{text}:{value.second:02d}.{_fraction_digits(value.microsecond * 1000)}"
    return f"{text}:{value.second:02d}" if value.second else text


def instant_text(value: Instant) -> str:
    """Return an instant as Java's ``Instant.toString``, for the years 1 to 9999."""
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=value.seconds)
    fraction = f".{_fraction_digits(value.nanos)}" if value.nanos else ""
    return f"{moment.isoformat(timespec='seconds')}{fraction}Z"


def _fraction_digits(nanos: int) -> str:
    text = f"{nanos:09d}"
    while text.endswith("000"):
        text = text[:-3]
    return text


def in_java_order(entries: Mapping[str, V]) -> list[tuple[str, V]]:
    """Return the entries in the order in which Java's ``HashMap`` has them."""
    buckets = 16
    while len(entries) > buckets * 3 // 4:
        buckets *= 2
    return sorted(entries.items(), key=lambda entry: _spread_hash(entry[0]) % buckets)


def _spread_hash(text: str) -> int:
    """Return the hash that ``HashMap`` uses for a text's bucket."""
    units = text.encode("utf-16-be")
    found = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        found = (found * 31 + (high << 8) + low) & 0xFFFFFFFF
    return found ^ found >> 16

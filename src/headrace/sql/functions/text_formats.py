"""Values as text and from text, as Java and Flink write and read them."""

from __future__ import annotations

import math
import re
from calendar import monthrange
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

from headrace.errors import SqlError

EXACT = Context(prec=700, rounding=ROUND_HALF_UP)
"""It rounds no value that fits into a DECIMAL or a DOUBLE."""

QUOTIENT = Context(prec=90, rounding=ROUND_HALF_UP)
"""Has more digits than a DECIMAL, for what has no end."""

_TRUE = frozenset(("t", "true", "y", "yes", "1"))
_FALSE = frozenset(("f", "false", "n", "no", "0"))


def java_double(value: float, single: bool = False) -> str:
    """Return a floating-point number as Java prints it: 1.0E10, 0.001, NaN."""
    size = abs(value)
    if not single and 1e-3 <= size < 1e7:
        return repr(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    sign, digits, exponent = _shortest(value, single)
    text = "".join(map(str, digits)).rstrip("0") or "0"
    point = len(digits) + exponent
    if -3 < point <= 7:
        if point <= 0:
            body = "0." + "0" * -point + text
        else:
            text = text.ljust(point, "0")
            body = f"{text[:point]}.{text[point:] or '0'}"
    else:
        body = f"{text[0]}.{text[1:] or '0'}E{point - 1}"
    return "-" + body if sign else body


def _shortest(value: float, single: bool) -> tuple[int, tuple[int, ...], int]:
    if single:
        import numpy as np

        text = np.format_float_scientific(np.float32(value), unique=True)
        two_digits = f"{value:.1e}"
        same = np.float32(two_digits) == np.float32(value)
    else:
        text, two_digits = repr(value), f"{value:.1e}"
        same = float(two_digits) == value
    # Java prints two digits at least: of the least numbers, 4.9E-324 in place of 5E-324.
    sign, digits, exponent = Decimal(two_digits if same else text).as_tuple()
    assert isinstance(exponent, int)
    return sign, digits, exponent


def read_boolean(text: str) -> bool:
    """Return the BOOLEAN that a text says."""
    word = text.lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ValueError(f"cannot parse {text!r} as BOOLEAN")


def read_integer(text: str, bits: int) -> int:
    """Return the integer that a text says; digits after a point are left out."""
    found = re.fullmatch(r"([+-]?[0-9]+)(?:\.[0-9]*)?", text.strip(" ")) or re.fullmatch(
        r"([+-]?)\.[0-9]+", text.strip(" ")
    )
    if found is None:
        raise ValueError(f"For input string: '{text}'. Invalid character found.")
    number = int(found.group(1)) if found.group(1) not in ("", "+", "-") else 0
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise ValueError(f"For input string: '{text}'. Value out of range")
    return number


_JAVA_NUMBER = re.compile(
    r"[+-]?(NaN|Infinity|((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)[fFdD]?)", re.ASCII
)


def read_double(text: str) -> float:
    """Return the floating-point number that a text says in Java."""
    word = text.strip()
    if _JAVA_NUMBER.fullmatch(word) is None:
        raise ValueError(f'For input string: "{text}"')
    return float(word.replace("Infinity", "inf") if word.endswith("y") else word.rstrip("fFdD"))


def read_decimal(text: str, precision: int, scale: int) -> Decimal | None:
    """Return the DECIMAL that a text says, rounded; None: it has too many digits."""
    try:
        number = EXACT.create_decimal(text.strip() if text.isascii() else "NaN")
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite():
        raise ValueError(f"cannot parse {text!r} as DECIMAL")
    return fit_decimal(number, precision, scale)


def fit_decimal(
    number: Decimal, precision: int, scale: int, rounding: str = ROUND_HALF_UP
) -> Decimal | None:
    """Return a number with ``scale`` digits after the point; None: it has too many in all."""
    rounded = number.quantize(Decimal(1).scaleb(-scale), rounding, EXACT)
    return rounded if rounded.copy_abs() < Decimal(10) ** (precision - scale) else None


DAY_NS = 86_400_000_000_000
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_DATE = re.compile(r"(\d{1,4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?(?: .*)?", re.ASCII | re.DOTALL)
_DAY = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})", re.ASCII)
_TIME_OF_DAY = re.compile(r"\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d{0,9})?", re.ASCII)
_TIME = re.compile(r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,9})\d*)?)?)?", re.ASCII)


def read_date(text: str) -> date:
    """Return the DATE that a text says."""
    found = _DATE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"cannot parse {text!r} as DATE")
    year, month, day = found.groups()
    return date(int(year), int(month or 1), int(day or 1))


def read_time_ns(text: str) -> int:
    """Return the nanoseconds since midnight that a text says."""
    found = _TIME.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"cannot parse {text!r} as TIME")
    hour, minute, second = (int(each or 0) for each in found.groups()[:3])
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"cannot parse {text!r} as TIME")
    fraction = int((found.group(4) or "").ljust(9, "0"))
    return ((hour * 60 + minute) * 60 + second) * 1_000_000_000 + fraction


def read_timestamp_ns(text: str) -> int:
    """Return the nanoseconds since the epoch of a text without a time zone.

    A day up to 31 that its month does not have is read as the last day of the month. The hour 24 is
    the start of the next day.
    """
    day, _, time = text.partition(" ")
    found = _DAY.fullmatch(day)
    if found is None:
        raise ValueError(f"cannot parse {text!r} as TIMESTAMP")
    year, month, number = map(int, found.groups())
    if number <= 31 and 1 <= month <= 12:
        number = min(number, monthrange(year, month)[1])
    days = date(year, month, number).toordinal() - _EPOCH_DAY
    if not time:
        return days * DAY_NS
    if _TIME_OF_DAY.fullmatch(time) is None:
        raise ValueError(f"cannot parse {text!r} as TIMESTAMP")
    if time.startswith("24:") and not time[3:].strip("0:."):
        return (days + 1) * DAY_NS
    return days * DAY_NS + read_time_ns(time)


def write_timestamp(nanoseconds: int, precision: int) -> str:
    """Return a timestamp as text, with ``precision`` digits after the point."""
    seconds, fraction = divmod(nanoseconds, 1_000_000_000)
    moment = _datetime(seconds)
    text = moment.isoformat(" ", "seconds")
    return f"{text}.{fraction:09d}"[: 20 + precision] if precision else text


def write_date(days: int) -> str:
    """Return a day as text."""
    try:
        return date.fromordinal(days + _EPOCH_DAY).isoformat()
    except (ValueError, OverflowError):
        raise SqlError(f"the day {days} is not within the years 1 to 9999") from None


def write_time(milliseconds: int, precision: int = 0) -> str:
    """Return a time of day as text."""
    seconds, fraction = divmod(milliseconds, 1000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{fraction:03d}"[: 9 + precision] if precision else text


def _datetime(seconds: int) -> datetime:
    days, rest = divmod(seconds, 86_400)
    day = date.fromordinal(days + _EPOCH_DAY)
    return datetime(day.year, day.month, day.day, rest // 3600, rest // 60 % 60, rest % 60)


def write_month_interval(months: int) -> str:
    """Return an interval of months as text: +1-02."""
    sign, months = ("-" if months < 0 else "+"), abs(months)
    return f"{sign}{months // 12}-{months % 12:02d}"


def write_second_interval(milliseconds: int) -> str:
    """Return an interval of milliseconds as text: +1 02:03:04.567."""
    sign, milliseconds = ("-" if milliseconds < 0 else "+"), abs(milliseconds)
    days, rest = divmod(milliseconds, 86_400_000)
    return f"{sign}{days} {write_time(rest, 3)}"


def write_decimal(value: Decimal) -> str:
    """Return a decimal number as text, never with an exponent."""
    return format(value, "f")


def as_text(value: Any) -> str:
    """Return a part of an array, a map or a row as text."""
    return "NULL" if value is None else str(value)

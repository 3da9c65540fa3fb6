"""Constants of statements as typed literals."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from datetime import time as time_of_day
from decimal import Decimal

from headrace.errors import SqlValidationError
from headrace.sql.expressions import Literal
from headrace.sql.functions import text_formats
from headrace.sql.types import (
    BIGINT,
    DOUBLE,
    INT,
    MAX_PRECISION,
    BinaryType,
    DateType,
    DecimalType,
    MonthIntervalType,
    SecondIntervalType,
    TimestampType,
    TimeType,
)


def number(text: str) -> Literal:
    """Return a number: INT, BIGINT, a DECIMAL, or with an exponent a DOUBLE."""
    if "e" in text.lower():
        return Literal(DOUBLE.with_nullable(False), float(text))
    if text.lstrip("-").isdecimal():
        value = int(text)
        for kind in (INT, BIGINT):
            if -(1 << kind.bits - 1) <= value < 1 << kind.bits - 1:
                return Literal(kind.with_nullable(False), value)
    decimal = Decimal(text)
    scale = len(text.partition(".")[2])
    digits = "".join(each for each in text if each.isdigit())
    if int(digits) >= 1 << 63:
        raise SqlValidationError(
            f"the number {text} is out of range: without its point it must fit 64 bits",
            hint=f"CAST('{text}' AS DECIMAL({min(len(digits), MAX_PRECISION)}, {scale}))",
        )
    precision = len(digits)
    return Literal(DecimalType(precision, scale, nullable=False), decimal)


def hexadecimal(text: str) -> Literal:
    """Return bytes that are written as hexadecimal digits."""
    if len(text) % 2:
        raise SqlValidationError("a binary constant has an even number of hexadecimal digits")
    value = bytes.fromhex(text)
    return Literal(BinaryType(len(value), nullable=False), value)


def time(text: str, kind: DateType | TimeType | TimestampType) -> Literal:
    """Return a date, a time or a timestamp."""
    value: object
    try:
        match kind:
            case DateType():
                value = text_formats.read_date(text)
            case TimeType():
                nanoseconds = text_formats.read_time_ns(text)
                value = (datetime.min + timedelta(microseconds=nanoseconds // 1000)).time()
                assert isinstance(value, time_of_day)
                value = value.replace(microsecond=value.microsecond // 1000 * 1000)
            case TimestampType():
                nanoseconds = text_formats.read_timestamp_ns(text)
                value = nanoseconds
                if kind.precision > 6 and not -(1 << 63) <= nanoseconds < 1 << 63:
                    raise SqlValidationError(
                        f"TIMESTAMP '{text}': with more than 6 digits, the year must be from"
                        " 1677 to 2262"
                    )
                if kind.precision <= 6:
                    value = datetime(1970, 1, 1) + timedelta(microseconds=nanoseconds // 1000)
    except ValueError:
        raise SqlValidationError(
            f"{text!r} is not a {kind.root}",
            hint="DATE '2024-01-31', TIMESTAMP '2024-01-31 12:00:00'",
        ) from None
    return Literal(kind.with_nullable(False), value)


_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_MS = {"WEEK": 604_800_000, "DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1000}
_DAY_UNITS = ("DAY", "HOUR", "MINUTE", "SECOND")


def interval(text: str, unit: str, finest: str | None) -> Literal:
    """Return an interval such as '1-2' YEAR TO MONTH; ``finest``: the unit after TO."""
    sign = -1 if text.strip().startswith("-") else 1
    digits = text.strip().lstrip("+-")
    if unit in _MONTHS:
        parts = digits.split("-")
        units: tuple[str, ...] = (unit,) if finest is None else ("YEAR", "MONTH")
        if len(parts) != len(units) or not all(each.isdecimal() for each in parts):
            raise _no_interval(text, unit, finest)
        months = sum(int(part) * _MONTHS[each] for part, each in zip(parts, units, strict=True))
        return Literal(MonthIntervalType(nullable=False), sign * months)
    last = finest or unit
    units = (
        (unit,)
        if finest is None
        else _DAY_UNITS[_DAY_UNITS.index(unit) : _DAY_UNITS.index(last) + 1]
    )
    parts = re.split(r"[ :]+", digits)
    if len(parts) != len(units):
        raise _no_interval(text, unit, finest)
    total = 0
    for part, each in zip(parts, units, strict=True):
        whole, _, fraction = part.partition(".")
        if not whole.isdecimal() or (fraction and (each != "SECOND" or not fraction.isdecimal())):
            raise _no_interval(text, unit, finest)
        total += int(whole) * _MS[each] + int(fraction.ljust(3, "0")[:3] or 0)
    return Literal(SecondIntervalType(nullable=False), sign * total)


def _no_interval(text: str, unit: str, finest: str | None) -> SqlValidationError:
    units = unit if finest is None else f"{unit} TO {finest}"
    return SqlValidationError(f"{text!r} is not an interval of {units}")

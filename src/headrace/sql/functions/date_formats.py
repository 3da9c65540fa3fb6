"""Patterns of dates and times as Java has them: yyyy-MM-dd HH:mm:ss.SSS."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any

from headrace.errors import SqlError
from headrace.sql.functions.kernels import cast_arrow, is_scalar, map_values
from headrace.sql.functions.text_formats import DAY_NS

DEFAULT = "yyyy-MM-dd HH:mm:ss"
"""The pattern where none is given."""

_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_EPOCH = datetime(1970, 1, 1)
_SECOND_NS = 1_000_000_000

Token = tuple[str, int]
"""A letter of a pattern with its count; or a text, with 0."""


@lru_cache(maxsize=1000)
def tokens_of(pattern: str) -> tuple[Token, ...]:
    """Return the parts of a pattern."""
    found: list[Token] = []
    for match in re.finditer(r"'((?:[^']|'')*)'|([A-Za-z])\2*|([^A-Za-z'])", pattern):
        text, letter = match[1], match[2]
        if text is not None:
            found.append((text.replace("''", "'") or "'", 0))
        elif letter is not None:
            found.append((letter, len(match[0])))
        else:
            found.append((match[0], 0))
    return tuple(found)


Writer = Callable[[datetime, int], str]


def write(nanoseconds: int, pattern: str) -> str:
    """Return a local time, in nanoseconds since the epoch, as text."""
    seconds, fraction = divmod(nanoseconds, _SECOND_NS)
    try:
        moment = _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        raise SqlError("a time to be written is not within the years 1 to 9999") from None
    return "".join(
        text if count == 0 else _write_part(text, count, moment, fraction, pattern)
        for text, count in tokens_of(pattern)
    )


def _write_part(letter: str, count: int, moment: datetime, fraction: int, pattern: str) -> str:
    match letter:
        case "y" | "u":
            if count == 2:
                return f"{moment.year % 100:02d}"
            return f"{moment.year:0{count}d}"
        case "M" | "L":
            return _named(moment.month, count, _MONTHS[moment.month - 1])
        case "d":
            return f"{moment.day:0{count}d}"
        case "D":
            return f"{moment.timetuple().tm_yday:0{count}d}"
        case "E":
            name = _DAYS[moment.weekday()]
            return name if count == 4 else name[:3]
        case "e" | "c":
            return f"{moment.isoweekday() % 7 + 1:0{count}d}"
        case "Q" | "q":
            quarter = (moment.month + 2) // 3
            return {3: f"Q{quarter}", 4: f"{_ordinal(quarter)} quarter"}.get(
                count, f"{quarter:0{count}d}"
            )
        case "H":
            return f"{moment.hour:0{count}d}"
        case "k":
            return f"{moment.hour or 24:0{count}d}"
        case "h":
            return f"{moment.hour % 12 or 12:0{count}d}"
        case "K":
            return f"{moment.hour % 12:0{count}d}"
        case "m":
            return f"{moment.minute:0{count}d}"
        case "s":
            return f"{moment.second:0{count}d}"
        case "S":
            return f"{fraction:09d}"[:count].ljust(count, "0")
        case "n":
            return f"{fraction:0{count}d}"
        case "a":
            return "AM" if moment.hour < 12 else "PM"
        case "G":
            return "AD"
    raise SqlError(f"the letter {letter!r} of the date pattern {pattern!r} is not supported")


def _ordinal(number: int) -> str:
    return {1: "1st", 2: "2nd", 3: "3rd"}.get(number, f"{number}th")


def _named(number: int, count: int, name: str) -> str:
    return f"{number:0{count}d}" if count < 3 else name[:3] if count == 3 else name


_PLACES = {
    ("y", 4): (0, 4),
    ("M", 2): (5, 7),
    ("d", 2): (8, 10),
    ("H", 2): (11, 13),
    ("m", 2): (14, 16),
    ("s", 2): (17, 19),
}
_WRITTEN = "yyyy-MM-dd HH:mm:ss."
"""How Arrow writes timestamps, before the digits of the fraction."""

Part = str | tuple[int, int]
"""A text, or a part of what Arrow writes."""


@lru_cache(maxsize=1000)
def parts_of(pattern: str) -> tuple[Part, ...] | None:
    """Return the parts of Arrow's text that a pattern is made of; None: it needs others too."""
    parts: list[Part] = []
    for token in tokens_of(pattern):
        text, count = token
        last = parts[-1] if parts else None
        if count == 0:
            if isinstance(last, tuple) and _WRITTEN[last[1] : last[1] + len(text)] == text:
                parts[-1] = (last[0], last[1] + len(text))
            else:
                parts.append(text)
            continue
        place = (20, 20 + count) if text == "S" and count <= 6 else _PLACES.get(token)
        if place is None:
            return None
        if isinstance(last, tuple) and last[1] == place[0]:
            parts[-1] = (last[0], place[1])
        else:
            parts.append(place)
    return tuple(parts)


_YEAR_10000_S = 253_402_300_800


def write_all(value: Any, pattern: Any) -> Any:
    """Return local timestamps (an Arrow array or scalar) as texts of patterns."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from headrace.sql.functions import moments

    per_second = moments.PER_SECOND[value.type.unit]
    number = cast_arrow(value, pa.int64())
    parts = parts_of(pattern.as_py()) if is_scalar(pattern) and pattern.is_valid else None
    end = min(_YEAR_10000_S * per_second, (1 << 63) - 1)
    usual = pc.and_(pc.greater_equal(number, 0), pc.less(number, end))
    if parts and not is_scalar(value) and pc.all(usual).as_py() is not False:
        # Nanoseconds end in 2262; the digits after the last that a pattern has are not needed.
        finest = "ns" if value.type.unit == "ns" else "us"
        return _joined(cast_arrow(cast_arrow(value, pa.timestamp(finest)), pa.string()), parts)
    factor = _SECOND_NS // per_second
    return map_values(lambda each, text: write(each * factor, text), [number, pattern], pa.string())


def _joined(texts: Any, parts: tuple[Part, ...]) -> Any:
    import pyarrow.compute as pc

    found = [
        each if isinstance(each, str) else pc.utf8_slice_codeunits(texts, *each) for each in parts
    ]
    if len(found) == 1 and not isinstance(parts[0], str):
        return found[0]
    if all(isinstance(each, str) for each in parts):
        found.append(pc.utf8_slice_codeunits(texts, 0, 0))
    return pc.binary_join_element_wise(*found, "")


_LETTERS = {
    "y": r"(?P<year>[+-]?\d{{{0},}})",
    "u": r"(?P<year>[+-]?\d{{{0},}})",
    "M": r"(?P<month>\d{{{0}}})",
    "d": r"(?P<day>\d{{{0}}})",
    "D": r"(?P<yearday>\d{{{0}}})",
    "H": r"(?P<hour>\d{{{0}}})",
    "k": r"(?P<hour24>\d{{{0}}})",
    "h": r"(?P<hour12>\d{{{0}}})",
    "K": r"(?P<hour11>\d{{{0}}})",
    "m": r"(?P<minute>\d{{{0}}})",
    "s": r"(?P<second>\d{{{0}}})",
    "S": r"(?P<fraction>\d{{{0}}})",
    "a": r"(?P<half>AM|PM|am|pm)",
}


@lru_cache(maxsize=1000)
def reader(pattern: str, *, any_digits: bool = False) -> re.Pattern[str]:
    """Return a parser for a pattern.

    ``any_digits``: a number that is not next to another one may have any number of digits.
    """
    parts = []
    tokens = tokens_of(pattern)
    for n, (text, count) in enumerate(tokens):
        if count == 0:
            parts.append(re.escape(text))
            continue
        adjacent = n + 1 < len(tokens) and tokens[n + 1][1] > 0
        beside = adjacent or (n > 0 and tokens[n - 1][1] > 0)
        parts.append(_read_part(text, count, adjacent, pattern, any_digits and not beside))
    try:
        return re.compile("".join(parts), re.ASCII)
    except re.error:
        raise SqlError(f"the date pattern {pattern!r} has a letter twice") from None


def _read_part(
    letter: str, count: int, adjacent: bool, pattern: str, any_digits: bool = False
) -> str:
    if letter in ("M", "L") and count >= 3:
        names = _MONTHS if count > 3 else [each[:3] for each in _MONTHS]
        return f"(?P<monthname>{'|'.join(names)})"
    if letter == "E":
        names = _DAYS if count > 3 else [each[:3] for each in _DAYS]
        return f"(?P<weekday>{'|'.join(names)})"
    if letter in ("y", "u"):
        if count == 2:
            return r"(?P<year2>\d{2})"
        if any_digits:
            return r"(?P<year>\d+)"
        return rf"(?P<year>\d{{{count}}})" if adjacent else rf"(?P<year>[+-]?\d{{{count},9}})"
    template = _LETTERS.get(letter)
    if template is None:
        raise SqlError(f"the letter {letter!r} of the date pattern {pattern!r} is not supported")
    digits = "1," if any_digits else "1,2" if count == 1 and not adjacent else str(count)
    return template.replace("{{", "{").replace("}}", "}").replace("{0}", digits)


_JDBC = re.compile(
    r"\s*(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
    r"(?: (?P<hour>\d+):(?P<minute>\d+):(?P<second>\d+)(?:\.(?P<fraction>\d{1,9}))?)?\s*",
    re.ASCII,
)


def read_or_jdbc(text: str, pattern: str) -> int:
    """Return the local time of a text with a pattern, or in the form of ``java.sql.Timestamp``.

    As in Flink, a text such as '2020-1-2 3:04:05' is read with any pattern.
    """
    try:
        return read(text, pattern, lenient=True)
    except ValueError:
        found = _JDBC.fullmatch(text)
        if found is None or not (1 <= int(found["month"]) <= 12 and 1 <= int(found["day"]) <= 31):
            raise
        fraction = int((found["fraction"] or "").ljust(9, "0"))
        return _with_overflow(found.groupdict()) + fraction


def read_simple(text: str, pattern: str) -> int:
    """Return the local time of a text as Java's ``SimpleDateFormat`` reads it.

    Numbers may have any number of digits. A number that is too large overflows: 30 February is in
    March. Text after the pattern is ignored. S is milliseconds.
    """
    found = reader(pattern, any_digits=True).match(text)
    if found is None:
        raise ValueError(f"{text!r} is not of the pattern {pattern!r}")
    parts = found.groupdict()
    if any(parts.get(each) for each in ("monthname", "yearday", "hour24", "hour12", "hour11")):
        return read(text, pattern, rolls=True)
    if parts.get("year2"):
        parts["year"] = f"20{parts['year2']}"
    return _with_overflow(parts) + int(parts.get("fraction") or 0) * 1_000_000


def _with_overflow(parts: Mapping[str, str | None]) -> int:
    """Return the time of fields, without a fraction; fields that are too large overflow."""

    def number(name: str, absent: int) -> int:
        return int(parts.get(name) or absent)

    months = number("year", 1970) * 12 + number("month", 1) - 1
    days = date(months // 12, months % 12 + 1, 1).toordinal() - _EPOCH.toordinal()
    days += number("day", 1) - 1
    seconds = (number("hour", 0) * 60 + number("minute", 0)) * 60 + number("second", 0)
    return days * DAY_NS + seconds * _SECOND_NS


def read(text: str, pattern: str, *, lenient: bool = False, rolls: bool = False) -> int:
    """Return the local time that a text says, in nanoseconds since the epoch.

    ``lenient``: a day after the last one of its month is the last one. ``rolls``: it is one of the
    next month.
    """
    found = reader(pattern).fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not of the pattern {pattern!r}")
    parts = found.groupdict()
    year = int(parts.get("year") or 1970)
    if parts.get("year2"):
        year = 2000 + int(parts["year2"])
    month = int(parts.get("month") or 1)
    if parts.get("monthname"):
        month = [each[:3] for each in _MONTHS].index(parts["monthname"][:3]) + 1
    day = int(parts.get("day") or 1)
    if lenient and 28 < day <= 31 and 1 <= month <= 12:
        day = min(day, monthrange(year, month)[1])
    first = date(year, month, 1 if rolls else day).toordinal()
    days = first - _EPOCH.toordinal() + (day - 1 if rolls else 0)
    if parts.get("yearday"):
        days = date(year, 1, 1).toordinal() - _EPOCH.toordinal() + int(parts["yearday"]) - 1
    hour = int(parts.get("hour") or 0)
    if parts.get("hour24"):
        hour = int(parts["hour24"]) % 24
    for name in ("hour12", "hour11"):
        if parts.get(name):
            hour = int(parts[name]) % 12 + (12 if (parts.get("half") or "").upper() == "PM" else 0)
    minute, second = int(parts.get("minute") or 0), int(parts.get("second") or 0)
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"{text!r} is not a time")
    fraction = int((parts.get("fraction") or "").ljust(9, "0"))
    seconds = (hour * 60 + minute) * 60 + second
    return days * DAY_NS + seconds * _SECOND_NS + fraction

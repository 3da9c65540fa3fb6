"""Texts in a format of Java."""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from headrace.errors import SqlError
from headrace.sql.functions.function import Function
from headrace.sql.functions.kernels import python
from headrace.sql.functions.rules import NULLABLE, a_text, anything, takes
from headrace.sql.functions.text_formats import EXACT, java_double
from headrace.sql.types import STRING

_FORMAT = re.compile(r"%(?:(\d+)\$)?([-#+ 0,(]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])")


def _printf(pattern: str | None, *values: Any) -> str | None:
    """Return a text as Java's String.format makes it; None: the values do not fit the format."""
    if pattern is None:
        return None
    position = 0

    def part(match: re.Match[str]) -> str:
        nonlocal position
        index, flags, width, precision, letter = match.groups()
        if letter in "n%":
            return "\n" if letter == "n" else "%".rjust(int(width or 0))
        if index is None:
            place, position = position, position + 1
        else:
            place = int(index) - 1
        if place >= len(values):
            raise ValueError(f"there is no value for {match[0]!r}")
        return _formatted(values[place], flags, int(width or 0), precision, letter)

    try:
        return _FORMAT.sub(part, pattern)
    except (ValueError, TypeError):
        return None


def _formatted(value: Any, flags: str, width: int, precision: str | None, letter: str) -> str:
    if value is None:
        return _padded("null"[: int(precision)] if precision else "null", flags, width)
    match letter:
        case "d" | "x" | "X" | "o" if isinstance(value, bool | float | Decimal):
            raise ValueError(f"%{letter} needs an integer")
        case "f" | "e" if not isinstance(value, float):
            raise ValueError(f"%{letter} needs a DOUBLE")
        case "d":
            text = format(value, ",d" if "," in flags else "d")
        case "x" | "X" | "o":
            bits = 32 if -(1 << 31) <= value < 1 << 31 else 64
            text = format(value % (1 << bits), letter)
        case "f" | "e" if not math.isfinite(value):
            text = java_double(value)
        case "f":
            rounded = _half_up(value, int(precision or 6))
            text = format(rounded, ",f" if "," in flags else "f")
        case "e":
            text = format(value, f".{precision or 6}e")
        case "b":
            text = str(value).lower() if isinstance(value, bool) else "true"
        case "c":
            text = chr(value) if isinstance(value, int) else str(value)
        case "s" | "S":
            text = java_double(value) if isinstance(value, float) else str(value)
            if isinstance(value, bool):
                text = text.lower()
            text = text[: int(precision)] if precision else text
            text = text.upper() if letter == "S" else text
        case _:
            raise SqlError(f"PRINTF does not support %{letter}")
    numeric = letter in "dfe"
    if numeric and "+" in flags and not text.startswith("-"):
        text = "+" + text
    if numeric and "(" in flags and text.startswith("-"):
        text = f"({text[1:]})"
    if "0" in flags and letter in "dfexXo":
        return text.zfill(width)
    return _padded(text, flags, width)


def _half_up(value: float, digits: int) -> Decimal:
    return Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, EXACT)


def _padded(text: str, flags: str, width: int) -> str:
    return text.ljust(width) if "-" in flags else text.rjust(width)


FUNCTIONS = (
    Function(
        "PRINTF",
        takes(a_text, anything, gives=STRING, nulls=NULLABLE, optional=1, repeated=True),
        python(_printf, nulls=True),
        ("PRINTF(format, value1, ...)",),
        "The values in a format of Java's String.format.",
        (("PRINTF('%s is %d', 'a', 1)", "a is 1"),),
        can_fail=True,
    ),
)

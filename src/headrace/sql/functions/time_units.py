"""The units of times, and their lengths."""

from __future__ import annotations

from typing import Any

TIME_UNITS = frozenset(["HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "NANOSECOND"])
"""The units of a time of day."""

YEARS = {"DECADE": 10, "CENTURY": 100, "MILLENNIUM": 1000}
"""Units of several years."""

MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
"""Units of months."""

UNIT_MS = {
    "MILLISECOND": 1,
    "SECOND": 1000,
    "MINUTE": 60_000,
    "HOUR": 3_600_000,
    "DAY": 86_400_000,
    "WEEK": 604_800_000,
}
"""Units of milliseconds."""


def remainder(number: Any, divisor: int) -> Any:
    """Return the remainders of divisions towards zero."""
    import pyarrow.compute as pc

    return pc.subtract(number, pc.multiply(pc.divide(number, divisor), divisor))

"""Formats numbers, sizes and times for people."""

from __future__ import annotations

import math
from datetime import UTC, datetime

_TIMELESS = 1 << 52
NONE = "-"
"""Shown for a value that is not known."""


def format_count(number: float | None) -> str:
    """Return a count of at most four digits and a unit: ``950``, ``12.3k``, ``4.56M``."""
    if number is None:
        return NONE
    if not math.isfinite(number):
        return f"{number}"
    size = abs(number)
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size >= limit:
            scaled = number / (1e3 if unit == "k" else limit)
            return f"{scaled:.0f}{unit}" if abs(scaled) >= 100 else f"{scaled:.3g}{unit}"
    return f"{number:.1f}" if 0 < size < 10 and number != int(number) else f"{number:,.0f}"


def format_bytes(size: float | None) -> str:
    """Return a size in bytes, KiB, MiB or GiB."""
    if size is None:
        return NONE
    for limit, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= limit:
            return (
                f"{size / limit:.3g} {unit}"
                if size < 1000 * limit
                else f"{size / limit:,.0f} {unit}"
            )
    return f"{size:.0f} B"


def format_duration(ms: float | None) -> str:
    """Return a duration in its largest units: ``12 ms``, ``3.4 s``, ``2 min 5 s``."""
    if ms is None:
        return NONE
    sign, ms = ("-", -ms) if ms < 0 else ("", ms)
    if ms < 1000:
        return f"{sign}{ms:.0f} ms"
    seconds = ms / 1000
    if seconds < 60:
        return f"{sign}{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{sign}{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{sign}{hours} h {minutes} min"
    return f"{sign}{hours // 24:,} days"


def format_moment(at_ms: int | None) -> str:
    """Return an event time (ms) as text in UTC; ``end`` for the final watermark."""
    if at_ms is None or at_ms <= -_TIMELESS:
        return NONE
    if at_ms >= _TIMELESS:
        return "end"
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")

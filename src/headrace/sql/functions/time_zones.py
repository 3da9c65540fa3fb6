"""Time zones by the names that statements have for them."""

from __future__ import annotations

import re
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headrace.errors import SqlError


def zone_info(name: str) -> ZoneInfo:
    """Return a zone of the database of time zones.

    Raises:
        SqlError: it has none of this name.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise SqlError(f"there is no time zone {name!r}") from None


_OFFSET = re.compile(r"GMT([+-])(\d{1,2})(?::?(\d{2}))?", re.ASCII)


_SHORT_NAMES = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AST": "America/Anchorage",
    "BST": "Asia/Dhaka",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "ECT": "Europe/Paris",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "NST": "Pacific/Auckland",
    "PST": "America/Los_Angeles",
}
"""Short names of zones that Java knows and the database of time zones does not."""


def java_zone(name: str) -> str:
    """Return the name of a time zone as Java's TimeZone reads it: an unknown one is UTC."""
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        sign, hours, minutes = offset.groups()
        return f"{sign}{int(hours):02d}:{minutes or '00'}"
    try:
        zone_info(name)
    except SqlError:
        return _SHORT_NAMES.get(name, "UTC")
    return name

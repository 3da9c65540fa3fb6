"""Time zones by name: those of the time zone database, and fixed offsets."""

from __future__ import annotations

import re
from datetime import timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_OFFSET = re.compile(r"(?:GMT)?([+-])(\d{1,2})(?::?([0-5]\d))?")


def normalized(name: str) -> str:
    """Return a time zone as Arrow names it: GMT-8 is -08:00.

    Raises:
        ValueError: there is no such time zone.
    """
    found = _OFFSET.fullmatch(name)
    if found is None:
        zone_of(name)
        return name
    sign, hours, minutes = found.groups()
    if int(hours) > 18:
        raise ValueError(f"there is no time zone {name!r}")
    return f"{sign}{int(hours):02}:{minutes or '00'}"


def zone_of(name: str) -> tzinfo:
    """Return the time zone of a name as ``normalized`` returns it.

    Raises:
        ValueError: there is no such time zone.
    """
    if name[:1] in ("+", "-"):
        hours, minutes = int(name[1:3]), int(name[4:])
        offset = timedelta(hours=hours, minutes=minutes)
        return timezone(-offset if name[0] == "-" else offset)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"there is no time zone {name!r}") from None

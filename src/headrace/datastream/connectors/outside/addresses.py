"""Addresses as they may be shown."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

HIDDEN = "***"


def without_secrets(url: str) -> str:
    """A URL without its password and its query, in which there may be keys and passwords."""
    parts = urlsplit(url)
    user, at, place = parts.netloc.rpartition("@")
    if ":" in user:
        user = f"{user.partition(':')[0]}:{HIDDEN}"
    query = HIDDEN if parts.query else ""
    return urlunsplit((parts.scheme, f"{user}{at}{place}", parts.path, query, ""))

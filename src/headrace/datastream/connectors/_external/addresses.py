"""Addresses without secrets, for messages."""

from __future__ import annotations

HIDDEN = "***"


def without_secrets(url: str) -> str:
    """Return a URL without its password and its query, which may contain secrets.

    The same applies to text that is no valid URL: the scheme may be misspelled, or the password not
    quoted. So everything up to the last ``@`` is taken for user and password.
    """
    scheme, slashes, rest = url.partition("//")
    if not slashes:
        scheme, rest = "", url
    user, at, place = rest.rpartition("@")
    if ":" in user:
        user = f"{user.partition(':')[0]}:{HIDDEN}"
    elif "?" in user:  # the "@" is in the query
        user, at, place = "", "", rest
    place, question, _ = place.partition("#")[0].partition("?")
    query = f"?{HIDDEN}" if question else ""
    return f"{scheme}{slashes}{user}{at}{place}{query}"

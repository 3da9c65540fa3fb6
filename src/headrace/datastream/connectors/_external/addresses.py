"""Addresses as they may be shown."""

from __future__ import annotations

HIDDEN = "***"


def without_secrets(url: str) -> str:
    """A URL without its password and its query, in which there may be keys and passwords.

    What is no URL has none either: a scheme may be misspelled, a password not be quoted. So all
    up to the last ``@`` is taken for user and password.
    """
    scheme, slashes, rest = url.partition("//")
    if not slashes:
        scheme, rest = "", url
    user, at, place = rest.rpartition("@")
    if ":" in user:
        user = f"{user.partition(':')[0]}:{HIDDEN}"
    elif "?" in user:  # it is in the query
        user, at, place = "", "", rest
    place, question, _ = place.partition("#")[0].partition("?")
    query = f"?{HIDDEN}" if question else ""
    return f"{scheme}{slashes}{user}{at}{place}{query}"

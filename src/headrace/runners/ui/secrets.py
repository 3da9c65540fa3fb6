"""Hides passwords in what readers of the page see without the token."""

from __future__ import annotations

import re
from collections.abc import Mapping

HIDDEN = "******"

_NAMES = (
    *("password", "passwd", "passphrase", "pwd", "secret", "token", "key", "auth", "credential"),
    *("signature", "jaas", "headers"),
)
_NAMED = rf"""((?<![\w.-])[\w.-]*(?:{"|".join(_NAMES)})[\w.-]*["']?\s*[=:]\s*)"""
_QUOTED = r"""("[^"\n]*"|'[^'\n]*')"""
_NAMED_LITERAL = re.compile(_NAMED + _QUOTED, re.IGNORECASE)
"""``password="xyz"``, as in a program."""
_NAMED_VALUE = re.compile(rf"""{_NAMED}({_QUOTED}|[^\s&;,"']+)""", re.IGNORECASE)
"""``password=xyz`` too, as in connection strings and the queries of URLs."""

_IN_VALUE = re.compile(r"(//[^:/\s]*:)[^/\s]+(?=@[^@\s]*$)")
_IN_TEXT = re.compile(r"""(//[^:/\s"']*:)[^@/\s"']+(?=@)""")


def without_secrets(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings without values of keys like passwords, and passwords in other values."""
    return {
        key: HIDDEN if any(name in key.lower() for name in _NAMES) else hide_in_value(value)
        for key, value in settings.items()
    }


def hide_in_value(value: str) -> str:
    """Return the value of a setting without passwords in URLs and connection strings."""
    return _NAMED_VALUE.sub(rf"\g<1>{HIDDEN}", _IN_VALUE.sub(rf"\g<1>{HIDDEN}", value))


def hide_in_text(text: str) -> str:
    """Return a message or lines of a program without passwords in URLs and in literals."""
    return _NAMED_LITERAL.sub(rf"\g<1>{HIDDEN}", _IN_TEXT.sub(rf"\g<1>{HIDDEN}", text))

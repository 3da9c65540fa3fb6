"""Hides passwords in what readers of the page see without the token."""

from __future__ import annotations

import re
from collections.abc import Mapping

HIDDEN = "******"

_NAMES = (
    *("password", "passwd", "passphrase", "pwd", "secret", "token", "key", "auth", "credential"),
    *("signature", "jaas", "headers"),
)
_NAMED = re.compile(r"""(?<![\w.-])([\w.-]+)["']?\s*[=:]\s*""")
"""``password=``"""
_LITERAL = re.compile(r"""[bfru]{0,2}(?:"[^"\n]*"|'[^'\n]*')""", re.IGNORECASE)
_VALUE = re.compile(rf"""{_LITERAL.pattern}|[^\s&;,"']+""", re.IGNORECASE)

_IN_VALUE = re.compile(r"(//[^:/\s]*:)[^/\s]+(?=@[^@\s]*$)")
_IN_TEXT = re.compile(r"""(//[^:/\s"']*:)[^@/\s"']+(?=@)""")


def without_secrets(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings without values of keys like passwords, and passwords in other values."""
    return {
        key: HIDDEN if _is_secret(key) else hide_in_value(value) for key, value in settings.items()
    }


def hide_in_value(value: str) -> str:
    """Return the value of a setting without passwords in URLs and connection strings."""
    return _hide_named(_IN_VALUE.sub(rf"\g<1>{HIDDEN}", value), _VALUE)


def hide_in_text(text: str) -> str:
    """Return a message or lines of a program without passwords in URLs and in literals."""
    return _hide_named(_IN_TEXT.sub(rf"\g<1>{HIDDEN}", text), _LITERAL)


def _hide_named(text: str, value: re.Pattern[str]) -> str:
    """Return a text without the values that follow names like passwords."""
    parts, kept, at = list[str](), 0, 0
    while (named := _NAMED.search(text, at)) is not None:
        at = named.end()
        if _is_secret(named[1]) and (found := value.match(text, at)) is not None:
            parts += (text[kept:at], HIDDEN)
            kept = at = found.end()
    return "".join([*parts, text[kept:]])


def _is_secret(name: str) -> bool:
    return any(each in name.lower() for each in _NAMES)

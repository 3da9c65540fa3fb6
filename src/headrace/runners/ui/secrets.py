"""Hides passwords in what readers of the page see without the token."""

from __future__ import annotations

import re
from collections.abc import Mapping

HIDDEN = "******"

_NAMES = (
    *("password", "passwd", "passphrase", "pwd", "secret", "token", "key", "auth", "credential"),
    *("signature", "jaas", "headers"),
)
_NAMED = re.compile(r"""(?<![\w.-])([\w.-]+)["']?\s*(?:[=!:]=|[=:])\s*""")
"""``password=``"""
STRING = re.compile(
    r"""[bfrtu]{0,2}(?:
        \"{3}(?:[^\\]|\\.)*?(?:\"{3}|\\?\Z) | '{3}(?:[^\\]|\\.)*?(?:'{3}|\\?\Z)
        | "(?:[^"\\\n]|\\.)*(?:"|(?=\n)|\\?\Z) | '(?:[^'\\\n]|\\.)*(?:'|(?=\n)|\\?\Z)
    )""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
"""A string literal of Python. Its end may be missing, as a traceback has single lines."""
_VALUE = re.compile(r"""[bfru]{0,2}(?:"[^"\n]*"|'[^'\n]*')|[^\s&;,"']+""", re.IGNORECASE)
_VALUE_IN_LITERAL = re.compile(r"""["'][^"'\n]*["']|(?!\{|%[(a-z])[^\s&;,"']+""")
"""A placeholder of a format is no value."""

_LONGEST_NAME = 200

_IN_VALUE = re.compile(r"(//[^:/\s]*:)[^/\s]+(?=@[^@\s]*$)")
_IN_TEXT = re.compile(r"""(//[^:/\s"']*:)[^@/\s"']+(?=@)""")


def without_secrets(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings without values of keys like passwords, and passwords in other values."""
    return {
        key: HIDDEN if is_secret(key) else hide_in_value(value) for key, value in settings.items()
    }


def hide_in_value(value: str) -> str:
    """Return the value of a setting without passwords in URLs and connection strings."""
    return _hide_named(_IN_VALUE.sub(rf"\g<1>{HIDDEN}", value), _VALUE)


def hide_in_text(text: str) -> str:
    """Return a message without passwords in URLs and in literals."""
    return _hide_named(_IN_TEXT.sub(rf"\g<1>{HIDDEN}", text), STRING)


def hide_in_literal(literal: str) -> str:
    """Return a string literal of a program without passwords in URLs and connection strings."""
    return _hide_named(_IN_TEXT.sub(rf"\g<1>{HIDDEN}", literal), _VALUE_IN_LITERAL)


def ends_with_secret_name(text: str) -> bool:
    """Return whether a value like a password must follow: ``user=ann password=``."""
    found = [*_NAMED.finditer(text, max(len(text) - _LONGEST_NAME, 0))]
    return bool(found) and found[-1].end() == len(text) and is_secret(found[-1][1])


def _hide_named(text: str, value: re.Pattern[str]) -> str:
    """Return a text without the values that follow names like passwords."""
    parts, kept, at = list[str](), 0, 0
    while (named := _NAMED.search(text, at)) is not None:
        at = named.end()
        if is_secret(named[1]) and (found := value.match(text, at)) is not None:
            parts += (text[kept:at], HIDDEN)
            kept = at = found.end()
    return "".join([*parts, text[kept:]])


def is_secret(name: str) -> bool:
    """Return whether a name is like that of a password."""
    return any(each in name.lower() for each in _NAMES)

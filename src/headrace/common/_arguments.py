"""Checks of the arguments that programs pass."""

from __future__ import annotations

from typing import Any, TypeVar

from headrace.errors import PlanError

T = TypeVar("T")


def require_positive(number: Any, what: str) -> int:
    """The number itself.

    Raises:
        PlanError: it is not an int, or not above zero.
    """
    return require_at_least(number, 1, what)


def require_non_empty(text: Any, what: str) -> str:
    """The text itself.

    Raises:
        PlanError: it is not a str, or it is empty.
    """
    if not isinstance(text, str) or not text:
        raise PlanError(f"{what} must be a non-empty str, not {text!r}")
    return text


def require_identifier(text: Any, what: str) -> str:
    """The text itself, which is stored and sent.

    Raises:
        PlanError: it is not a str, it is empty, or it has no form in UTF-8.
    """
    found = require_non_empty(text, what)
    if not found.isascii():
        try:
            found.encode()
        except UnicodeEncodeError as error:
            raise PlanError(
                f"{what} cannot be stored: {found!r} has half a character (a lone surrogate) at"
                f" index {error.start}",
                hint="decode the text it comes from with the right encoding, without"
                " surrogateescape",
            ) from None
    return found


def require_at_least(number: Any, least: int, what: str) -> int:
    """The number itself.

    Raises:
        PlanError: it is not an int, or it is below ``least``.
    """
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise PlanError(f"{what} must be an int of {least} or more, not {number!r}")
    return number


def require_instance(kind: type[T], value: Any) -> T:
    """The value itself.

    Raises:
        PlanError: it is not of the class ``kind``.
    """
    if not isinstance(value, kind):
        raise PlanError(f"expected {with_article(kind.__name__)}, not {value!r}")
    return value


def with_article(name: str) -> str:
    """The name after ``a`` or ``an``."""
    return f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"

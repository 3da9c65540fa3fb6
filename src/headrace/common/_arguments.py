"""Checks of arguments: each returns the argument, or raises ``PlanError``.

``what`` names the argument in the error, as in ``"the batch size"``.
"""

from __future__ import annotations

from typing import Any, TypeVar

from headrace.errors import PlanError

T = TypeVar("T")


def require_positive(number: Any, what: str) -> int:
    """Check that ``number`` is an int of 1 or more, and return it; ``what`` names it in the error.

    Raises:
        PlanError: ``number`` is smaller, or not an int.
    """
    return require_at_least(number, 1, what)


def require_non_empty(text: Any, what: str) -> str:
    """Check that ``text`` is a non-empty str, and return it; ``what`` names it in the error.

    Raises:
        PlanError: ``text`` is empty, or not a str.
    """
    if not isinstance(text, str) or not text:
        raise PlanError(f"{what} must be a non-empty str, not {text!r}")
    return text


def require_identifier(text: Any, what: str) -> str:
    """Check a name or id that checkpoints store as UTF-8, and return it.

    ``what`` names it in the error.

    Raises:
        PlanError: ``text`` is empty, not a str, or UTF-8 cannot encode it.
    """
    found = require_non_empty(text, what)
    if not found.isascii():
        try:
            found.encode()
        except UnicodeEncodeError as error:
            raise PlanError(
                f"{what} is {found!r}, which UTF-8 cannot encode: a lone surrogate is at"
                f" index {error.start}",
                hint="decode the text it comes from with the right encoding, without"
                " surrogateescape",
            ) from None
    return found


def require_at_least(number: Any, least: int, what: str) -> int:
    """Check that ``number`` is an int of ``least`` or more, and return it.

    ``what`` names it in the error.

    Raises:
        PlanError: ``number`` is smaller, or not an int.
    """
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise PlanError(f"{what} must be an int of {least} or more, not {number!r}")
    return number


def require_instance(kind: type[T], value: Any) -> T:
    """Check that ``value`` is an instance of ``kind``, and return it.

    Raises:
        PlanError: ``value`` has another type.
    """
    if not isinstance(value, kind):
        raise PlanError(f"expected {with_article(kind.__name__)}, not {value!r}")
    return value


def with_article(name: str) -> str:
    """Return ``a Sink`` for ``Sink``, ``an Encoder`` for ``Encoder``."""
    return f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"

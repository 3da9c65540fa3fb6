"""Ready-made predicates for retries of asynchronous calls."""

from __future__ import annotations

from typing import Any

__all__ = [
    "empty_result_predicate",
    "exception_type_predicate",
    "has_exception_predicate",
]


def empty_result_predicate(result: list[Any] | None) -> bool:
    """Return True if the result is None or empty."""
    return result is None or len(result) == 0


def has_exception_predicate(error: BaseException | None) -> bool:
    """Return True if there is an exception."""
    return error is not None


def exception_type_predicate(
    error: BaseException | None, expected_error_type: type[BaseException]
) -> bool:
    """Return True if the exception is of that type.

    Use ``functools.partial`` to make a predicate with one argument.
    """
    return isinstance(error, expected_error_type)

"""The results of lookups, from a record and the values that were found for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.errors import WrongFunctionError

Key = Callable[[Any], Any]
Join = Callable[[Any, list[Any]], Iterable[Any]]


def function_or_none(function: object, name: str, owner: str) -> None:
    """Check an argument that is a function or None.

    Raises:
        WrongFunctionError: the argument is another object.
    """
    if function is not None and not callable(function):
        raise WrongFunctionError(f"{name} of {owner} must be a function, not {function!r}")


def joined(join: Join | None, value: Any, found: list[Any]) -> list[Any]:
    """Return the results for a record: the result of ``join``, or the found values."""
    return found if join is None else list(join(value, found))

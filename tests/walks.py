"""Many cases of a corpus in one test: a test for each would be mostly overhead."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def failures(check: Callable[[T], None], cases: Iterable[T]) -> dict[str, str]:
    """Run a check of each case; return the errors of those that fail, by the case's text.

    A test asserts that there are none, and that the corpus has as many cases as it must.
    """
    found = {}
    for case in cases:
        try:
            check(case)
        except Exception as error:
            found[f"{case}"] = f"{type(error).__name__}: {error}"
    return found

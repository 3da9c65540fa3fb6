"""How long a task works."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from headrace.metrics._measures import Tally

T = TypeVar("T")


def busy(work: Iterator[T], clock_ns: Callable[[], int], spent: Tally) -> Iterator[T]:
    """What ``work`` gives; the time (ns) in which it works is added to ``spent``.

    The time in which others take what it gives does not count.
    """
    while True:
        began = clock_ns()
        try:
            each = next(work)
        except StopIteration:
            return
        finally:
            spent.count += clock_ns() - began
        yield each

"""How long a task works."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from headrace.metrics._measures import Tally

T = TypeVar("T")


def count_busy_time(
    envelopes: Iterator[T], clock_ns: Callable[[], int], busy_ns: Tally
) -> Iterator[T]:
    """Yield the envelopes, and add the time (ns) to produce them to ``busy_ns``.

    The time that the consumer takes does not count.
    """
    while True:
        began = clock_ns()
        try:
            each = next(envelopes)
        except StopIteration:
            return
        finally:
            busy_ns.count += clock_ns() - began
        yield each

from __future__ import annotations

import pytest

from headrace.metrics._measures import Tally
from headrace.runtime.tasks.busy import count_busy_time


class Clock:
    now = 0

    def __call__(self) -> int:
        return self.now


def test_only_the_time_of_the_work_counts() -> None:
    clock, spent = Clock(), Tally()

    def work():
        clock.now += 3
        yield "a"
        clock.now += 4
        yield "b"
        clock.now += 5

    taken = []
    for each in count_busy_time(work(), clock, spent):
        taken.append((each, spent.count))
        clock.now += 1_000  # another task's work
    assert taken == [("a", 3), ("b", 7)]
    assert spent.count == 12


def test_the_time_up_to_a_failure_counts() -> None:
    clock, spent = Clock(), Tally()

    def work():
        clock.now += 3
        raise ValueError("no")
        yield

    with pytest.raises(ValueError, match="no"):
        next(count_busy_time(work(), clock, spent))
    assert spent.count == 3

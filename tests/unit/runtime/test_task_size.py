"""How many records a source task is worth, by what earlier ones have cost."""

from __future__ import annotations

import pytest

from headrace.runtime.task_size import TaskSizer


def sizer_after(*batches: tuple[int, float]) -> TaskSizer:
    """A sizer that has seen micro-batches of so many records and so many ms."""
    sizer = TaskSizer()
    for epoch, (count, working_ms) in enumerate(batches, 1):
        sizer.set_record_count(epoch, count)
        sizer.set_working_time(epoch, working_ms)
    return sizer


def test_a_run_begins_with_as_many_tasks_as_it_may_have() -> None:
    assert TaskSizer().task_records == 1


@pytest.mark.parametrize(
    ("count", "working_ms", "task_records"),
    [
        (100, 0.0, 256),
        (100, 1.0, 256),  # 10 us a record
        (100, 20.0, 100),
        (100, 100.0, 20),
        (100, 1_000.0, 2),
        (100, 10_000.0, 1),  # 100 ms a record: a task for each
        (1, 5_000.0, 1),
    ],
)
def test_a_task_is_worth_twenty_milliseconds_of_work(
    count: int, working_ms: float, task_records: int
) -> None:
    assert sizer_after((count, working_ms)).task_records == task_records


def test_the_slowest_of_the_last_micro_batches_counts() -> None:
    slow, fast = (10, 1_000.0), (1_000, 1.0)
    assert sizer_after(slow, *[fast] * 7).task_records == 1
    assert sizer_after(slow, *[fast] * 8).task_records == 256


def test_micro_batches_without_records_say_nothing() -> None:
    assert sizer_after((100, 100.0), *[(0, 50.0)] * 20).task_records == 20


def test_the_time_of_a_micro_batch_counts_once_and_only_for_itself() -> None:
    sizer = sizer_after(*[(100, 100.0)] * 8)
    sizer.set_record_count(9, 100)
    sizer.set_working_time(8, 1.0)
    for _ in range(20):  # asked again and again while nothing is new
        sizer.set_working_time(9, 100.0)
    assert sizer.task_records == 20

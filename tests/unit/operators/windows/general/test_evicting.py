"""Evictors: what a window function still gets, and what the window still holds."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common.time import Time
from headrace.datastream.window import (
    CountEvictor,
    CountTrigger,
    DeltaEvictor,
    EventTimeSessionWindows,
    Evictor,
    GlobalWindows,
    TimeEvictor,
    TimestampedValue,
    TumblingEventTimeWindows,
)
from tests.unit.operators.windowing import Numbers, Total, plus, windowed

BACKENDS = pytest.mark.parametrize("backend", ["heap", "paged"])


def every_two(evictor: Any, **how: Any) -> Any:
    return windowed(
        lambda keyed: (
            keyed.window(GlobalWindows.create())
            .trigger(CountTrigger.of(2))
            .evictor(evictor)
            .process(Numbers())
        ),
        **how,
    )


def found(task: Any, records: list[tuple[int, int | None]]) -> list[list[int]]:
    for number, moment in records:
        task.process(("a", number), moment)
    return [numbers for _, _, numbers in task.output()]


@BACKENDS
def test_the_last_so_many(backend: Any) -> None:
    numbers: list[tuple[int, int | None]] = [(number, None) for number in range(6)]
    with every_two(CountEvictor.of(3), backend=backend) as task:
        assert found(task, numbers) == [[0, 1], [1, 2, 3], [3, 4, 5]]
    with every_two(CountEvictor.of(1, True), backend=backend) as task:
        assert found(task, numbers) == [[0, 1], [1, 2, 3], [3, 4, 5]]
    with every_two(CountEvictor.of(0), backend=backend) as task:
        assert found(task, numbers) == [[], [], []]  # the function is called, as in Flink


@BACKENDS
def test_the_youngest(backend: Any) -> None:
    with every_two(TimeEvictor.of(Time.milliseconds(10)), backend=backend) as task:
        assert found(task, [(0, 100), (1, 90), (2, 109), (3, 91)]) == [[0], [0, 2]]
    with every_two(TimeEvictor.of(10), backend=backend) as task:
        assert found(task, [(0, None), (1, None)]) == [[0, 1]]


@BACKENDS
def test_those_near_the_last(backend: Any) -> None:
    near = DeltaEvictor.of(3, lambda old, new: abs(new[1] - old[1]))
    with every_two(near, backend=backend) as task:
        assert found(task, [(0, None), (2, None), (9, None), (3, None)]) == [[0, 2], [2, 3]]
    after = DeltaEvictor.of(3, lambda old, new: abs(new[1] - old[1]), True)
    with every_two(after, backend=backend) as task:
        assert found(task, [(0, None), (9, None), (9, None), (1, None)]) == [[0, 9], [9, 9, 1]]


class Odd(Evictor[Any, Any]):
    """Takes out odd numbers before, and those that were seen after."""

    def evict_before(
        self, elements: list[TimestampedValue], size: int, window: Any, evictor_context: Any
    ) -> None:
        assert size == len(elements)
        assert (
            evictor_context.get_current_watermark() < evictor_context.get_current_processing_time()
        )
        evictor_context.get_metric_group().counter("evictions").inc()
        for element in [one for one in elements if one.get_value()[1] % 2]:
            elements.remove(element)

    def evict_after(
        self, elements: list[TimestampedValue], size: int, window: Any, evictor_context: Any
    ) -> None:
        elements.clear()


def test_one_of_a_users_own() -> None:
    with every_two(Odd()) as task:
        numbers: list[tuple[int, int | None]] = [(number, 5) for number in (2, 3, 4, 6)]
        assert found(task, numbers) == [[2], [4, 6]]
        assert [v for k, v in task.metrics.snapshot().items() if "evictions" in k] == [2]


@BACKENDS
def test_functions_that_fold_see_what_is_left(backend: Any) -> None:
    def build(keyed: Any) -> Any:
        windows = keyed.window(GlobalWindows.create()).trigger(CountTrigger.of(2))
        return windows.evictor(CountEvictor.of(3))

    for fold, expected in [
        (lambda keyed: build(keyed).reduce(plus), [("a", 1), ("a", 6), ("a", 12)]),
        (lambda keyed: build(keyed).aggregate(Total()), [1, 6, 12]),
        (lambda keyed: build(keyed).sum(1), [("a", 1), ("a", 6), ("a", 12)]),
    ]:
        with windowed(fold, backend=backend) as task:
            for number in range(6):
                task.process(("a", number))
            assert task.output() == expected


def test_a_fold_of_nothing() -> None:
    def build(keyed: Any) -> Any:
        windows = keyed.window(GlobalWindows.create()).trigger(CountTrigger.of(1))
        return windows.evictor(CountEvictor.of(0))

    with windowed(lambda keyed: build(keyed).reduce(plus)) as task:
        task.process(("a", 1))
        assert task.output() == []
    with windowed(lambda keyed: build(keyed).aggregate(Total())) as task:
        task.process(("a", 1))
        assert task.output() == [0]


@BACKENDS
def test_sessions_and_what_ends_is_forgotten(backend: Any) -> None:
    def build(keyed: Any) -> Any:
        windows = keyed.window(EventTimeSessionWindows.with_gap(10)).evictor(CountEvictor.of(2))
        return windows.reduce(plus)

    with windowed(build, backend=backend) as task:
        for number, moment in [(1, 0), (2, 15), (4, 7)]:
            task.process(("a", number), moment)
        task.end_input()
        assert task.output_with_timestamps() == [(("a", 6), 24)]
        assert [*task._backend().in_namespaces.keys()] == []


def test_late_firings_see_what_was_left() -> None:
    tumbling = TumblingEventTimeWindows.of(10)

    def build(keyed: Any) -> Any:
        windows = keyed.window(tumbling).allowed_lateness(100).evictor(CountEvictor.of(2))
        return windows.process(Numbers())

    with windowed(build) as task:
        for number in range(3):
            task.process(("a", number), number)
        task.advance_watermark(9)
        task.process(("a", 7), 5)
        assert [numbers for _, _, numbers in task.output()] == [[1, 2], [2, 7]]

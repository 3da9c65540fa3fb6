"""Windows in tables come to what windows by key and timer come to, whatever comes when."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from headrace.common._output_tag import OutputTag
from headrace.common.time import Time
from headrace.common.typeinfo import Types
from headrace.datastream import DataStream, ProcessWindowFunction, WindowedStream, WindowFunction
from headrace.datastream.functions import associative
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import (
    EventTimeSessionWindows,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from headrace.errors import CheckpointError
from headrace.operators.windows import spec as windows_spec
from headrace.operators.windows.aligned.grid import Grid
from headrace.operators.windows.aligned.operator import AlignedWindowOperator
from headrace.operators.windows.sessions import SessionOperator
from headrace.runtime.state.heap import HeapTables
from headrace.testing import KeyedHarness
from tests.unit.operators.windowing import Numbers, Total, plus, windowed

LATE = OutputTag("late")
Apply = Callable[[WindowedStream], DataStream]


class Remembering(ProcessWindowFunction[Any, Any, str, Any]):
    """Counts the firings of a window, and those of a key; forgets the former."""

    SEEN = ValueStateDescriptor("seen", Types.INT())

    def process(self, key: str, context: Any, elements: Any) -> Any:
        of_window, of_key = (
            store.get_state(self.SEEN) for store in (context.window_state(), context.global_state())
        )
        of_window.update((of_window.value() or 0) + 1)
        of_key.update((of_key.value() or 0) + 1)
        numbers = sorted(number for _, number in elements)
        yield key, context.window(), numbers, of_window.value(), context.current_watermark()
        yield LATE, (key, "fired", of_key.value() > 0)

    def clear(self, context: Any) -> None:
        context.window_state().get_state(self.SEEN).clear()


class Forgetful(Remembering):
    """Leaves its state of windows to the operator."""

    clear = ProcessWindowFunction.clear


class Lists(Total):
    """All numbers, in a list that is changed in place."""

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: Any, accumulator: list[int]) -> list[int]:
        accumulator.append(value[1])
        return accumulator

    def get_result(self, accumulator: list[int]) -> Any:
        return sorted(accumulator)

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        acc_a.extend(acc_b)
        return acc_a


class NeverMerged(Lists):
    """As functions are written that are used with no sessions."""

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        raise NotImplementedError


class Applied(WindowFunction[Any, Any, str, Any]):
    def apply(self, key: str, window: Any, inputs: Any) -> Any:
        return [(key, window.start, sorted(map(repr, inputs)))]


APPLIED: dict[str, Apply] = {
    "reduce": lambda windows: windows.reduce(plus),
    "reduce, associative": lambda windows: windows.reduce(associative(plus)),
    "reduce, lists": lambda windows: windows.reduce(
        lambda one, other: (one[0], one[1] + other[1]), Numbers()
    ),
    "sum": lambda windows: windows.sum(1),
    "aggregate": lambda windows: windows.aggregate(Total()),
    "aggregate, lists": lambda windows: windows.aggregate(Lists(), Applied()),
    "aggregate, never merged": lambda windows: windows.aggregate(NeverMerged()),
    "process": lambda windows: windows.process(Remembering()),
    "process, forgetful": lambda windows: windows.process(Forgetful()),
    "apply": lambda windows: windows.apply(Applied()),
}
FOLDED = [name for name in APPLIED if name not in ("process", "process, forgetful", "apply")]
ms = Time.milliseconds
ASSIGNERS = {
    "tumbling": TumblingEventTimeWindows.of(ms(10), ms(3)),
    "sliding": SlidingEventTimeWindows.of(ms(12), ms(4)),
    "sliding, uneven": SlidingEventTimeWindows.of(ms(10), ms(4), ms(-1)),
    "with gaps": SlidingEventTimeWindows.of(ms(4), ms(10)),
}


class ByKey(SessionWindowTimeGapExtractor):
    """The gap of each key."""

    def extract(self, element: Any) -> int:
        return 4 + ord(element[0]) % 7


SESSIONS = {
    "sessions": EventTimeSessionWindows.with_gap(ms(5)),
    "sessions by record": EventTimeSessionWindows.with_dynamic_gap(ByKey()),
}


def history(seed: int) -> list[tuple[str, int] | int]:
    """Records (key, timestamp) and watermarks, some records late, some before 1970."""
    rng = random.Random(seed)
    steps: list[tuple[str, int] | int] = []
    watermark = -60
    for _ in range(32):
        if rng.random() < 0.25:
            watermark += rng.choice([0, 1, 3, 7, 20])
            steps.append(watermark)
        else:
            steps.append((rng.choice("abc"), watermark + rng.randint(-25, 25)))
    return steps


def outcome(task: KeyedHarness, steps: list[tuple[str, int] | int], restarts: bool) -> Any:
    """What comes out after each watermark, and what is left of state at the end."""
    found = []
    for number, step in enumerate(steps):
        if isinstance(step, int):
            task.advance_watermark(step)
            found.append(Counter(map(repr, task.output_with_timestamps())))
        else:
            task.process((step[0], number), step[1])
        if restarts and number % 7 == 0:
            task.restore(task.snapshot())
    task.end_input()
    found.append(Counter(map(repr, task.output_with_timestamps())))
    late = Counter(map(repr, task.side_output(LATE)))
    counted = {k: v for k, v in task.metrics.snapshot().items() if "Late" in k}
    backend = task._backend()
    assert backend.tables.namespaces() == []
    assert [*backend.in_namespaces.keys()] == []
    return found, late, counted


def inner(task: KeyedHarness) -> Any:
    """The operator itself, which the harness wraps."""
    return task._task._keyed._inner  # type: ignore[union-attr]


@pytest.mark.parametrize("apply", APPLIED)
@pytest.mark.parametrize("assigner", ASSIGNERS)
def test_as_windows_with_timers(assigner: str, apply: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed, (lateness, to_side) in enumerate([(0, False), (9, True)]):

        def build(keyed: Any, lateness: int = lateness, to_side: bool = to_side) -> DataStream:
            windows = keyed.window(ASSIGNERS[assigner]).allowed_lateness(lateness)
            windows = windows.side_output_late_data(LATE) if to_side else windows
            return APPLIED[apply](windows)

        steps = history(seed * 100 + len(apply))
        with monkeypatch.context() as patch:
            patch.setattr(windows_spec, "grid_of", lambda windowing: None)
            with windowed(build) as task:
                assert not isinstance(inner(task), AlignedWindowOperator)
                expected = outcome(task, steps, restarts=False)
        for backend in ("heap", "paged"):
            with windowed(build, backend=backend) as task:
                assert isinstance(inner(task), AlignedWindowOperator)
                assert outcome(task, steps, backend == "paged") == expected, f"seed {seed}"


@pytest.mark.parametrize("apply", [name for name in FOLDED if "never merged" not in name])
@pytest.mark.parametrize("assigner", SESSIONS)
def test_sessions_as_windows_with_timers(
    assigner: str, apply: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed, to_side in enumerate([False, True, False]):

        def build(keyed: Any, to_side: bool = to_side) -> DataStream:
            windows = keyed.window(SESSIONS[assigner])
            windows = windows.side_output_late_data(LATE) if to_side else windows
            return APPLIED[apply](windows)

        steps = history(seed * 100 + len(apply))
        with monkeypatch.context() as patch:
            patch.setattr(windows_spec, "gap_of", lambda windowing: None)
            with windowed(build) as task:
                assert not isinstance(inner(task), SessionOperator)
                expected = outcome(task, steps, restarts=False)
        for backend in ("heap", "paged"):
            with windowed(build, backend=backend) as task:
                assert isinstance(inner(task), SessionOperator)
                assert outcome(task, steps, backend == "paged") == expected, f"seed {seed}"
                assert task.timers() == []
                assert [*task._backend().keys()] == []


@pytest.mark.parametrize("grid", [(10, 10, 0), (12, 4, 3), (10, 4, -1), (4, 10, 2), (7, 3, 1)])
def test_panes_and_windows_of_a_grid(grid: tuple[int, int, int]) -> None:
    size, slide, offset = grid
    made = Grid(*grid)
    for moment in range(-40, 40):
        expected = [
            start
            for start in range(-100, 100)
            if (start - offset) % slide == 0 and start <= moment < start + size
        ]
        pane = made.pane_of(moment)
        assert pane <= moment < pane + made.pane_ms
        assert [*made.windows_of(pane)] == expected
        for start in expected:
            assert pane in made.panes_of(start)


def test_records_kept_by_pane_are_not_read_as_windows() -> None:
    windows = SlidingEventTimeWindows.of(ms(12), ms(4))
    with windowed(lambda keyed: keyed.window(windows).aggregate(Lists())) as task:
        task.process(("a", 1), 3)
        held = task.snapshot()
    with (
        windowed(lambda keyed: keyed.window(windows).aggregate(NeverMerged())) as other,
        pytest.raises(CheckpointError, match="by window, but the checkpoint has them by pane"),
    ):
        other.restore(held)
        other.process(("a", 1), 3)


class CountedTables(HeapTables):
    """Counts how often all of the namespaces were looked through."""

    listed = 0

    def namespaces(self) -> list[Any]:
        type(self).listed += 1
        return super().namespaces()


@pytest.mark.parametrize("slide_s", [10, 5])
@pytest.mark.parametrize("function", [Total(), NeverMerged()])
def test_many_windows_that_fire_do_not_look_at_each_other(
    monkeypatch: pytest.MonkeyPatch, slide_s: int, function: Any
) -> None:
    """A batch may hold the windows of a year, which end all at once."""
    monkeypatch.setattr("headrace.runtime.state.heap.HeapTables", CountedTables)
    assigner = SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(slide_s))
    harness = windowed(lambda keyed: keyed.window(assigner).aggregate(function))
    for number in range(200):
        harness.process(("a", number), number * 10_000)
    monkeypatch.setattr(CountedTables, "listed", 0)
    harness.advance_watermark(10_000_000)
    assert len(harness.output()) == 200 * 10 // slide_s
    assert CountedTables.listed < 10

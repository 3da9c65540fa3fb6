"""A window function may change what it is given; the window, and others, keep what they had."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.common.time import Time
from headrace.common.typeinfo import Types
from headrace.datastream import DataStream, ProcessWindowFunction, WindowedStream
from headrace.datastream.data_stream import KeyedStream
from headrace.datastream.functions import associative
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
)
from headrace.testing import KeyedHarness
from tests.unit.operators.windowing import Total, windowed

TEN = TumblingEventTimeWindows.of(Time.milliseconds(10))
SLIDING = SlidingEventTimeWindows.of(Time.milliseconds(30), Time.milliseconds(10))
SESSIONS = EventTimeSessionWindows.with_gap(Time.milliseconds(10))
LATENESS_MS = 100

Build = Callable[[KeyedStream], WindowedStream]


class Spoiling(ProcessWindowFunction[Any, Any, str, Any]):
    """Gives the numbers, and leaves others in the records."""

    def process(self, key: str, context: Any, elements: Any) -> Any:
        yield sum(record[1] for record in elements)
        for record in elements:
            record[1] = 1000


def in_place(one: Any, other: Any) -> Any:
    """Adds to the first record, as a reduction may."""
    one[1] += other[1]
    return one


class Kept(Total):
    """Its result is its accumulator."""

    def create_accumulator(self) -> Any:
        return ["a", 0]

    def add(self, value: Any, accumulator: Any) -> Any:
        return in_place(accumulator, value)

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return in_place(acc_a, acc_b)


def applied(build: Build, contents: str) -> Callable[[KeyedStream], DataStream]:
    """The windows of ``build`` with a function that changes what it is given."""

    def made(keyed: KeyedStream) -> DataStream:
        windows = build(keyed)
        if contents == "elements":
            return windows.process(Spoiling())
        if contents == "aggregate":
            return windows.aggregate(Kept(), Spoiling())
        return windows.reduce(associative(in_place), Spoiling())

    return made


def taken(harness: KeyedHarness) -> list[Any]:
    """The output since it was taken last."""
    found = harness.output()
    harness.clear_output()
    return found


CONTENTS = ["elements", "reduce", "aggregate"]


@pytest.mark.parametrize("contents", CONTENTS)
@pytest.mark.parametrize("assigner", [TEN, SLIDING, SESSIONS])
def test_a_late_record_meets_what_was_there(assigner: Any, contents: str) -> None:
    def build(keyed: KeyedStream) -> WindowedStream:
        return keyed.window(assigner).allowed_lateness(LATENESS_MS)

    with windowed(applied(build, contents)) as harness:
        harness.process(["a", 1], 5)
        harness.advance_watermark(60)
        assert {*taken(harness)} == {1}
        harness.process(["a", 10], 6)
        assert {*taken(harness)} == {11}


@pytest.mark.parametrize("contents", CONTENTS)
def test_overlapping_windows_share_nothing(contents: str) -> None:
    with windowed(applied(lambda keyed: keyed.window(SLIDING), contents)) as harness:
        harness.process(["a", 1], 5)
        harness.advance_watermark(60)
        assert taken(harness) == [1, 1, 1]


def early(keyed: KeyedStream) -> WindowedStream:
    return keyed.window(TEN).trigger(ContinuousEventTimeTrigger.of(Time.milliseconds(2)))


def counted(keyed: KeyedStream) -> WindowedStream:
    return keyed.window(GlobalWindows.create()).trigger(CountTrigger.of(1))


def evicted(keyed: KeyedStream) -> WindowedStream:
    return counted(keyed).evictor(CountEvictor.of(5))


@pytest.mark.parametrize("contents", CONTENTS)
@pytest.mark.parametrize("build", [early, counted, evicted])
def test_a_window_that_fires_again(build: Build, contents: str) -> None:
    with windowed(applied(build, contents)) as harness:
        found: list[int] = []
        for number, timestamp in ((1, 1), (10, 3), (100, 5)):
            harness.process(["a", number], timestamp)
            harness.advance_watermark(timestamp + 1)
            found += taken(harness)
        assert [*dict.fromkeys(found)] == [1, 11, 111]


class Odd(Total):
    """Has no result for even totals."""

    def get_result(self, accumulator: list[int]) -> Any:
        return accumulator[0] if accumulator[0] % 2 else None


@pytest.mark.parametrize("assigner", [TEN, SLIDING, SESSIONS])
def test_no_result_is_emitted_where_there_is_none(assigner: Any) -> None:
    with windowed(lambda keyed: keyed.window(assigner).aggregate(Odd())) as harness:
        harness.process(("a", 2), 5)
        harness.process(("b", 3), 5)
        harness.advance_watermark(60)
        assert {*taken(harness)} == {3}


class Leaving(Trigger):
    """Keeps a state of each window, and leaves it."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        ctx.get_partitioned_state(ValueStateDescriptor("seen", Types.INT())).update(1)
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: Any, ctx: Any) -> None:
        raise AssertionError("these windows do not merge")

    def clear(self, window: Any, ctx: Any) -> None:
        pass


def test_state_of_a_window_goes_with_it_though_it_was_made_in_another_run() -> None:
    def build(keyed: KeyedStream) -> DataStream:
        return keyed.window(TEN).trigger(Leaving()).reduce(in_place)

    with windowed(build, backend="paged") as first:
        first.process(["a", 1], 5)
        held = first.snapshot()
    with windowed(build, backend="paged") as second:
        second.restore(held)
        assert [*second._backend().in_namespaces.scan()]
        second.advance_watermark(60)
        assert not [*second._backend().in_namespaces.scan()]


class Failing(Kept):
    """Cannot say what it has."""

    def get_result(self, accumulator: Any) -> Any:
        raise KeyError(accumulator[1])


class FailingCall(Spoiling):
    """Cannot take what it gets."""

    def process(self, key: str, context: Any, elements: Any) -> Any:
        raise KeyError(key)


@pytest.mark.parametrize("build", [lambda k: k.window(TEN), lambda k: k.window(SESSIONS)])
@pytest.mark.parametrize("contents", ["result", "call", "elements"])
def test_what_fails_when_windows_fire_is_reported_with_key_and_window(
    build: Build, contents: str
) -> None:
    def made(keyed: KeyedStream) -> DataStream:
        windows = build(keyed)
        if contents == "result":
            return windows.aggregate(Failing())
        return (
            windows.process(FailingCall())
            if contents == "elements"
            else windows.aggregate(Kept(), FailingCall())
        )

    with windowed(made) as task:
        task.process(["b", 2], 0)
        with pytest.raises(KeyError) as caught:
            task.advance_watermark(50)
        (note,) = caught.value.__notes__
        assert note.splitlines()[1:3] == ["key:      'b'", "window:   TimeWindow(start=0, end=10)"]

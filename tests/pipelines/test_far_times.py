"""Times that do not fit 64 bits are refused where they enter, with value and place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headrace.common import Duration, WatermarkStrategy
from headrace.common.watermark_strategy import (
    MAX_WATERMARK,
    MIN_WATERMARK,
    TimestampAssigner,
    WatermarkGenerator,
)
from headrace.connector import Chunk, SplitReader
from headrace.datastream import (
    DataStream,
    KeyedProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors._collection import CollectionSource
from headrace.datastream.connectors._indexed import IndexedReader
from headrace.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from headrace.errors import TypeMismatchError
from headrace.testing import run_pipeline

BY_VALUE = WatermarkStrategy.for_monotonous_timestamps()


class Assigner(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


class Generator(WatermarkGenerator):
    """Emits the value itself."""

    def on_event(self, event: int, event_timestamp: int, output: Any) -> None:
        output.emit_watermark(event)

    def on_periodic_emit(self, output: Any) -> None:
        pass


STRATEGIES = {
    "function": BY_VALUE.with_timestamp_assigner(lambda value: value),
    "assigner": BY_VALUE.with_timestamp_assigner(Assigner()),
    "idle": BY_VALUE.with_timestamp_assigner(Assigner()).with_idleness(Duration.of_seconds(1)),
    "none": WatermarkStrategy.no_watermarks().with_timestamp_assigner(lambda value: value),
}


def timed(values: list[int], strategy: WatermarkStrategy = STRATEGIES["function"]) -> DataStream:
    env = StreamExecutionEnvironment()
    return env.from_collection(values).assign_timestamps_and_watermarks(strategy)


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("far", [MAX_WATERMARK + 1, MIN_WATERMARK - 1, 1 << 70, -1 << 70])
def test_a_timestamp(far: int, name: str) -> None:
    for values in ([1, far, 3], [far]):
        with pytest.raises(TypeMismatchError, match=f"assigner returned {far}") as caught:
            run_pipeline(timed(values, STRATEGIES[name]), cuts=[1])
        (note,) = caught.value.__notes__
        assert "Timestamps/Watermarks" in note and "test_far_times.py" in note


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_first_and_the_last_moment_are_times(name: str) -> None:
    values = [MIN_WATERMARK, MAX_WATERMARK]
    assert run_pipeline(timed(values, STRATEGIES[name])).only == values


class TimedReader(IndexedReader):
    def read(self, split_range: Any) -> Iterator[Chunk]:
        for chunk in super().read(split_range):
            yield Chunk(chunk.values, [*chunk.values])


class TimedSource(CollectionSource):
    """Gives each value as its own timestamp."""

    def reader(self) -> SplitReader:
        return TimedReader(lambda r, at, to: [*r.payload[at - r.start : to - r.start]])


@pytest.mark.parametrize("values", [[1, 1 << 63], [None, -1 << 64]])
def test_a_timestamp_of_a_source(values: list[Any]) -> None:
    env = StreamExecutionEnvironment()
    nowhere = WatermarkStrategy.no_watermarks()
    stream = env.from_source(TimedSource((*values,)), nowhere, "my records")
    with pytest.raises(TypeMismatchError, match=f"(?s)my records.*{values[1]}"):
        run_pipeline(stream)
    near = env.from_source(TimedSource((None, 1, MAX_WATERMARK)), nowhere, "near")
    assert run_pipeline(near).only == [None, 1, MAX_WATERMARK]


def test_a_watermark() -> None:
    strategy = WatermarkStrategy.for_generator(Generator).with_timestamp_assigner(lambda value: 5)
    with pytest.raises(TypeMismatchError, match=f"watermark .*{1 << 63}"):
        run_pipeline(timed([1, 1 << 63], strategy))


class Timers(KeyedProcessFunction):
    """Registers a timer for each value, and deletes one that cannot exist."""

    def __init__(self, event_time: bool) -> None:
        self.event_time = event_time

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        timers = ctx.timer_service()
        timers.delete_event_time_timer(1 << 70)
        if self.event_time:
            timers.register_event_time_timer(value)
        else:
            timers.register_processing_time_timer(value)
        yield from ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[int]:
        yield timestamp


@pytest.mark.parametrize("event_time", [True, False])
@pytest.mark.parametrize("far", [MAX_WATERMARK + 1, MIN_WATERMARK - 1])
def test_a_timer(far: int, event_time: bool) -> None:
    times = STRATEGIES["function"].with_timestamp_assigner(lambda value: 5)
    stream = timed([1, far], times).key_by(lambda value: 0).process(Timers(event_time))
    with pytest.raises(TypeMismatchError, match=f"timer .*{far}") as caught:
        run_pipeline(stream)
    assert "test_far_times.py" in caught.value.__notes__[0]


def test_a_timer_of_the_last_moment_fires() -> None:
    times = STRATEGIES["function"].with_timestamp_assigner(lambda value: 5)
    stream = timed([MAX_WATERMARK, 7], times).key_by(lambda value: 0).process(Timers(True))
    assert run_pipeline(stream, cuts=[1]).only == [7, MAX_WATERMARK]


WINDOWS: dict[str, tuple[Any, int]] = {
    "tumbling": (lambda keyed: keyed.window(TumblingEventTimeWindows.of(10)), 8),
    "sliding": (lambda keyed: keyed.window(SlidingEventTimeWindows.of(20, 10)), 18),
    "session": (lambda keyed: keyed.window(EventTimeSessionWindows.with_gap(5)), 4),
    "dynamic": (
        lambda keyed: keyed.window(EventTimeSessionWindows.with_dynamic_gap(Five())),
        4,
    ),
    "triggered": (
        lambda keyed: keyed.window(TumblingEventTimeWindows.of(10)).trigger(
            PurgingTrigger.of(EventTimeTrigger())
        ),
        8,
    ),
    "late": (
        lambda keyed: keyed.window(TumblingEventTimeWindows.of(10)).allowed_lateness(50),
        8,
    ),
}
"""Windows, and how far from 2**63 - 1 the last record is whose windows end by then."""

CALLS: dict[str, Any] = {
    "reduce": lambda windows: windows.reduce(lambda one, other: max(one, other)),
    "max": lambda windows: windows.max(),
    "process": lambda windows: windows.process(Latest()),
}


class Five(SessionWindowTimeGapExtractor):
    def extract(self, element: int) -> int:
        return 5


class Latest(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[int]:
        yield max(elements)


@pytest.mark.parametrize("mode", ["streaming", "batch"])
@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("call", CALLS)
def test_a_window(call: str, name: str, mode: Any) -> None:
    windows, distance = WINDOWS[name]
    last = MAX_WATERMARK - distance
    cuts: Any = {} if mode == "batch" else {"cuts": [2]}

    def results(*values: int) -> list[int]:
        keyed = timed([*values]).key_by(lambda value: 0)
        found: list[int] = run_pipeline(CALLS[call](windows(keyed)), mode, **cuts).only
        return found

    assert {*results(3, last - 1, last)} == {3, last}
    with pytest.raises(TypeMismatchError, match="after the last moment") as caught:
        results(3, last, last + 1)
    assert "test_far_times.py" in caught.value.__notes__[0]


def test_a_window_may_end_with_the_last_moment() -> None:
    """2**63 ends with 8."""
    keyed = timed([3, MAX_WATERMARK]).key_by(lambda value: 0)
    windows = keyed.window(TumblingEventTimeWindows.of(10, 8))
    assert run_pipeline(windows.max()).only == [3, MAX_WATERMARK]


def test_a_joined_pair() -> None:
    """Its result has the time by which no nearer record can come."""
    records = timed([1, MAX_WATERMARK]).key_by(lambda value: 0)
    join = records.as_of_join(records, direction="forward", tolerance=Duration.of_millis(5))
    with pytest.raises(TypeMismatchError, match=f"{MAX_WATERMARK + 5}"):
        run_pipeline(join.apply(lambda left, right: (left, right)))

"""Windows as values, and the arithmetic of assigners."""

from __future__ import annotations

import pickle
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common._windows import namespace_of, window_of
from headrace.common.time import Duration, Time
from headrace.datastream.window import (
    CountEvictor,
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    CountWindow,
    CountWindowSerializer,
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    GlobalWindow,
    GlobalWindows,
    GlobalWindowSerializer,
    ProcessingTimeSessionWindows,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeWindow,
    TimeWindowSerializer,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from headrace.errors import MissingWatermarksError, PlanError
from tests.effort import examples

FEW = settings(max_examples=examples(10))
moments = st.integers(-(10**15), 10**15)


class Clock:
    """What assigners ask, at one moment."""

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms

    def get_current_processing_time(self) -> int:
        return self.now_ms

    def get_runtime_context(self) -> Any:
        raise AssertionError("no state is needed")


@FEW
@given(moments, st.integers(1, 10**6), st.integers(-(10**6), 10**6))
def test_a_window_starts_at_or_before_each_of_its_moments(
    moment: int, size: int, offset: int
) -> None:
    start = TimeWindow.get_window_start_with_offset(moment, offset, size)
    assert start <= moment < start + size
    assert (start - offset) % size == 0


@FEW
@given(moments, st.integers(2, 500), st.data())
def test_tumbling_and_sliding_windows_are_those_that_hold_the_moment(
    moment: int, size: int, data: Any
) -> None:
    slide = data.draw(st.integers(1, 2 * size))
    offset = data.draw(st.integers(1 - slide, slide - 1))
    clock: Any = Clock(moment)
    at: Any = [*SlidingEventTimeWindows(size, slide, offset).assign_windows(None, moment, clock)]
    by_clock = SlidingProcessingTimeWindows(size, slide, offset).assign_windows(None, 0, clock)
    assert at == [*by_clock]
    starts = range(moment - size + 1, moment + 1)
    assert sorted(window.start for window in at) == [
        start for start in starts if (start - offset) % slide == 0
    ]
    offset = data.draw(st.integers(1 - size, size - 1))
    (window,) = TumblingEventTimeWindows(size, offset).assign_windows(None, moment, clock)
    (other,) = TumblingProcessingTimeWindows(size, offset).assign_windows(None, 0, clock)
    assert window == other
    assert window.start <= moment <= window.max_timestamp() == window.start + size - 1
    assert (window.start - offset) % size == 0


class Merged:
    def __init__(self) -> None:
        self.found: dict[TimeWindow, set[TimeWindow]] = {}

    def merge(self, to_be_merged: Any, merge_result: TimeWindow) -> None:
        self.found[merge_result] = set(to_be_merged)


@FEW
@given(st.lists(st.tuples(st.integers(-30, 30), st.integers(1, 6)), max_size=12))
def test_windows_that_overlap_or_touch_are_merged(pieces: list[tuple[int, int]]) -> None:
    windows = [TimeWindow(start, start + length) for start, length in pieces]
    groups: list[set[TimeWindow]] = []
    for window in windows:
        near = [group for group in groups if any(window.intersects(one) for one in group)]
        groups = [group for group in groups if group not in near] + [{window}.union(*near)]
    merged = Merged()
    TimeWindow.merge_windows(windows, merged)
    assert merged.found == {
        TimeWindow(min(one.start for one in group), max(one.end for one in group)): group
        for group in groups
        if len(group) > 1
    }


def test_windows_are_values() -> None:
    window = TimeWindow(0, 5000)
    assert str(window) == "TimeWindow(start=0, end=5000)"
    assert (str(CountWindow(3)), str(GlobalWindow.get())) == ("CountWindow(id=3)", "GlobalWindow")
    assert window == TimeWindow(0, 5000) != TimeWindow(0, 4999)
    assert window != CountWindow(0) != GlobalWindow()
    assert len({window, TimeWindow(0, 5000), CountWindow(1), CountWindow(1), GlobalWindow()}) == 3
    assert sorted([TimeWindow(1, 3), TimeWindow(0, 9), TimeWindow(1, 2)]) == [
        TimeWindow(0, 9),
        TimeWindow(1, 2),
        TimeWindow(1, 3),
    ]
    assert TimeWindow(0, 1) <= TimeWindow(0, 1)
    with pytest.raises(TypeError, match="compared"):
        _ = window < 3  # type: ignore[operator]
    assert window.cover(TimeWindow(-5, 2)) == TimeWindow(-5, 5000)
    assert window.intersects(TimeWindow(5000, 5001)) and not window.intersects(TimeWindow(5001, 2))
    assert window.max_timestamp() == 4999
    assert CountWindow(1).max_timestamp() == GlobalWindow().max_timestamp() == 2**63 - 1
    assert pickle.loads(pickle.dumps(window)) == window


@pytest.mark.parametrize(
    ("window", "serializer", "written"),
    [
        (TimeWindow(-1, 256), TimeWindowSerializer(), b"\xff" * 8 + b"\0" * 6 + b"\1\0"),
        (CountWindow(7), CountWindowSerializer(), b"\0" * 7 + b"\7"),
        (GlobalWindow(), GlobalWindowSerializer(), b"\0"),
    ],
)
def test_windows_are_written_and_read(window: Any, serializer: Any, written: bytes) -> None:
    stream = BytesIO()
    serializer.serialize(window, stream)
    assert stream.getvalue() == written
    assert serializer.deserialize(BytesIO(written)) == window
    assert window_of(namespace_of(window)) == window
    assert type(namespace_of(window)) in (tuple, int, str)


def test_a_window_of_another_class_stands_for_itself() -> None:
    class Special(TimeWindow):
        pass

    window = Special(0, 1)
    assert window_of(namespace_of(window)) is window
    assert window != TimeWindow(0, 1)


def test_what_a_trigger_says() -> None:
    assert {result.name: (result.is_fire(), result.is_purge()) for result in TriggerResult} == {
        "CONTINUE": (False, False),
        "FIRE": (True, False),
        "PURGE": (False, True),
        "FIRE_AND_PURGE": (True, True),
    }


def test_how_they_print() -> None:
    shown = {
        TumblingEventTimeWindows.of(Time.seconds(5)): "TumblingEventTimeWindows(5000, 0)",
        TumblingProcessingTimeWindows.of(5, 1): "TumblingProcessingTimeWindows(5, 1)",
        SlidingEventTimeWindows.of(Time.minutes(1), Duration.of_seconds(10)): (
            "SlidingEventTimeWindows(60000, 10000, 0)"
        ),
        SlidingProcessingTimeWindows.of(9, 3, -1): "SlidingProcessingTimeWindows(9, 3, -1)",
        EventTimeSessionWindows.with_gap(Time.hours(1)): "EventTimeSessionWindows(3600000)",
        ProcessingTimeSessionWindows.with_gap(1): "ProcessingTimeSessionWindows(1)",
        EventTimeSessionWindows.with_dynamic_gap(Gap()): "DynamicEventTimeSessionWindows(0)",
        CountTumblingWindowAssigner.of(3): "CountTumblingWindowAssigner(3)",
        CountSlidingWindowAssigner.of(3, 2): "CountSlidingWindowAssigner(3, 2)",
        GlobalWindows.create(): "GlobalWindows()",
        PurgingTrigger.of(CountTrigger.of(2)): "PurgingTrigger(CountTrigger(2))",
        CountEvictor.of(4): "CountEvictor(4)",
    }
    assert {str(thing): text for thing, text in shown.items()} == {
        text: text for text in shown.values()
    }


class Gap(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return int(element)


def test_a_gap_that_each_record_gives() -> None:
    clock: Any = Clock(50)
    sessions = EventTimeSessionWindows.with_dynamic_gap(Gap())
    assert sessions.assign_windows(7, 100, clock) == [TimeWindow(100, 107)]
    by_clock = ProcessingTimeSessionWindows.with_dynamic_gap(Gap())
    assert by_clock.assign_windows(7, 100, clock) == [TimeWindow(50, 57)]
    with pytest.raises(PlanError, match="more than 0 ms, not 0"):
        sessions.assign_windows(0, 100, clock)
    with pytest.raises(TypeError, match="expected a SessionWindowTimeGapExtractor"):
        DynamicEventTimeSessionWindows.with_dynamic_gap(lambda element: 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "make",
    [
        lambda: TumblingEventTimeWindows.of(Time.seconds(5), Time.seconds(5)),
        lambda: TumblingProcessingTimeWindows.of(Time.seconds(5), Time.seconds(-5)),
        lambda: SlidingEventTimeWindows.of(Time.seconds(5), Time.seconds(1), Time.seconds(1)),
        lambda: SlidingProcessingTimeWindows.of(Time.seconds(0), Time.seconds(1)),
        lambda: EventTimeSessionWindows.with_gap(Time.seconds(0)),
        lambda: ProcessingTimeSessionWindows.with_gap(Time.seconds(-1)),
        lambda: CountTumblingWindowAssigner.of(0),
        lambda: CountSlidingWindowAssigner.of(1, 0),
        lambda: TumblingEventTimeWindows.of("5 s"),  # type: ignore[arg-type]
    ],
)
def test_sizes_that_cannot_be(make: Any) -> None:
    with pytest.raises((PlanError, TypeError)):
        make()


@pytest.mark.parametrize(
    "assigner",
    [TumblingEventTimeWindows.of(5), SlidingEventTimeWindows.of(5, 2), EventTimeSessionWindows(3)],
)
def test_a_record_without_a_timestamp_has_no_window(assigner: Any) -> None:
    with pytest.raises(MissingWatermarksError):
        assigner.assign_windows(None, -(2**63), Clock())

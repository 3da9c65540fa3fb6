"""Triggers, in the operator: when windows fire."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common.time import Duration, Time
from headrace.datastream import Trigger, TriggerResult
from headrace.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    DeltaTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from headrace.errors import PlanError, WrongFunctionError
from headrace.operators.windows.general.clocks import Clocks, clocks_of
from tests.unit.operators.windowing import Numbers, windowed

BACKENDS = pytest.mark.parametrize("backend", ["heap", "paged"])
HUNDRED = TumblingEventTimeWindows.of(Time.milliseconds(100))


def numbers(task: Any) -> list[list[int]]:
    return [found for _, _, found in task.output()]


def triggered(assigner: Any, trigger: Any, **how: Any) -> Any:
    return windowed(lambda keyed: keyed.window(assigner).trigger(trigger).process(Numbers()), **how)


@BACKENDS
def test_continuously_by_event_time(backend: Any) -> None:
    every_ten = ContinuousEventTimeTrigger.of(Time.milliseconds(10))
    with triggered(HUNDRED, every_ten, backend=backend) as task:
        for number, moment, watermark in [(1, 3, 9), (2, 12, 10), (3, 50, 19), (4, 51, 30)]:
            task.process(("a", number), moment)
            task.advance_watermark(watermark)
        # at 10, 20 and 30; a timer that is passed is made up for at once
        assert numbers(task) == [[1, 2], [1, 2, 3, 4], [1, 2, 3, 4]]
        task.advance_watermark(98)
        assert len(task.output()) == 3 + 6
        task.advance_watermark(99)
        assert len(task.output()) == 3 + 6 + 1
        assert (task.timers(), [*task._backend().in_namespaces.keys()]) == ([], [])
        assert {moment for _, moment in task.output_with_timestamps()} == {99}


@BACKENDS
def test_continuously_with_sessions_that_merge(backend: Any) -> None:
    sessions = EventTimeSessionWindows.with_gap(Time.milliseconds(30))
    trigger = ContinuousEventTimeTrigger.of(Time.milliseconds(20))
    with triggered(sessions, trigger, backend=backend) as task:
        task.process(("a", 1), 41)
        task.process(("a", 2), 1)
        task.process(("a", 3), 25)
        task.advance_watermark(20)
        assert numbers(task) == [[1, 2, 3]]
        task.advance_watermark(60)
        assert numbers(task)[1:] == [[1, 2, 3]] * 2
        task.end_input()
        assert numbers(task)[3:] == [[1, 2, 3]]
        assert [*task._backend().in_namespaces.keys()] == []


@BACKENDS
def test_continuously_by_processing_time(backend: Any) -> None:
    hundred = TumblingProcessingTimeWindows.of(Time.milliseconds(100))
    trigger = ContinuousProcessingTimeTrigger.of(Time.milliseconds(10))
    with triggered(hundred, trigger, backend=backend) as task:
        for number, now_ms in [(1, 1003), (2, 1009), (3, 1010), (4, 1011)]:
            task.advance_processing_time(now_ms)
            task.process(("a", number))
        task.advance_processing_time(1025)
        assert numbers(task) == [[1, 2], [1, 2, 3, 4]]
        task.advance_processing_time(1099)
        assert numbers(task)[-1] == [1, 2, 3, 4]
        assert (task.timers(), [*task._backend().in_namespaces.keys()]) == ([], [])


def test_by_the_clock_in_windows_of_event_time() -> None:
    with triggered(HUNDRED, ProcessingTimeTrigger.create()) as task:
        task.process(("a", 1), 3)
        task.advance_watermark(50)
        assert numbers(task) == []
        task.advance_processing_time(99)
        assert numbers(task) == [[1]]
        task.advance_watermark(99)
        assert numbers(task) == [[1]]


@BACKENDS
def test_by_distance(backend: Any) -> None:
    trigger = DeltaTrigger.of(5, lambda old, new: new[1] - old[1])
    with triggered(GlobalWindows.create(), trigger, backend=backend) as task:
        for number in [0, 3, 5, 6, 11, 12]:
            task.process(("a", number))
        assert numbers(task) == [[0, 3, 5, 6], [0, 3, 5, 6, 11, 12]]
    purging = PurgingTrigger.of(trigger)
    with triggered(GlobalWindows.create(), purging, backend=backend) as task:
        for number in [0, 3, 5, 6, 11, 12]:
            task.process(("a", number))
        assert numbers(task) == [[0, 3, 5, 6], [11, 12]]


@BACKENDS
def test_by_a_timeout_from_the_first_record(backend: Any) -> None:
    trigger = ProcessingTimeoutTrigger.of(CountTrigger.of(3), Duration.of_millis(50))
    with triggered(GlobalWindows.create(), PurgingTrigger.of(trigger), backend=backend) as task:
        for number, now_ms in [(1, 100), (2, 140), (3, 145), (4, 160), (5, 205)]:
            task.advance_processing_time(now_ms)
            task.process(("a", number))
        assert numbers(task) == [[1, 2, 3]]  # by its count, and the timeout of 150 is off
        task.advance_processing_time(210)
        assert numbers(task) == [[1, 2, 3], [4, 5]]
        for number in (6, 7):
            task.process(("a", number))  # the count began anew
        assert len(task.output()) == 2


def test_by_a_timeout_from_the_last_record() -> None:
    trigger = ProcessingTimeoutTrigger.of(CountTrigger.of(4), 50, True, False)
    with triggered(GlobalWindows.create(), trigger) as task:
        for number, now_ms in [(1, 100), (2, 140), (3, 185)]:
            task.advance_processing_time(now_ms)
            task.process(("a", number))
        assert numbers(task) == []
        task.advance_processing_time(235)
        task.process(("a", 4))  # the count goes on
        assert numbers(task) == [[1, 2, 3], [1, 2, 3, 4]]


def test_never() -> None:
    with triggered(HUNDRED, NeverTrigger()) as task:
        task.process(("a", 1), 3)
        task.end_input()
        assert (task.output(), [*task._backend().in_namespaces.keys()]) == ([], [])


@pytest.mark.parametrize(
    "trigger",
    [
        NeverTrigger(),
        DeltaTrigger.of(1, lambda old, new: 0),
        PurgingTrigger.of(NeverTrigger()),
        ProcessingTimeoutTrigger.of(EventTimeTrigger(), 5),
    ],
)
def test_a_trigger_that_cannot_merge_is_refused_for_sessions(trigger: Any) -> None:
    with pytest.raises(WrongFunctionError, match="merge") as raised:
        triggered(EventTimeSessionWindows.with_gap(5), trigger)
    assert "can_merge()" in str(raised.value)


def test_what_is_no_trigger() -> None:
    with pytest.raises(TypeError, match="expected a Trigger"):
        PurgingTrigger.of(3)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="interval"):
        ContinuousEventTimeTrigger.of(Time.seconds(0))


class Alarm(Trigger[Any, Any]):
    """Sets both kinds of timers, in a function of its own."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        self.wait(timestamp, ctx)
        return TriggerResult.CONTINUE

    def wait(self, timestamp: int, ctx: Any) -> None:
        ctx.register_event_time_timer(timestamp + 5)
        ctx.register_processing_time_timer(7)

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE_AND_PURGE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        ctx.delete_processing_time_timer(7)
        return TriggerResult.FIRE

    def on_merge(self, window: Any, ctx: Any) -> None:
        """Not called."""

    def clear(self, window: Any, ctx: Any) -> None:
        """Nothing is kept."""


@BACKENDS
def test_timers_of_a_users_own_trigger(backend: Any) -> None:
    with triggered(GlobalWindows.create(), Alarm(), backend=backend) as task:
        task.process(("a", 1), 10)
        task.process(("b", 2), 20)
        task.advance_watermark(16)
        task.advance_processing_time(7)
        task.advance_watermark(30)  # b was purged: nothing is left to fire
        assert task.output() == [
            ("a", GlobalWindows.create().assign_windows(None, 0, None)[0], [1]),  # type: ignore[arg-type, index]
            ("b", GlobalWindows.create().assign_windows(None, 0, None)[0], [2]),  # type: ignore[arg-type, index]
        ]


@pytest.mark.parametrize(
    ("trigger", "clocks"),
    [
        (EventTimeTrigger(), (True, False)),
        (ProcessingTimeTrigger(), (False, True)),
        (CountTrigger.of(1), (False, False)),
        (PurgingTrigger.of(ContinuousEventTimeTrigger.of(5)), (True, False)),
        (ProcessingTimeoutTrigger.of(PurgingTrigger.of(EventTimeTrigger()), 5), (True, True)),
        (Alarm(), (True, True)),
        (PurgingTrigger.of(Alarm()), (True, True)),
        (NeverTrigger(), (False, False)),
    ],
)
def test_which_clocks_a_trigger_needs(trigger: Any, clocks: tuple[bool, bool]) -> None:
    assert clocks_of(trigger) == Clocks(*clocks)


class Forgetful(NeverTrigger):
    """Has a way through ``on_element`` that gives nothing."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> Any:
        return TriggerResult.FIRE if element[1] else None


def test_a_trigger_that_gives_no_result_is_named() -> None:
    with triggered(HUNDRED, Forgetful()) as task:
        task.process(("a", 1), 3)
        with pytest.raises(WrongFunctionError, match="Forgetful returned None, not ") as caught:
            task.process(("a", 0), 4)
        (note,) = caught.value.__notes__
        assert note.splitlines()[1:] == [
            "key:      'a'",
            "window:   TimeWindow(start=0, end=100)",
            "record:   ('a', 0)",
            "time:     4 ms",
        ]
        assert numbers(task) == [[1]]

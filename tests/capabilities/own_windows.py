"""Windows by user-defined assigners and triggers, and windows that fire more than once."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from headrace.common import Time, WatermarkStrategy
from headrace.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from headrace.datastream.window import (
    CountTrigger,
    EventTimeTrigger,
    GlobalWindows,
    MergingWindowAssigner,
    PurgingTrigger,
    TimeWindow,
    TimeWindowSerializer,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from tests.capabilities.programs import (
    PAIRS,
    Punctuated,
    by_second,
    capability,
    first,
    timed_pairs,
)


class Parity(WindowAssigner[Any, Any]):
    """Windows that are no spans of time: one for odd numbers, one for even ones."""

    class Of:
        def __init__(self, rest: int) -> None:
            self.rest = rest

        def max_timestamp(self) -> int:
            return 99

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Parity.Of) and other.rest == self.rest

        def __hash__(self) -> int:
            return self.rest

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[Any]:
        return [Parity.Of(element[1] % 2)]

    def get_default_trigger(self, env: Any) -> Trigger[Any, Any]:
        return EventTimeTrigger()

    def get_window_serializer(self) -> Any:
        return None

    def is_event_time(self) -> bool:
        return True


class Fours(MergingWindowAssigner[Any, TimeWindow]):
    """A window for each record; those within the same four milliseconds are merged."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        return [TimeWindow(timestamp, timestamp + 1)]

    def merge_windows(self, windows: Any, callback: Any) -> None:
        fours: dict[int, list[TimeWindow]] = {}
        for window in windows:
            fours.setdefault(window.start // 4, []).append(window)
        for four, some in fours.items():
            callback.merge(some, TimeWindow(four * 4, four * 4 + 4))

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        return EventTimeTrigger()

    def get_window_serializer(self) -> Any:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True


class AfterFirst(Trigger[Any, Any]):
    """Fires, and begins anew, when one of two triggers fires."""

    def __init__(self, one: Trigger[Any, Any], two: Trigger[Any, Any]) -> None:
        self.one = one
        self.two = two

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        return self._either(
            self.one.on_element(element, timestamp, window, ctx),
            self.two.on_element(element, timestamp, window, ctx),
        )

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return self._either(
            self.one.on_processing_time(time, window, ctx),
            self.two.on_processing_time(time, window, ctx),
        )

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return self._either(
            self.one.on_event_time(time, window, ctx), self.two.on_event_time(time, window, ctx)
        )

    def on_merge(self, window: Any, ctx: Any) -> None:
        self.one.on_merge(window, ctx)
        self.two.on_merge(window, ctx)

    def clear(self, window: Any, ctx: Any) -> None:
        self.one.clear(window, ctx)
        self.two.clear(window, ctx)

    @staticmethod
    def _either(*results: TriggerResult) -> TriggerResult:
        fires = any(result.is_fire() for result in results)
        return TriggerResult.FIRE_AND_PURGE if fires else TriggerResult.CONTINUE


def named(name: str, stream: DataStream) -> DataStream:
    return stream.map(lambda pair: (name, *pair))


@capability(
    "User-defined windows: assigners, merging assigners, composed triggers",
    [
        ("parity", "a", 4), ("parity", "a", 8), ("parity", "b", 2), ("parity", "b", 5),
        ("fours", "a", 4), ("fours", "a", 8), ("fours", "b", 2), ("fours", "b", 5),
        ("first of", "a", 4), ("first of", "a", 8), ("first of", "b", 7),
    ],
    beam=[
        "Where/Custom windows", "Where/Custom merging windows",
        "When/Configurable triggering", "When/Composite triggers",
    ],
)  # fmt: skip
def own_windows(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    keyed = timed_pairs(env).key_by(first)
    tens = keyed.window(TumblingEventTimeWindows.of(10))
    two_or_end = AfterFirst(CountTrigger.of(2), EventTimeTrigger.create())
    return named("parity", keyed.window(Parity()).sum(1)).union(
        named("fours", keyed.window(Fours()).sum(1)),
        named("first of", tens.trigger(two_or_end).sum(1)),
    )


OUT_OF_ORDER = [("a", 1), ("a", 9), ("a", 2), ("a", 20), ("a", 3)]
"""The third record comes after its window has fired, the last after its window is forgotten."""


@capability(
    "Windows that fire again: accumulating, discarding, after late records",
    [
        ("kept", "a", 1), ("kept", "a", 4), ("kept", "a", 12), ("kept", "b", 2), ("kept", "b", 7),
        ("dropped", "a", 1), ("dropped", "a", 3), ("dropped", "a", 8),
        ("dropped", "b", 2), ("dropped", "b", 5),
        ("late", "a", 1), ("late", "a", 3), ("late", "a", 9), ("late", "a", 20),
        ("too late", "a", 3),
    ],
    [
        ("kept", "a", 1), ("kept", "a", 4), ("kept", "a", 12), ("kept", "b", 2), ("kept", "b", 7),
        ("dropped", "a", 1), ("dropped", "a", 3), ("dropped", "a", 8),
        ("dropped", "b", 2), ("dropped", "b", 5),
        ("late", "a", 6), ("late", "a", 9), ("late", "a", 20),
    ],
    beam=["When/Allowed lateness", "How/Discarding", "How/Accumulating"],
)  # fmt: skip
def firing_again(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    keyed = timed_pairs(env).key_by(first)
    kept = keyed.window(GlobalWindows.create()).trigger(CountTrigger.of(1)).sum(1)
    purging = PurgingTrigger.of(CountTrigger.of(1))
    dropped = keyed.window(GlobalWindows.create()).trigger(purging).sum(1)
    tag = OutputTag("too late")
    late = (
        env.from_collection(OUT_OF_ORDER)
        .assign_timestamps_and_watermarks(by_second(WatermarkStrategy.for_generator(Punctuated)))
        .key_by(first)
        .window(TumblingEventTimeWindows.of(5))
        .allowed_lateness(10)
        .side_output_late_data(tag)
        .sum(1)
    )
    too_late = late.get_side_output(tag)
    return named("kept", kept).union(
        named("dropped", dropped), named("late", late), named("too late", too_late)
    )


@capability(
    "In a batch, windows of processing time fire at the end of the input",
    [],
    [("a", 12), ("b", 7)],
    beam=["When/Processing-time triggers"],
)
def clock_windows(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    century = TumblingProcessingTimeWindows.of(Time.days(36_500))  # from 1970 on
    return env.from_collection(PAIRS).key_by(first).window(century).sum(1)

"""What the cases of ``flink_cases`` share: their streams, their watermarks, what shows results."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.common import Types, WatermarkStrategy
from headrace.common.watermark_strategy import WatermarkGenerator, WatermarkOutput
from headrace.datastream import (
    DataStream,
    KeyedProcessFunction,
    KeyedStream,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.functions import (
    CoGroupFunction,
    ProcessAllWindowFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
)
from headrace.datastream.window import Evictor, TimeWindow

Event = tuple[str, int, int]


class AfterEach(WatermarkGenerator):
    """A watermark after each record: its time less a millisecond."""

    def __init__(self) -> None:
        self.latest = -(2**63)

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        self.latest = max(self.latest, event_timestamp)
        output.emit_watermark(self.latest - 1)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """All is said."""


class OnMarkers(WatermarkGenerator):
    """A watermark where a record has the number zero."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        if event[1] == 0:
            output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """All is said."""


class Contents(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Event]) -> Iterable[Any]:
        window = context.window()
        start = window.start if isinstance(window, TimeWindow) else "global"
        yield key, start, [element[1] for element in elements]


class AllContents(ProcessAllWindowFunction):
    def process(self, context: Any, elements: Iterable[Event]) -> Iterable[Any]:
        yield "all", [element[1] for element in elements]


class Stamped(ProcessFunction):
    def process_element(self, value: Event, ctx: Any) -> Iterable[Any]:
        yield *value, ctx.timestamp()


class Seen(KeyedProcessFunction):
    def process_element(self, value: Event, ctx: Any) -> Iterable[Any]:
        yield value[0], value[1], ctx.timestamp(), ctx.timer_service().current_watermark()


class Pair(ProcessJoinFunction):
    def process_element(self, left: Event, right: Event, ctx: Any) -> Iterable[Any]:
        times = ctx.get_left_timestamp(), ctx.get_right_timestamp(), ctx.get_timestamp()
        yield left[0], left[1], right[1], *times


class Both(CoGroupFunction):
    def co_group(self, first: Iterable[Event], second: Iterable[Event]) -> Iterable[Any]:
        yield [event[1] for event in first], [event[1] for event in second]


class DropOdd(Evictor[Event, TimeWindow]):
    """Takes odd numbers out before the function sees them."""

    def evict_before(self, elements: list[Any], size: int, window: Any, ctx: Any) -> None:
        elements[:] = [element for element in elements if element.get_value()[1] % 2 == 0]

    def evict_after(self, elements: list[Any], size: int, window: Any, ctx: Any) -> None:
        """Nothing more is taken out."""


def timed(
    env: StreamExecutionEnvironment, strategy: WatermarkStrategy, events: list[Event]
) -> DataStream:
    types = Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()])
    stream = env.from_collection(events, type_info=types)
    return stream.assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda event: event[2])
    )


def unhurried(env: StreamExecutionEnvironment, *events: Event) -> DataStream:
    """A stream whose watermark comes at its end only."""
    return timed(env, WatermarkStrategy.no_watermarks(), list(events))


def hurried(env: StreamExecutionEnvironment, *events: Event) -> DataStream:
    """A stream whose watermark stands after each record."""
    return timed(env, WatermarkStrategy.for_generator(AfterEach), list(events))


def keyed(stream: DataStream) -> KeyedStream:
    return stream.key_by(lambda event: event[0], Types.STRING())

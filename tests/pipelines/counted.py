"""A program of which it is known how many records pass each operator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.common import Configuration, Duration, WatermarkStrategy
from headrace.common.typeinfo import Types
from headrace.datastream import (
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import TumblingEventTimeWindows

ODD = OutputTag("odd")
UNREAD = OutputTag("unread")
LATE = OutputTag("late")

BY_TIME = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
    lambda value, _: value[1]
)
"""Times of both streams; the two records of time 0 that follow later ones are late."""

FIRST = [(n, 0 if n in (30, 31) else 100 * n) for n in range(40)]
SECOND = [(n, 100 * n) for n in range(100, 110)]


class Sort(ProcessFunction):
    """Odd numbers to a side output, and each of them to one that nobody reads."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if value[0] % 2:
            yield ODD, value
            yield UNREAD, value
        else:
            yield value


class Count(KeyedProcessFunction):
    """The number of each key's records so far, where it is even."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))
        runtime_context.get_metrics_group().counter("numRecordsOut").inc(1000)  # the user's own

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        seen = (self.seen.value() or 0) + 1
        self.seen.update(seen)
        if seen % 2 == 0:
            yield value[0], seen


def environment(**settings: str) -> StreamExecutionEnvironment:
    keys = {"headrace.watermark.chunk-records": "1", "parallelism.default": "1", **settings}
    return StreamExecutionEnvironment(Configuration.from_dict(keys))


def program(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Two sources, a filter, a flat map, side outputs, a union, keyed state, windows."""
    first = env.from_collection(FIRST).name("first")
    small = first.filter(lambda value: value[0] < 20).name("small")
    twice = small.map(lambda value: value).name("same").flat_map(lambda value: [value] * 2)
    sorted_ = twice.name("twice").map(lambda value: value).name("same again").process(Sort())
    sorted_ = sorted_.name("sort")
    odd = sorted_.get_side_output(ODD).map(lambda value: value).name("odd")
    second = env.from_collection(SECOND).name("second")
    both = sorted_.union(second).key_by(lambda value: value[0] % 3).process(Count()).name("count")
    timed = first.assign_timestamps_and_watermarks(BY_TIME).name("timed")
    windows = (
        timed.key_by(lambda value: value[0] % 2)
        .window(TumblingEventTimeWindows.of(Duration.of_seconds(1)))
        .reduce(lambda one, other: (one[0] + other[0], one[1]))
        .name("windows")
    )
    return {"odd": odd, "both": both, "windows": windows}


IN_AND_OUT = {
    "first": (40, 40),
    "small": (40, 20),
    "same": (20, 20),
    "twice": (20, 40),
    "same again": (40, 40),
    "sort": (40, 40),
    "odd": (20, 20),
    "second": (10, 10),
    # by key of three: 20 and 4, 20 and 3, 0 and 3 ... of even numbers, each twice
    "count": (30, 15),
    "timed": (40, 40),
}
"""Of each operator, how many records come and how many it emits."""

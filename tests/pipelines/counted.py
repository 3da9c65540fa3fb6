"""A program of which it is known how many records pass each operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from headrace.common import Configuration, WatermarkStrategy
from headrace.common._watermark_generators import MIN_WATERMARK, Watermark, WatermarkGenerator
from headrace.common.time import Duration
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
from headrace.metrics import OperatorCounts

ODD = OutputTag("odd")
UNREAD = OutputTag("unread")

FIRST = [(n, 0 if n in (30, 31) else 100 * n) for n in range(40)]
"""Numbers and times. The two records of time 0 come after later ones: a stream drops them."""

SECOND = [(n, 100 * n) for n in range(100, 110)]


class AfterEach(WatermarkGenerator):
    """A watermark after each record, however the input is cut."""

    def __init__(self) -> None:
        self.reached = MIN_WATERMARK

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        self.reached = max(self.reached, event_timestamp - 1)
        output.emit_watermark(Watermark(self.reached))

    def on_periodic_emit(self, output: Any) -> None:
        """Nothing."""


BY_TIME = WatermarkStrategy.for_generator(AfterEach).with_timestamp_assigner(lambda value: value[1])


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
    "count": (30, 14),  # of the three keys there are 11, 10 and 9 records
    "timed": (40, 40),
    "windows": (40, 8),
    "to odd": (20, 0),
    "to both": (14, 0),
    "to windows": (8, 0),
}
"""Of each operator and sink, how many records come and how many it emits."""

LATE_RECORDS = 2
"""How many a stream drops in the windows; in a batch nothing is late."""


def passed(operators: Iterable[OperatorCounts]) -> dict[str, tuple[int, int]]:
    """Of each operator, how many records came and how many it emitted, added up."""
    found: dict[str, tuple[int, int]] = {}
    for each in operators:
        name = f"to {each.name}" if each.operator_id.startswith("collect-") else each.name
        came, went = found.get(name, (0, 0))
        found[name] = came + each.records_in, went + each.records_out
    return found

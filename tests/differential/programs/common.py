"""What the programs of several modules share, and the mark of a program.

The modules are written for PyFlink. To run on Headrace they are copied, with ``pyflink`` changed to
``headrace`` in their imports (``corpus.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pyflink.common import Row, WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import AggregateFunction, DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction, WindowFunction
from pyflink.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows

Build = TypeVar("Build", bound=Callable[..., object])

# Windows hold no state: programs may share them.
FIVE_SECONDS = TumblingEventTimeWindows.of(Time.seconds(5))
SESSIONS = EventTimeSessionWindows.with_gap(Time.seconds(5))


def program(number: int, **how_it_runs: object) -> Callable[[Build], Build]:
    """Mark a function as a program. ``corpus.py`` reads the mark from the text and checks it."""
    return lambda build: build


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list, seconds: int = 60) -> DataStream:
    """``events`` by the times in their last fields, with a watermark so many seconds behind."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(seconds))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


def ordered(env: StreamExecutionEnvironment, events: list) -> DataStream:
    """``events`` by the times in their last fields; what comes after a later one is late."""
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


def add(left, right):
    """One event of two: the first one's name, the sum of values, the later time."""
    return left[0], left[1] + right[1], max(left[2], right[2])


class Sum(AggregateFunction):
    """The sum of the events' values."""

    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value[1]

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


class Span(ProcessWindowFunction):
    """Key, start and end of a window, and the values in it."""

    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, sorted(element[1] for element in elements)


class SpanTotal(ProcessWindowFunction):
    """Key, start and end of a window, and what it was aggregated to."""

    def process(self, key, context, elements):
        for total in elements:
            yield key, context.window().start, context.window().end, total


class AsRow(WindowFunction):
    """A Row of key, start of the window, and the number of elements."""

    def apply(self, key, window, inputs):
        yield Row(key, window.start, len(list(inputs)))


class Missing(LookupError):
    """An error of the user's own."""

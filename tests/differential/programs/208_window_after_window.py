"""Sums by key and window, and then the largest of each window over all keys.

compare: ordered
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessAllWindowFunction, WindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Total(WindowFunction):
    def apply(self, key, window, inputs):
        yield key, sum(element[1] for element in inputs), window.end


class Largest(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield context.window().start, max((total, name) for name, total, _ in elements)


EVENTS = [
    ("a", 1, 1_000),
    ("b", 7, 4_000),
    ("a", 3, 4_999),
    ("b", 2, 6_000),
    ("a", 5, 12_000),
    ("c", 6, 13_000),
]


def build(env: StreamExecutionEnvironment) -> DataStream:
    windows = TumblingEventTimeWindows.of(Time.seconds(5))
    totals = timed(env, EVENTS).key_by(lambda event: event[0]).window(windows).apply(Total())
    return totals.window_all(TumblingEventTimeWindows.of(Time.seconds(5))).process(Largest())

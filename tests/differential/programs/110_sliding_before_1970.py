"""Sliding windows over timestamps below zero.

compare: ordered_by_key:0
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import SlidingEventTimeWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Span(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, sorted(element[1] for element in elements)


EVENTS = [("a", 1, -1), ("a", 2, -5_000), ("a", 3, -5_001), ("a", 4, 0), ("b", 5, -12_345)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    windows = SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5))
    return timed(env, EVENTS).key_by(lambda event: event[0]).window(windows).process(Span())

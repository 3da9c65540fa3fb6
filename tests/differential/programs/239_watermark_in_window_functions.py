"""The watermark that a window function sees when its window fires: that of the record which
closed it.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
watermarks: each record
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def ordered(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Seen(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, context.window().end, context.current_watermark()


EVENTS = [
    ("a", 1, 1_000),
    ("b", 2, 3_000),
    ("a", 4, 6_000),
    ("a", 8, 12_345),
    ("b", 16, 15_000),
    ("b", 32, 15_001),
]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        ordered(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .process(Seen())
    )

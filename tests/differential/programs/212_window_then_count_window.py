"""Two windows of time of each key make one window of count.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.window import TumblingEventTimeWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


def add(left, right):
    return left[0], left[1] + right[1], max(left[2], right[2])


EVENTS = [
    ("a", 1, 1_000),
    ("b", 7, 4_000),
    ("a", 3, 4_999),
    ("b", 2, 6_000),
    ("a", 5, 12_000),
    ("a", 9, 22_000),
]


def build(env: StreamExecutionEnvironment) -> DataStream:
    totals = (
        timed(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .reduce(add)
    )
    return totals.key_by(lambda event: event[0]).count_window(2).reduce(add)

"""Windows over the whole stream, reduced; they come in the order of their ends.

compare: ordered
parallelism: 1
mode: streaming, batch
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


EVENTS = [("a", 1, 1_000), ("b", 2, 6_000), ("a", 3, 4_999), ("b", 4, 2_000), ("a", 5, 12_000)]


def largest(left, right):
    return max(left, right, key=lambda event: event[1])


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        timed(env, EVENTS).window_all(TumblingEventTimeWindows.of(Time.seconds(5))).reduce(largest)
    )

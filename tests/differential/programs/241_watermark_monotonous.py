"""Monotonous timestamps: the watermark is the greatest time less a millisecond, and never falls.

compare: ordered
parallelism: 1
mode: streaming
watermarks: each record
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def ordered(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Seen(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value[1], ctx.timestamp(), ctx.timer_service().current_watermark()


EVENTS = [("a", 1, 1_000), ("a", 2, 3_000), ("a", 4, 2_000), ("a", 8, 12_345), ("a", 16, 0)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return ordered(env, EVENTS).key_by(lambda event: event[0]).process(Seen())

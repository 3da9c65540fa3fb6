"""Bounded disorder: the watermark is the greatest time less the bound and a millisecond.

compare: ordered
parallelism: 1
mode: streaming
watermarks: each record
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


class Seen(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value[1], ctx.timestamp(), ctx.timer_service().current_watermark()


EVENTS = [("a", 1, 1_000), ("a", 2, 3_000), ("a", 4, 2_000), ("a", 8, 12_345), ("a", 16, 0)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(500))
    stream = env.from_collection(EVENTS)
    stamped = stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(Last()))
    return stamped.key_by(lambda event: event[0]).process(Seen())

"""Within a key, batch mode hands records over in the order of their timestamps.

compare: ordered_by_key:0
parallelism: 1
mode: batch
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment


class Second(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Same(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value[0], value[1], ctx.timer_service().current_watermark()


def build(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_seconds(1)
    ).with_timestamp_assigner(Second())
    return (
        env.from_collection([("b", 5), ("a", 9), ("a", 3), ("b", 1), ("a", 6), ("a", -2)])
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda pair: pair[0])
        .process(Same())
    )

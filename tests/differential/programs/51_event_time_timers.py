"""An event-time timer for every record: each fires once, per key in the order of its time.

compare: ordered_by_key:0
parallelism: 2
mode: streaming, batch
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment


class Second(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Echo(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1] + 1_000_000)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp, ctx.timestamp(), ctx.time_domain().name


def build(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    return (
        env.from_collection([("a", 10), ("b", 20), ("a", 30), ("c", 30), ("b", 40)])
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda pair: pair[0])
        .process(Echo())
    )

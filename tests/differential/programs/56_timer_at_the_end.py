"""Timers at the greatest time and just before it fire at the end of a bounded input.

compare: ordered_by_key:0
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment

GREATEST = 2**63 - 1


class Second(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class AtTheEnd(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(GREATEST)
        ctx.timer_service().register_event_time_timer(GREATEST - 1)
        yield value[0], "element", value[1]

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), "timer", timestamp, ctx.timer_service().current_watermark()


def build(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    return (
        env.from_collection([("a", 10), ("b", 20), ("a", 30)])
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda pair: pair[0])
        .process(AtTheEnd())
    )

"""What a timer gives out carries the time of the timer; what an element gives out, its own.

compare: multiset
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    DataStream,
    KeyedProcessFunction,
    ProcessFunction,
    StreamExecutionEnvironment,
)


class Second(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Both(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1] + 500)
        yield "element", value[1]

    def on_timer(self, timestamp, ctx):
        yield "timer", timestamp


class Stamp(ProcessFunction):
    def process_element(self, value, ctx):
        yield (*value, ctx.timestamp())


def build(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    return (
        env.from_collection([("a", 10), ("b", 20)])
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda pair: pair[0])
        .process(Both())
        .process(Stamp())
    )

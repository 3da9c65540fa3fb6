"""A timer that registers the next one, five times over, with its count in state.

compare: ordered_by_key:0
parallelism: 2
mode: streaming, batch
"""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ValueStateDescriptor


class Second(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Ticks(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1] + 1_000_000)

    def on_timer(self, timestamp, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), timestamp, count
        if count < 5:
            ctx.timer_service().register_event_time_timer(timestamp + 10)


def build(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    return (
        env.from_collection([("a", 1), ("b", 2)])
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda pair: pair[0])
        .process(Ticks())
    )

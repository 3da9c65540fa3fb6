"""Event-time timers fire as the watermark passes them, between the records.

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


class Echo(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield "element", value[1], ctx.timer_service().current_watermark()
        ctx.timer_service().register_event_time_timer(value[2] + 1_500)

    def on_timer(self, timestamp, ctx):
        yield "timer", timestamp, ctx.timer_service().current_watermark()


EVENTS = [("a", 1, 1_000), ("a", 2, 2_000), ("a", 4, 3_000), ("a", 8, 9_000), ("a", 16, 500)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return ordered(env, EVENTS).key_by(lambda event: event[0]).process(Echo())

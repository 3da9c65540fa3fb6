"""Event-time timers of two inputs fire by time, key by key, whichever input set them.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, KeyedCoProcessFunction, StreamExecutionEnvironment


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Echo(KeyedCoProcessFunction):
    def process_element1(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[2] + 1_000)

    def process_element2(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[2] + 2_000)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp, ctx.timestamp(), ctx.time_domain().name


def build(env: StreamExecutionEnvironment) -> DataStream:
    left = timed(env, [("a", 1, 100), ("b", 2, 200), ("a", 3, 300)])
    right = timed(env, [("a", 4, 50), ("b", 5, 1_000), ("a", 6, -900)])
    return (
        left.connect(right).key_by(lambda event: event[0], lambda event: event[0]).process(Echo())
    )

"""A timer that registers one behind the watermark: it fires too, with its own time.

PyFlink's process mode fires first what was due before, its thread mode goes back in time at once.

compare: multiset
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment


class Second(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Back(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(1_000_000)
        ctx.timer_service().register_event_time_timer(2_000_000)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp
        if timestamp == 1_000_000:
            ctx.timer_service().register_event_time_timer(5)
            ctx.timer_service().register_event_time_timer(3)
        elif timestamp == 5:
            ctx.timer_service().register_event_time_timer(-7)


def build(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    return (
        env.from_collection([("a", 10), ("b", 20)])
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda pair: pair[0])
        .process(Back())
    )

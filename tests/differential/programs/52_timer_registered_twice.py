"""A timer registered twice for one time fires once; several times of a key fire in order.

compare: ordered_by_key:0
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment


class Second(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Several(KeyedProcessFunction):
    def process_element(self, value, ctx):
        for time in (900_000, 700_000, 900_000, 800_000, 700_000):
            ctx.timer_service().register_event_time_timer(time)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp


def build(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    return (
        env.from_collection([("a", 1), ("b", 2), ("a", 3)])
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda pair: pair[0])
        .process(Several())
    )

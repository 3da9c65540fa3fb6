"""A deleted timer does not fire; deleting one that was never registered is nothing.

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


class Cancel(KeyedProcessFunction):
    def process_element(self, value, ctx):
        timers = ctx.timer_service()
        if value[2] == "start":
            timers.register_event_time_timer(800_000)
            timers.register_event_time_timer(900_000)
        elif value[2] == "stop":
            timers.delete_event_time_timer(800_000)
            timers.delete_event_time_timer(123)
            timers.delete_processing_time_timer(456)
        elif value[2] == "restart":
            timers.register_event_time_timer(800_000)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp


def build(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    return (
        env.from_collection(
            [
                ("a", 1, "start"),
                ("b", 2, "start"),
                ("c", 3, "start"),
                ("a", 4, "stop"),
                ("c", 5, "stop"),
                ("d", 6, "stop"),
                ("c", 7, "restart"),
            ]
        )
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda item: item[0])
        .process(Cancel())
    )

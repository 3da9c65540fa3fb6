"""Event-time timers without a watermark strategy fire at the end of a bounded input.

compare: ordered_by_key:0
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import WatermarkStrategy
from pyflink.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment


class Wait(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1])
        yield value[0], "element", ctx.timer_service().current_watermark()

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), "timer", timestamp


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        env.from_collection([("a", 10), ("b", 20), ("a", -30)])
        .assign_timestamps_and_watermarks(WatermarkStrategy.no_watermarks())
        .key_by(lambda pair: pair[0])
        .process(Wait())
    )

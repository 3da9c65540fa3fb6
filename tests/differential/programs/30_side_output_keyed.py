"""Side outputs of a keyed process function, from its elements and from its timers.

compare: ordered_by_key:0
parallelism: 2
mode: streaming, batch
"""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    StreamExecutionEnvironment,
)

FIRED = OutputTag("fired", Types.TUPLE([Types.STRING(), Types.LONG()]))


class Second(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Alarm(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1] + 100)
        yield value

    def on_timer(self, timestamp, ctx):
        yield FIRED, (ctx.get_current_key(), timestamp)


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    main = (
        env.from_collection([("a", 1), ("b", 2), ("a", 3)])
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda pair: pair[0])
        .process(Alarm())
    )
    return {"main": main, "fired": main.get_side_output(FIRED)}

"""Timestamps of elements, of rules and of timers by the context of broadcast functions.

compare: multiset
parallelism: 1
mode: streaming
"""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Duration
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, KeyedBroadcastProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import MapStateDescriptor


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


class Times(KeyedBroadcastProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[2] + 1_000)
        yield "element", value[0], ctx.timestamp(), ctx.get_current_key()

    def process_broadcast_element(self, value, ctx):
        yield "rule", value[0], ctx.timestamp(), None

    def on_timer(self, timestamp, ctx):
        yield "timer", ctx.get_current_key(), ctx.timestamp(), ctx.time_domain().name


def build(env: StreamExecutionEnvironment) -> DataStream:
    rules = timed(env, [("x", 7, 10), ("y", 8, 15)]).broadcast(RULES)
    return (
        timed(env, [("a", 1, 10), ("b", 2, 20)])
        .key_by(lambda event: event[0])
        .connect(rules)
        .process(Times())
    )

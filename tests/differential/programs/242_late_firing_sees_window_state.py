"""State by window lives until the allowed lateness is over: late firings go on counting, and
clear() ends it.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
watermarks: each record
"""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import TumblingEventTimeWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def ordered(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Firings(ProcessWindowFunction):
    def process(self, key, context, elements):
        state = context.window_state().get_state(ValueStateDescriptor("firings", Types.LONG()))
        cleared = context.global_state().get_state(ValueStateDescriptor("cleared", Types.LONG()))
        state.update((state.value() or 0) + 1)
        yield key, context.window().start, state.value(), len(list(elements)), cleared.value()

    def clear(self, context):
        context.window_state().get_state(ValueStateDescriptor("firings", Types.LONG())).clear()
        cleared = context.global_state().get_state(ValueStateDescriptor("cleared", Types.LONG()))
        cleared.update((cleared.value() or 0) + 1)


EVENTS = [
    ("a", 1, 1_000),
    ("a", 2, 5_100),
    ("a", 4, 2_000),
    ("a", 8, 3_000),
    ("a", 16, 8_500),
    ("a", 32, 4_000),
    ("a", 64, 15_000),
]


def build(env: StreamExecutionEnvironment) -> DataStream:
    windowed = (
        ordered(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
    )
    return windowed.allowed_lateness(3_000).process(Firings())

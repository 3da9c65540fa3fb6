"""State by window: it counts the firings of each window by itself.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
"""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import CountTrigger, TumblingEventTimeWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Firings(ProcessWindowFunction):
    def __init__(self):
        self.descriptor = ValueStateDescriptor("firings", Types.LONG())

    def process(self, key, context, elements):
        state = context.window_state().get_state(self.descriptor)
        count = (state.value() or 0) + 1
        state.update(count)
        yield key, context.window().start, count, sorted(element[1] for element in elements)

    def clear(self, context):
        context.window_state().get_state(self.descriptor).clear()


EVENTS = [
    ("a", 1, 1_000),
    ("a", 2, 6_000),
    ("a", 3, 2_000),
    ("a", 4, 7_000),
    ("a", 5, 3_000),
    ("b", 6, 1_000),
]


def build(env: StreamExecutionEnvironment) -> DataStream:
    windowed = (
        timed(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
    )
    return windowed.trigger(CountTrigger.of(1)).process(Firings())

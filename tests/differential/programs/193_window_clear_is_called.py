"""clear() of a window function runs when its window ends: it counts in global state, and the
windows that come after see how many ended.

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
from pyflink.datastream.window import TumblingEventTimeWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Ended(ProcessWindowFunction):
    def __init__(self):
        self.ended = ValueStateDescriptor("ended", Types.LONG())

    def process(self, key, context, elements):
        state = context.global_state().get_state(self.ended)
        yield key, context.window().start, state.value()

    def clear(self, context):
        state = context.global_state().get_state(self.ended)
        state.update((state.value() or 0) + 1)


EVENTS = [("a", 1, 1_000), ("a", 2, 6_000), ("a", 4, 12_000), ("b", 8, 7_000), ("a", 16, 31_000)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        timed(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .process(Ended())
    )

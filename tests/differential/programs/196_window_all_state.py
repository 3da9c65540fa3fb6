"""State by window and global state of a ProcessAllWindowFunction.

compare: ordered
parallelism: 1
mode: streaming
"""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessAllWindowFunction
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


class Running(ProcessAllWindowFunction):
    def process(self, context, elements):
        so_far = context.global_state().get_state(ValueStateDescriptor("so far", Types.LONG()))
        here = context.window_state().get_state(ValueStateDescriptor("here", Types.LONG()))
        so_far.update((so_far.value() or 0) + sum(element[1] for element in elements))
        here.update((here.value() or 0) + 1)
        yield context.window().start, so_far.value(), here.value()

    def clear(self, context):
        context.window_state().get_state(ValueStateDescriptor("here", Types.LONG())).clear()


EVENTS = [("a", 1, 1_000), ("a", 2, 6_000), ("a", 4, 2_000), ("b", 8, 7_000), ("a", 16, 30_000)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        timed(env, EVENTS)
        .window_all(TumblingEventTimeWindows.of(Time.seconds(5)))
        .process(Running())
    )

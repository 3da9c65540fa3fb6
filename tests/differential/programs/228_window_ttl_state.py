"""Global state of a window function with a time to live of an hour: nothing expires while the
job runs.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
"""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.state import StateTtlConfig, ValueStateDescriptor
from pyflink.datastream.window import TumblingEventTimeWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Running(ProcessWindowFunction):
    def process(self, key, context, elements):
        descriptor = ValueStateDescriptor("so far", Types.LONG())
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
        state = context.global_state().get_state(descriptor)
        state.update((state.value() or 0) + sum(element[1] for element in elements))
        yield key, context.window().start, state.value()


EVENTS = [("a", 1, 1_000), ("a", 2, 6_000), ("a", 4, 2_000), ("b", 8, 7_000), ("a", 16, 30_000)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        timed(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .process(Running())
    )

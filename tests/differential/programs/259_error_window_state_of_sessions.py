"""State by window is refused where windows merge.

compare: raises:Exception
parallelism: 1
mode: streaming
"""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import EventTimeSessionWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Count(ProcessWindowFunction):
    def process(self, key, context, elements):
        state = context.window_state().get_state(ValueStateDescriptor("count", Types.LONG()))
        state.update(1)
        yield key


def build(env: StreamExecutionEnvironment) -> DataStream:
    windowed = (
        timed(env, [("a", 1, 2)])
        .key_by(lambda event: event[0])
        .window(EventTimeSessionWindows.with_gap(Time.seconds(5)))
    )
    return windowed.process(Count())

"""A continuous event-time trigger on sessions: its next time is kept when sessions merge.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
watermarks: each record
python: thread
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import ContinuousEventTimeTrigger, EventTimeSessionWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def ordered(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Span(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, sorted(element[1] for element in elements)


EVENTS = [("a", 1, 2_500), ("a", 2, 3_500), ("a", 4, 5_000), ("a", 8, 6_000), ("b", 1, 6_100)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    windowed = (
        ordered(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(EventTimeSessionWindows.with_gap(Time.seconds(2)))
    )
    return windowed.trigger(ContinuousEventTimeTrigger.of(Time.seconds(3))).process(Span())

"""With allowed lateness a session that has fired is joined by a late record to a later one: the
merged session fires again as a whole.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
watermarks: each record
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import EventTimeSessionWindows


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


EVENTS = [
    ("a", 1, 0),
    ("a", 2, 9_000),
    ("a", 4, 4_500),
    ("b", 1, 9_100),
    ("a", 8, 16_000),
    ("a", 16, 30_000),
]


def build(env: StreamExecutionEnvironment) -> DataStream:
    windowed = (
        ordered(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(EventTimeSessionWindows.with_gap(Time.seconds(5)))
    )
    return windowed.allowed_lateness(10_000).process(Span())

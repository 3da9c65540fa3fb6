"""Late records are dropped as soon as the watermark has reached the end of their window. A batch
knows no lateness: all records count.

compare: ordered_by_key:0
parallelism: 1
mode: streaming, batch
watermarks: each record
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows


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
    ("a", 1, 1_000),
    ("a", 2, 4_999),
    ("a", 3, 5_000),
    ("a", 4, 4_000),
    ("b", 5, 6_000),
    ("b", 6, 4_500),
    ("b", 7, 3_000),
]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        ordered(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .process(Span())
    )

"""Sessions whose gap each record brings along.

compare: ordered_by_key:0
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import EventTimeSessionWindows, SessionWindowTimeGapExtractor


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Span(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, sorted(element[1] for element in elements)


class GapOfRecord(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return element[1] * 1_000


EVENTS = [
    ("a", 5, 0),
    ("a", 1, 4_000),
    ("a", 2, 6_000),
    ("b", 9, 0),
    ("b", 1, 8_000),
    ("b", 1, 9_500),
    ("a", 3, 20_000),
]


def build(env: StreamExecutionEnvironment) -> DataStream:
    windows = EventTimeSessionWindows.with_dynamic_gap(GapOfRecord())
    return timed(env, EVENTS).key_by(lambda event: event[0]).window(windows).process(Span())

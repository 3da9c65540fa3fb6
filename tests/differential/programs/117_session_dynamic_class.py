"""Dynamic sessions by the assigner's own class: a short gap within a long one does not shorten
it.

compare: multiset
parallelism: 2
mode: streaming, batch
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import DynamicEventTimeSessionWindows, SessionWindowTimeGapExtractor


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
        return 10_000 if element[1] > 5 else 1_000


EVENTS = [
    ("a", 9, 0),
    ("a", 1, 2_000),
    ("a", 2, 9_000),
    ("b", 1, 0),
    ("b", 2, 1_001),
    ("b", 8, 1_500),
]


def build(env: StreamExecutionEnvironment) -> DataStream:
    windows = DynamicEventTimeSessionWindows.with_dynamic_gap(GapOfRecord())
    return timed(env, EVENTS).key_by(lambda event: event[0]).window(windows).process(Span())

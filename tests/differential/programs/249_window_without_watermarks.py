"""Timestamps, and a strategy that gives no watermarks: the end of the input is the one
watermark.

compare: ordered_by_key:0
parallelism: 1
mode: streaming, batch
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


class Span(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, sorted(element[1] for element in elements)


EVENTS = [("a", 1, 99_000), ("b", 2, 6_000), ("a", 3, 4_999), ("a", 4, 12_000)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    stream = env.from_collection(EVENTS)
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(Last())
    keyed = stream.assign_timestamps_and_watermarks(strategy).key_by(lambda event: event[0])
    return keyed.window(TumblingEventTimeWindows.of(Time.seconds(5))).process(Span())

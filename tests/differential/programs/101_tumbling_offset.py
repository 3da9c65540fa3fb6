"""Tumbling windows with an offset: borders stand at 1 s, 6 s, 11 s. A key's windows come in
their order.

compare: ordered_by_key:0
parallelism: 2
mode: streaming, batch
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows


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


EVENTS = [
    ("a", 1, 0),
    ("a", 2, 999),
    ("a", 3, 1_000),
    ("b", 4, 5_999),
    ("b", 5, 6_000),
    ("a", 6, 11_000),
]


def build(env: StreamExecutionEnvironment) -> DataStream:
    windows = TumblingEventTimeWindows.of(Time.seconds(5), Time.seconds(1))
    return timed(env, EVENTS).key_by(lambda event: event[0]).window(windows).process(Span())

"""Days that begin at midnight eight hours east of Greenwich: a negative offset.

compare: ordered_by_key:0
parallelism: 1
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


HOUR = 3_600_000
EVENTS = [
    ("b", 5, 0),
    ("a", 1, 15 * HOUR),
    ("a", 2, 16 * HOUR - 1),
    ("a", 3, 16 * HOUR),
    ("a", 4, 40 * HOUR),
]


def build(env: StreamExecutionEnvironment) -> DataStream:
    days = TumblingEventTimeWindows.of(Time.days(1), Time.hours(-8))
    return timed(env, EVENTS).key_by(lambda event: event[0]).window(days).process(Span())

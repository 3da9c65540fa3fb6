"""A second strategy replaces timestamps and watermarks of the first.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
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


class Second(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return record_timestamp + value[1] * 10_000


EVENTS = [("a", 1, 1_000), ("a", 2, 1_500), ("b", 1, 2_000), ("a", 3, 2_500)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    again = timed(env, EVENTS).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Second())
    )
    return (
        again.key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .process(Span())
    )

"""Tuples of a declared type reach the window function as tuples.

compare: ordered_by_key:0
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import Types, WatermarkStrategy
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


class Show(ProcessWindowFunction):
    def process(self, key, context, elements):
        elements = sorted(elements)
        yield key, type(elements[0]).__name__, elements


TYPE = Types.TUPLE([Types.STRING(), Types.DOUBLE(), Types.LONG()])
EVENTS = [("a", 1.5, 1_000), ("b", 2.0, 6_000), ("a", 3.25, 4_999)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(10))
    stream = env.from_collection(EVENTS, type_info=TYPE)
    timed = stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(Last()))
    return (
        timed.key_by(lambda event: event[0], key_type=Types.STRING())
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .process(Show())
    )

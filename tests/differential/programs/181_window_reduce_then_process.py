"""A reduce and a ProcessWindowFunction after it, with a declared type for the result.

compare: ordered_by_key:0
parallelism: 2
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


def add(left, right):
    return left[0], left[1] + right[1], max(left[2], right[2])


class Label(ProcessWindowFunction):
    def process(self, key, context, elements):
        for element in elements:
            yield key, context.window().end, element[1]


EVENTS = [("a", 1, 1_000), ("b", 2, 6_000), ("a", 3, 4_999), ("a", 5, 12_000)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    windowed = (
        timed(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
    )
    return windowed.reduce(
        add, Label(), output_type=Types.TUPLE([Types.STRING(), Types.LONG(), Types.INT()])
    )

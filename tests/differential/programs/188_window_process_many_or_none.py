"""A ProcessWindowFunction that gives several results for a window, or none.

compare: ordered_by_key:0
parallelism: 1
mode: streaming, batch
"""

from itertools import pairwise

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


class Pairs(ProcessWindowFunction):
    def process(self, key, context, elements):
        values = sorted(element[1] for element in elements)
        for left, right in pairwise(values):
            yield key, left, right


EVENTS = [
    ("a", 3, 3_000),
    ("b", 2, 6_000),
    ("a", 1, 1_000),
    ("a", 2, 2_000),
    ("a", 5, 12_000),
    ("a", 4, 4_000),
]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        timed(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .process(Pairs())
    )

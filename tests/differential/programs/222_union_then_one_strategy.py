"""A union whose timestamps are taken after it: how the two streams interleave does not matter,
since the watermark stays a minute below.

compare: ordered_by_key:0
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import EventTimeSessionWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


class Span(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, sorted(element[1] for element in elements)


LEFT = [("a", 1, 1_000), ("b", 2, 6_000), ("a", 3, 4_999)]
RIGHT = [("a", 10, 2_000), ("b", 20, 7_000), ("c", 30, 14_000)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    both = env.from_collection(LEFT).union(env.from_collection(RIGHT))
    stamped = both.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(Last()))
    return (
        stamped.key_by(lambda event: event[0])
        .window(EventTimeSessionWindows.with_gap(Time.seconds(3)))
        .process(Span())
    )

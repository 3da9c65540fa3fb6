"""None and other empty values in what windows give.

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


class Empty(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, None, [], "", 0


EVENTS = [("a", None, 1_000), ("b", None, 6_000), ("a", None, 12_000)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        timed(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .process(Empty())
    )

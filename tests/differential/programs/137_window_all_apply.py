"""An AllWindowFunction over sliding windows of the whole stream.

compare: ordered
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import AllWindowFunction
from pyflink.datastream.window import SlidingEventTimeWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Show(AllWindowFunction):
    def apply(self, window, inputs):
        yield window.start, len(list(inputs))


EVENTS = [("a", 1_000), ("b", 6_000), ("c", 4_999), ("d", 2_000), ("e", 12_000)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        timed(env, EVENTS)
        .window_all(SlidingEventTimeWindows.of(Time.seconds(6), Time.seconds(3)))
        .apply(Show())
    )

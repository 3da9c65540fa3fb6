"""The timestamp of a session's result, and of each of several results of one window.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, ProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.functions import WindowFunction
from pyflink.datastream.window import EventTimeSessionWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Twice(WindowFunction):
    def apply(self, key, window, inputs):
        count = len(list(inputs))
        yield key, "first", count
        yield key, "second", count


class Stamp(ProcessFunction):
    def process_element(self, value, ctx):
        yield *value, ctx.timestamp()


EVENTS = [("a", 1, 0), ("a", 2, 8_000), ("a", 4, 4_000), ("b", 8, 4_500), ("a", 16, 30_000)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    windowed = (
        timed(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(EventTimeSessionWindows.with_gap(Time.seconds(5)))
    )
    return windowed.apply(Twice()).process(Stamp())

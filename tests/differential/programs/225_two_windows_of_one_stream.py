"""One keyed stream in two kinds of windows, and the union of their results.

compare: ordered_by_key:0
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Named(ProcessWindowFunction):
    def __init__(self, name):
        self.name = name

    def process(self, key, context, elements):
        window = context.window()
        yield self.name + key, window.start, window.end, len(list(elements))


EVENTS = [("a", 1, 1_000), ("b", 2, 6_000), ("a", 3, 4_999), ("a", 4, 12_000)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    keyed = timed(env, EVENTS).key_by(lambda event: event[0])
    tumbling = keyed.window(TumblingEventTimeWindows.of(Time.seconds(5))).process(
        Named("tumbling ")
    )
    sessions = keyed.window(EventTimeSessionWindows.with_gap(Time.seconds(5))).process(
        Named("session ")
    )
    return tumbling.union(sessions)

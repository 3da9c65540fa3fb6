"""Lists and plain objects as keys of windows: the serialized form decides.

compare: multiset
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


class Place:
    def __init__(self, name):
        self.name = name


class Show(ProcessWindowFunction):
    def process(self, key, context, elements):
        text = key.name if isinstance(key, Place) else str(key)
        yield text, sorted(element[1] for element in elements)


EVENTS = [("a", 1, 1_000), ("b", 2, 2_000), ("a", 3, 3_000)]


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    windows = TumblingEventTimeWindows.of(Time.seconds(5))
    return {
        "list": timed(env, EVENTS)
        .key_by(lambda event: [event[0], 1])
        .window(windows)
        .process(Show()),
        "object": timed(env, EVENTS)
        .key_by(lambda event: Place(event[0]))
        .window(windows)
        .process(Show()),
    }

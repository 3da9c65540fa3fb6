"""A purging trigger with allowed lateness: a late firing shows the late record alone.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
watermarks: each record
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import EventTimeTrigger, PurgingTrigger, TumblingEventTimeWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def ordered(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Span(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, sorted(element[1] for element in elements)


EVENTS = [
    ("a", 1, 1_000),
    ("a", 2, 5_100),
    ("a", 4, 2_000),
    ("a", 8, 6_500),
    ("a", 16, 3_000),
    ("b", 1, 4_999),
]


def build(env: StreamExecutionEnvironment) -> DataStream:
    windowed = (
        ordered(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
    )
    return (
        windowed.trigger(PurgingTrigger.of(EventTimeTrigger.create()))
        .allowed_lateness(2_000)
        .process(Span())
    )

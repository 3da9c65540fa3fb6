"""A record whose own session would be late is not, if it falls into a session that is still
open.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
watermarks: each record
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import EventTimeSessionWindows


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


LATE = OutputTag("late")
EVENTS = [
    ("a", 1, 10_000),
    ("a", 2, 14_000),
    ("b", 1, 18_000),
    ("a", 4, 9_000),
    ("a", 8, 1_000),
    ("a", 16, 40_000),
]


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    windowed = (
        ordered(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(EventTimeSessionWindows.with_gap(Time.seconds(5)))
    )
    main = windowed.side_output_late_data(LATE).process(Span())
    return {"main": main, "late": main.get_side_output(LATE)}

"""A record that is late for one of its sliding windows still counts in the others, and is not
late.

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
from pyflink.datastream.window import SlidingEventTimeWindows


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
    ("a", 1, 1_000),
    ("a", 2, 6_000),
    ("a", 4, 4_000),
    ("a", 8, 11_000),
    ("a", 16, 3_000),
    ("a", 32, 12_000),
]


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    windowed = (
        ordered(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5)))
    )
    main = windowed.side_output_late_data(LATE).process(Span())
    return {"main": main, "late": main.get_side_output(LATE)}

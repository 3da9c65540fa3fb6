"""A slide longer than the size: what falls between two windows is in none, and is not late
either.

compare: ordered_by_key:0
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import SlidingEventTimeWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Span(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, sorted(element[1] for element in elements)


LATE = OutputTag("late")
EVENTS = [
    ("a", 1, 0),
    ("a", 2, 3_999),
    ("a", 3, 4_000),
    ("a", 4, 9_999),
    ("a", 5, 10_000),
    ("b", 6, 7_000),
]


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    windows = SlidingEventTimeWindows.of(Time.seconds(4), Time.seconds(10))
    main = (
        timed(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(windows)
        .side_output_late_data(LATE)
        .process(Span())
    )
    return {"main": main, "late": main.get_side_output(LATE)}

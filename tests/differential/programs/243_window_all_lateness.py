"""Lateness of windows over the whole stream: refiring, and the side output.

compare: ordered
parallelism: 1
mode: streaming
watermarks: each record
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessAllWindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def ordered(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


LATE = OutputTag("late")


class Show(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield context.window().start, sorted(element[1] for element in elements)


EVENTS = [
    ("a", 1, 1_000),
    ("b", 2, 5_100),
    ("c", 4, 2_000),
    ("a", 8, 6_999),
    ("b", 16, 7_001),
    ("c", 32, 4_000),
]


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    windowed = ordered(env, EVENTS).window_all(TumblingEventTimeWindows.of(Time.seconds(5)))
    main = windowed.allowed_lateness(2_000).side_output_late_data(LATE).process(Show())
    return {"main": main, "late": main.get_side_output(LATE)}

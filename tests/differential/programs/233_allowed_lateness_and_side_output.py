"""Records within the allowed lateness refire their window; later ones go to the side output.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
watermarks: each record
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import AggregateFunction, DataStream, OutputTag, StreamExecutionEnvironment
from pyflink.datastream.window import TumblingEventTimeWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def ordered(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


def add(left, right):
    return left[0], left[1] + right[1], max(left[2], right[2])


class Sum(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value[1]

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


LATE = OutputTag("late")
EVENTS = [
    ("a", 1, 1_000),
    ("a", 2, 5_100),
    ("a", 4, 2_000),
    ("a", 8, 6_999),
    ("a", 16, 3_000),
    ("a", 32, 7_001),
    ("a", 64, 4_000),
]


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    windowed = (
        ordered(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
    )
    main = windowed.allowed_lateness(2_000).side_output_late_data(LATE).aggregate(Sum())
    return {"late": main.get_side_output(LATE), "main": main.map(lambda total: ("sum", total))}

"""Sessions that merge late, aggregated, with what is too late at the side.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
watermarks: each record
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import AggregateFunction, DataStream, OutputTag, StreamExecutionEnvironment
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


class Label(ProcessWindowFunction):
    def process(self, key, context, elements):
        for total in elements:
            yield key, context.window().start, context.window().end, total


EVENTS = [
    ("a", 1, 0),
    ("b", 128, 7_000),
    ("a", 4, 4_000),
    ("a", 8, 20_000),
    ("a", 16, 3_000),
    ("a", 32, 17_000),
    ("b", 64, 1_000),
]


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    windowed = (
        ordered(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(EventTimeSessionWindows.with_gap(Time.seconds(5)))
    )
    main = windowed.allowed_lateness(3_000).side_output_late_data(LATE).aggregate(Sum(), Label())
    return {"main": main, "late": main.get_side_output(LATE)}

"""The two best sellers of each window: totals by item, then the items of a window side by side.

compare: ordered
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import AggregateFunction, DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessAllWindowFunction, ProcessWindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
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


class Total(ProcessWindowFunction):
    def process(self, key, context, elements):
        for total in elements:
            yield key, total, context.window().end


class TopTwo(ProcessAllWindowFunction):
    def process(self, context, elements):
        ranked = sorted(elements, key=lambda total: (-total[1], total[0]))
        yield context.window().end, [(name, total) for name, total, _ in ranked[:2]]


EVENTS = [
    ("tea", 1, 1_000),
    ("milk", 2, 1_500),
    ("rice", 3, 2_000),
    ("tea", 3, 3_000),
    ("milk", 1, 6_000),
    ("rice", 1, 7_000),
    ("salt", 9, 8_000),
    ("tea", 2, 9_000),
]


def build(env: StreamExecutionEnvironment) -> DataStream:
    totals = (
        timed(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .aggregate(Sum(), Total())
    )
    return totals.window_all(TumblingEventTimeWindows.of(Time.seconds(5))).process(TopTwo())

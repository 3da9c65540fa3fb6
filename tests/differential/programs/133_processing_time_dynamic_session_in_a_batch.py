"""Dynamic processing-time sessions, with gaps of days.

compare: multiset
parallelism: 1
mode: batch
"""

from pyflink.datastream import AggregateFunction, DataStream, StreamExecutionEnvironment
from pyflink.datastream.window import (
    DynamicProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
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


class Days(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return element[1] * 86_400_000


def build(env: StreamExecutionEnvironment) -> DataStream:
    keyed = env.from_collection([("a", 1), ("b", 2), ("a", 3), ("a", 5)]).key_by(
        lambda event: event[0]
    )
    return keyed.window(DynamicProcessingTimeSessionWindows.with_dynamic_gap(Days())).aggregate(
        Sum()
    )

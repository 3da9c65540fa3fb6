"""Processing-time sessions with a gap of a day: all records of a key are one session.

compare: multiset
parallelism: 1
mode: batch
"""

from pyflink.common.time import Time
from pyflink.datastream import AggregateFunction, DataStream, StreamExecutionEnvironment
from pyflink.datastream.window import ProcessingTimeSessionWindows


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


def build(env: StreamExecutionEnvironment) -> DataStream:
    keyed = env.from_collection([("a", 1), ("b", 2), ("a", 3), ("a", 5)]).key_by(
        lambda event: event[0]
    )
    return keyed.window(ProcessingTimeSessionWindows.with_gap(Time.days(1))).aggregate(Sum())

"""Count windows with an aggregate function and a window function after it.

compare: ordered_by_key:0
parallelism: 1
mode: streaming, batch
"""

from pyflink.datastream import AggregateFunction, DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import WindowFunction


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


class Label(WindowFunction):
    def apply(self, key, window, inputs):
        yield key, window.id, list(inputs)


EVENTS = [("a", 1), ("a", 2), ("b", 5), ("a", 3), ("b", 6), ("a", 4)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        env.from_collection(EVENTS)
        .key_by(lambda event: event[0])
        .count_window(2)
        .aggregate(Sum(), Label())
    )

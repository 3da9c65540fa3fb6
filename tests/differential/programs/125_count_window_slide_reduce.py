"""Sliding count windows, reduced.

compare: ordered_by_key:0
parallelism: 1
mode: streaming, batch
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment

EVENTS = [("a", 2**number) for number in range(9)] + [("b", 1), ("b", 2), ("b", 4), ("b", 8)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        env.from_collection(EVENTS)
        .key_by(lambda event: event[0])
        .count_window(3, 1)
        .reduce(lambda left, right: (left[0], left[1] + right[1]))
    )

"""Count windows of three, reduced; the records left over give nothing. No timestamps are needed.

compare: ordered_by_key:0
parallelism: 1
mode: streaming, batch
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment

EVENTS = [
    ("a", 1),
    ("b", 10),
    ("a", 2),
    ("a", 3),
    ("b", 20),
    ("a", 4),
    ("b", 30),
    ("a", 5),
    ("a", 6),
    ("a", 7),
]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        env.from_collection(EVENTS)
        .key_by(lambda event: event[0])
        .count_window(3)
        .reduce(lambda left, right: (left[0], left[1] + right[1]))
    )

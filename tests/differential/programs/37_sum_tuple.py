"""A rolling sum over a field of tuples: the other fields stay those of the first record.

compare: ordered_by_key:0
parallelism: 2
mode: streaming, batch
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        env.from_collection([("a", 1, "x"), ("b", 2, "y"), ("a", 3, "z"), ("a", 4, "w")])
        .key_by(lambda item: item[0])
        .sum(1)
    )

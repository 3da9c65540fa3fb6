"""A rolling reduce with keyed stages and maps behind it, in one chain of three keyed stages.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        env.from_collection([("a", 1), ("b", 2), ("a", 3), ("b", 4), ("a", 5)])
        .key_by(lambda pair: pair[0])
        .reduce(lambda left, right: (left[0], left[1] + right[1]))
        .map(lambda pair: (pair[0], pair[1] * 10))
        .key_by(lambda pair: pair[0])
        .max(1)
        .key_by(lambda pair: pair[0])
        .sum(1)
    )

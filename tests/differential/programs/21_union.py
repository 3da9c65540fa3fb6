"""A union of three streams, one of them mapped, followed by a filter.

compare: multiset
parallelism: 1
mode: streaming, batch
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment) -> DataStream:
    first = env.from_collection([1, 2])
    second = env.from_collection([10, 20]).map(lambda value: value + 1)
    third = env.from_collection([100, 200])
    return first.union(second, third).filter(lambda value: value != 200)

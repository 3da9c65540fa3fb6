"""A stream in union with itself and with its own map: every record is there each time.

compare: multiset
parallelism: 1
mode: streaming
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment) -> DataStream:
    source = env.from_collection([1, 2, 3])
    return source.union(source, source.map(lambda value: -value))

"""A field other than the first of a plain value cannot be summed.

compare: raises:TypeError
parallelism: 1
mode: streaming
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1, 2]).key_by(lambda value: 0).sum(1)

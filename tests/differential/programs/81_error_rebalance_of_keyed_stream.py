"""A keyed stream cannot be repartitioned.

compare: raises
parallelism: 1
mode: streaming
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1]).key_by(lambda value: value).rebalance()

"""Integers without a declared type, one map behind them.

compare: ordered
parallelism: 1
mode: streaming, batch
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([3, 1, 2]).map(lambda value: value * 10)

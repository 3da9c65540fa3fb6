"""Rebalance, shuffle, rescale and forward lose and double nothing.

compare: multiset
parallelism: 2
mode: streaming, batch
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        env.from_collection(list(range(20)))
        .rebalance()
        .map(lambda value: value + 1)
        .shuffle()
        .map(lambda value: value * 2)
        .rescale()
        .map(lambda value: value - 1)
        .forward()
        .filter(lambda value: value % 3 != 0)
    )

"""Unordered wait: all results come, in an order that is not promised.

compare: multiset
parallelism: 1
mode: streaming, batch
"""

import asyncio

from pyflink.common.time import Time
from pyflink.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    StreamExecutionEnvironment,
)


class Slow(AsyncFunction):
    async def async_invoke(self, value):
        await asyncio.sleep((5 - value) * 0.002)
        return [value * 10]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return AsyncDataStream.unordered_wait(
        env.from_collection([1, 2, 3, 4, 5]), Slow(), Time.seconds(10)
    )

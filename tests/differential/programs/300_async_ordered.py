"""Ordered wait: results come in the order of the records, though the first ones take longest.

compare: ordered
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
        await asyncio.sleep((5 - value) * 0.004)
        return [value * 10]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return AsyncDataStream.ordered_wait(
        env.from_collection([1, 2, 3, 4, 5]), Slow(), Time.seconds(10)
    )

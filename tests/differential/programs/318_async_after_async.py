"""One asynchronous step after another, both ordered.

compare: ordered
parallelism: 1
mode: streaming
"""

import asyncio

from pyflink.common.time import Time
from pyflink.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    StreamExecutionEnvironment,
)


class Add(AsyncFunction):
    def __init__(self, number):
        self.number = number

    async def async_invoke(self, value):
        await asyncio.sleep(0.001 * (value % 3))
        return [value + self.number]


def build(env: StreamExecutionEnvironment) -> DataStream:
    first = AsyncDataStream.ordered_wait(
        env.from_collection(list(range(6))), Add(100), Time.seconds(10)
    )
    return AsyncDataStream.ordered_wait(first, Add(1_000), Time.seconds(10))

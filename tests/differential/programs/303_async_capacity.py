"""A capacity of two: no more than two calls are under way at once. Each result says whether that
held.

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
    RuntimeContext,
    StreamExecutionEnvironment,
)


class Busy(AsyncFunction):
    def open(self, runtime_context: RuntimeContext):
        self.running = 0

    async def async_invoke(self, value):
        self.running += 1
        within = self.running <= 2
        await asyncio.sleep(0.002)
        self.running -= 1
        return [(value, within)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    stream = env.from_collection(list(range(8)))
    return AsyncDataStream.ordered_wait(stream, Busy(), Time.seconds(10), capacity=2)

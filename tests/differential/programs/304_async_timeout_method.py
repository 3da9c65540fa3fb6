"""A call that takes too long: timeout() gives the result in its place.

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


class Sometimes(AsyncFunction):
    async def async_invoke(self, value):
        if value == 2:
            await asyncio.sleep(60)
        return [("done", value)]

    def timeout(self, value):
        return [("too late", value)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return AsyncDataStream.ordered_wait(
        env.from_collection([1, 2, 3]), Sometimes(), Time.milliseconds(250)
    )

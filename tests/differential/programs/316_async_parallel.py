"""Asynchronous calls in two subtasks, with a type of the result.

compare: multiset
parallelism: 2
mode: streaming
"""

import asyncio

from pyflink.common import Types
from pyflink.common.time import Time
from pyflink.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    StreamExecutionEnvironment,
)


class Text(AsyncFunction):
    async def async_invoke(self, value):
        await asyncio.sleep(0.001)
        return [f"number {value}"]


def build(env: StreamExecutionEnvironment) -> DataStream:
    stream = env.from_collection(list(range(12)))
    return AsyncDataStream.unordered_wait(stream, Text(), Time.seconds(10), 4, Types.STRING())

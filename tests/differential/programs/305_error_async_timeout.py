"""A call that takes too long fails the job, where the function does not say what to do then.

compare: raises:TimeoutError
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


class Never(AsyncFunction):
    async def async_invoke(self, value):
        await asyncio.sleep(60)
        return [value]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return AsyncDataStream.ordered_wait(
        env.from_collection([1, 2, 3]), Never(), Time.milliseconds(50)
    )

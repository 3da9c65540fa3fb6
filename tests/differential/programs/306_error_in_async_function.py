"""An error in an asynchronous function fails the job.

compare: raises:LookupError
parallelism: 1
mode: streaming
"""

from pyflink.common.time import Time
from pyflink.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    StreamExecutionEnvironment,
)


class Missing(LookupError):
    pass


class Find(AsyncFunction):
    async def async_invoke(self, value):
        if value == 2:
            raise Missing(value)
        return [value]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return AsyncDataStream.unordered_wait(env.from_collection([1, 2, 3]), Find(), Time.seconds(10))

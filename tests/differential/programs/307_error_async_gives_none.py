"""An asynchronous function that gives None and no list fails the job.

compare: raises:Exception
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


class Nothing(AsyncFunction):
    async def async_invoke(self, value):
        return None


def build(env: StreamExecutionEnvironment) -> DataStream:
    return AsyncDataStream.ordered_wait(env.from_collection([1]), Nothing(), Time.seconds(10))

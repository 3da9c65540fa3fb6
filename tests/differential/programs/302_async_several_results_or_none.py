"""An asynchronous function gives a list: several results, or none.

compare: ordered
parallelism: 1
mode: streaming
"""

from pyflink.common import Types
from pyflink.common.time import Time
from pyflink.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    StreamExecutionEnvironment,
)


class Count(AsyncFunction):
    async def async_invoke(self, value):
        return list(range(value))


def build(env: StreamExecutionEnvironment) -> DataStream:
    stream = env.from_collection([2, 0, 3])
    return AsyncDataStream.ordered_wait(stream, Count(), Time.seconds(10), output_type=Types.INT())

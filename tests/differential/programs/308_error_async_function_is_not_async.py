"""An async_invoke that is no coroutine function is refused when the program is built.

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


class Plain(AsyncFunction):
    def async_invoke(self, value):
        return [value]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return AsyncDataStream.ordered_wait(env.from_collection([1]), Plain(), Time.seconds(10))

"""An asynchronous function opens before its first call.

compare: ordered
parallelism: 1
mode: streaming
"""

from pyflink.common.time import Time
from pyflink.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    RuntimeContext,
    StreamExecutionEnvironment,
)


class Table(AsyncFunction):
    def open(self, runtime_context: RuntimeContext):
        self.names = {1: "one", 2: "two"}

    def close(self):
        self.names = None

    async def async_invoke(self, value):
        return [(value, self.names.get(value))]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return AsyncDataStream.ordered_wait(env.from_collection([1, 2, 3]), Table(), Time.seconds(10))

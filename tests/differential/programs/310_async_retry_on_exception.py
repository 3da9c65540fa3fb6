"""Retries after an exception, unordered.

compare: multiset
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
from pyflink.datastream.async_retry_predicates import has_exception_predicate
from pyflink.datastream.functions import AsyncRetryStrategy


class SecondTime(AsyncFunction):
    def open(self, runtime_context: RuntimeContext):
        self.attempts = {}

    async def async_invoke(self, value):
        self.attempts[value] = self.attempts.get(value, 0) + 1
        if self.attempts[value] < 2:
            raise ConnectionError(value)
        return [(value, self.attempts[value])]


def build(env: StreamExecutionEnvironment) -> DataStream:
    strategy = AsyncRetryStrategy.fixed_delay(3, 1, None, has_exception_predicate)
    stream = env.from_collection([1, 2, 3])
    return AsyncDataStream.unordered_wait_with_retry(
        stream, SecondTime(), Time.seconds(20), strategy
    )

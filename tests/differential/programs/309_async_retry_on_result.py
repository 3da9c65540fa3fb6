"""Retries with a fixed delay while the result is empty: each record succeeds at its third
attempt.

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
from pyflink.datastream.async_retry_predicates import empty_result_predicate
from pyflink.datastream.functions import AsyncRetryStrategy


class ThirdTime(AsyncFunction):
    def open(self, runtime_context: RuntimeContext):
        self.attempts = {}

    async def async_invoke(self, value):
        self.attempts[value] = self.attempts.get(value, 0) + 1
        return [(value, self.attempts[value])] if self.attempts[value] == 3 else []


def build(env: StreamExecutionEnvironment) -> DataStream:
    strategy = AsyncRetryStrategy.fixed_delay(5, 1, empty_result_predicate, None)
    stream = env.from_collection([1, 2, 3])
    return AsyncDataStream.ordered_wait_with_retry(stream, ThirdTime(), Time.seconds(20), strategy)

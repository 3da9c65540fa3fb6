"""The timeout counts over all attempts: a call that is retried for ever ends in timeout().

compare: ordered
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
from pyflink.datastream.async_retry_predicates import empty_result_predicate
from pyflink.datastream.functions import AsyncRetryStrategy


class Never(AsyncFunction):
    async def async_invoke(self, value):
        return [] if value == 2 else [("done", value)]

    def timeout(self, value):
        return [("too late", value)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    strategy = AsyncRetryStrategy.fixed_delay(1_000_000, 5, empty_result_predicate, None)
    stream = env.from_collection([1, 2, 3])
    return AsyncDataStream.ordered_wait_with_retry(
        stream, Never(), Time.milliseconds(250), strategy
    )

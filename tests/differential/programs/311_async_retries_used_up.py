"""When the attempts are used up, the last result stands: here an empty one for 2.

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


class Hopeless(AsyncFunction):
    async def async_invoke(self, value):
        return [] if value == 2 else [value]


def build(env: StreamExecutionEnvironment) -> DataStream:
    strategy = AsyncRetryStrategy.fixed_delay(2, 1, empty_result_predicate, None)
    stream = env.from_collection([1, 2, 3])
    return AsyncDataStream.ordered_wait_with_retry(stream, Hopeless(), Time.seconds(20), strategy)

"""When the attempts are used up, the last exception fails the job.

compare: raises:ConnectionError
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
from pyflink.datastream.async_retry_predicates import has_exception_predicate
from pyflink.datastream.functions import AsyncRetryStrategy


class Hopeless(AsyncFunction):
    async def async_invoke(self, value):
        raise ConnectionError(value)


def build(env: StreamExecutionEnvironment) -> DataStream:
    strategy = AsyncRetryStrategy.fixed_delay(2, 1, None, has_exception_predicate)
    stream = env.from_collection([1, 2, 3])
    return AsyncDataStream.ordered_wait_with_retry(stream, Hopeless(), Time.seconds(20), strategy)

"""Asynchronous functions: order, capacity, timeouts, retries."""

import asyncio

from pyflink.common import Types
from pyflink.common.time import Time
from pyflink.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.async_retry_predicates import (
    empty_result_predicate,
    has_exception_predicate,
)
from pyflink.datastream.functions import AsyncRetryStrategy

from .common import FIVE_SECONDS, Missing, Span, add, program, timed


class Slow(AsyncFunction):
    def __init__(self, step_s):
        self.step_s = step_s

    async def async_invoke(self, value):
        await asyncio.sleep((5 - value) * self.step_s)
        return [value * 10]


@program(300, compare="ordered", python="process")
def async_ordered(env: StreamExecutionEnvironment) -> DataStream:
    """Ordered wait: results come in the order of the records, though the first take longest."""
    return AsyncDataStream.ordered_wait(
        env.from_collection([1, 2, 3, 4, 5]), Slow(0.004), Time.seconds(10)
    )


@program(301, compare="multiset", python="process")
def async_unordered(env: StreamExecutionEnvironment) -> DataStream:
    """Unordered wait: all results come, in an order that is not promised."""
    return AsyncDataStream.unordered_wait(
        env.from_collection([1, 2, 3, 4, 5]), Slow(0.002), Time.seconds(10)
    )


class CountUp(AsyncFunction):
    async def async_invoke(self, value):
        return list(range(value))


@program(302, compare="ordered", mode="streaming")
def async_several_results_or_none(env: StreamExecutionEnvironment) -> DataStream:
    """An asynchronous function gives a list: several results, or none."""
    stream = env.from_collection([2, 0, 3])
    return AsyncDataStream.ordered_wait(
        stream, CountUp(), Time.seconds(10), output_type=Types.INT()
    )


class Busy(AsyncFunction):
    def open(self, runtime_context: RuntimeContext):
        self.running = 0

    async def async_invoke(self, value):
        self.running += 1
        within = self.running <= 2
        await asyncio.sleep(0.002)
        self.running -= 1
        return [(value, within)]


@program(303, compare="ordered", mode="streaming")
def async_capacity(env: StreamExecutionEnvironment) -> DataStream:
    """A capacity of two: at most two calls run at once. Each result says whether that held."""
    stream = env.from_collection(list(range(8)))
    return AsyncDataStream.ordered_wait(stream, Busy(), Time.seconds(10), capacity=2)


EVENTS = [("a", 1, 1_000), ("b", 2, 6_000), ("a", 3, 4_999), ("a", 5, 12_000)]


class Double(AsyncFunction):
    async def async_invoke(self, value):
        await asyncio.sleep(0)
        return [(value[0], value[1] * 2, value[2]), (value[0], 0, value[2])]


@program(315, compare="ordered_by_key:0", mode="streaming")
def async_keeps_timestamps(env: StreamExecutionEnvironment) -> DataStream:
    """Results of asynchronous calls keep their records' timestamps, for a window after them."""
    doubled = AsyncDataStream.unordered_wait(timed(env, EVENTS), Double(), Time.seconds(10))
    return doubled.key_by(lambda event: event[0]).window(FIVE_SECONDS).process(Span())


class Text(AsyncFunction):
    async def async_invoke(self, value):
        await asyncio.sleep(0.001)
        return [f"number {value}"]


@program(316, compare="multiset", parallelism=2, mode="streaming")
def async_parallel(env: StreamExecutionEnvironment) -> DataStream:
    """Asynchronous calls in two subtasks, with a type of the result."""
    stream = env.from_collection(list(range(12)))
    return AsyncDataStream.unordered_wait(stream, Text(), Time.seconds(10), 4, Types.STRING())


class Table(AsyncFunction):
    def open(self, runtime_context: RuntimeContext):
        self.names = {1: "one", 2: "two"}

    def close(self):
        self.names = None

    async def async_invoke(self, value):
        return [(value, self.names.get(value))]


@program(317, compare="ordered", mode="streaming")
def async_open_and_close(env: StreamExecutionEnvironment) -> DataStream:
    """An asynchronous function opens before its first call."""
    return AsyncDataStream.ordered_wait(env.from_collection([1, 2, 3]), Table(), Time.seconds(10))


class Add(AsyncFunction):
    def __init__(self, number):
        self.number = number

    async def async_invoke(self, value):
        await asyncio.sleep(0.001 * (value % 3))
        return [value + self.number]


@program(318, compare="ordered", mode="streaming")
def async_after_async(env: StreamExecutionEnvironment) -> DataStream:
    """One asynchronous step after another, both ordered."""
    first = AsyncDataStream.ordered_wait(
        env.from_collection(list(range(6))), Add(100), Time.seconds(10)
    )
    return AsyncDataStream.ordered_wait(first, Add(1_000), Time.seconds(10))


class Look(AsyncFunction):
    async def async_invoke(self, value):
        await asyncio.sleep(0.001)
        return [(value[0], value[1], {"a": "anna", "b": "ben"}[value[0]])]


@program(319, compare="ordered_by_key:0", mode="streaming")
def async_of_window_results(env: StreamExecutionEnvironment) -> DataStream:
    """Results of windows, looked up asynchronously."""
    totals = timed(env, EVENTS).key_by(lambda event: event[0]).window(FIVE_SECONDS).reduce(add)
    return AsyncDataStream.ordered_wait(totals, Look(), Time.seconds(10))


class Sometimes(AsyncFunction):
    async def async_invoke(self, value):
        if value == 2:
            await asyncio.sleep(60)
        return [("done", value)]

    def timeout(self, value):
        return [("too late", value)]


@program(304, compare="ordered", mode="streaming")
def async_timeout_method(env: StreamExecutionEnvironment) -> DataStream:
    """A call that takes too long: timeout() gives the result in its place."""
    return AsyncDataStream.ordered_wait(
        env.from_collection([1, 2, 3]), Sometimes(), Time.milliseconds(250)
    )


class AtAttempt(AsyncFunction):
    def __init__(self, number):
        self.number = number

    def open(self, runtime_context: RuntimeContext):
        self.attempts = {}

    async def async_invoke(self, value):
        self.attempts[value] = self.attempts.get(value, 0) + 1
        return [(value, self.attempts[value])] if self.attempts[value] == self.number else []


@program(309, compare="ordered", mode="streaming")
def async_retry_on_result(env: StreamExecutionEnvironment) -> DataStream:
    """Retries with a fixed delay while the result is empty: the third attempt succeeds."""
    strategy = AsyncRetryStrategy.fixed_delay(5, 1, empty_result_predicate, None)
    stream = env.from_collection([1, 2, 3])
    return AsyncDataStream.ordered_wait_with_retry(stream, AtAttempt(3), Time.seconds(20), strategy)


class SecondTime(AsyncFunction):
    def open(self, runtime_context: RuntimeContext):
        self.attempts = {}

    async def async_invoke(self, value):
        self.attempts[value] = self.attempts.get(value, 0) + 1
        if self.attempts[value] < 2:
            raise ConnectionError(value)
        return [(value, self.attempts[value])]


@program(310, compare="multiset", mode="streaming")
def async_retry_on_exception(env: StreamExecutionEnvironment) -> DataStream:
    """Retries after an exception, unordered."""
    strategy = AsyncRetryStrategy.fixed_delay(3, 1, None, has_exception_predicate)
    stream = env.from_collection([1, 2, 3])
    return AsyncDataStream.unordered_wait_with_retry(
        stream, SecondTime(), Time.seconds(20), strategy
    )


class EmptyForTwo(AsyncFunction):
    async def async_invoke(self, value):
        return [] if value == 2 else [value]


@program(311, compare="ordered", mode="streaming")
def async_retries_used_up(env: StreamExecutionEnvironment) -> DataStream:
    """When the attempts are used up, the last result stands: here an empty one for 2."""
    strategy = AsyncRetryStrategy.fixed_delay(2, 1, empty_result_predicate, None)
    stream = env.from_collection([1, 2, 3])
    return AsyncDataStream.ordered_wait_with_retry(
        stream, EmptyForTwo(), Time.seconds(20), strategy
    )


@program(313, compare="ordered", mode="streaming")
def async_retry_exponential(env: StreamExecutionEnvironment) -> DataStream:
    """Retries with growing delays: one millisecond, two, four."""
    strategy = AsyncRetryStrategy.exponential_backoff(6, 1, 10, 2.0, empty_result_predicate, None)
    stream = env.from_collection([1, 2])
    return AsyncDataStream.ordered_wait_with_retry(stream, AtAttempt(4), Time.seconds(20), strategy)


class NeverForTwo(AsyncFunction):
    async def async_invoke(self, value):
        return [] if value == 2 else [("done", value)]

    def timeout(self, value):
        return [("too late", value)]


@program(314, compare="ordered", mode="streaming")
def async_retry_then_timeout(env: StreamExecutionEnvironment) -> DataStream:
    """The timeout counts over all attempts: a call that is retried for ever ends in timeout()."""
    strategy = AsyncRetryStrategy.fixed_delay(1_000_000, 5, empty_result_predicate, None)
    stream = env.from_collection([1, 2, 3])
    return AsyncDataStream.ordered_wait_with_retry(
        stream, NeverForTwo(), Time.milliseconds(250), strategy
    )


class NeverDone(AsyncFunction):
    async def async_invoke(self, value):
        await asyncio.sleep(60)
        return [value]


@program(305, compare="raises:TimeoutError", mode="streaming")
def error_async_timeout(env: StreamExecutionEnvironment) -> DataStream:
    """A call that takes too long fails the job, where the function does not say what to do then."""
    return AsyncDataStream.ordered_wait(
        env.from_collection([1, 2, 3]), NeverDone(), Time.milliseconds(50)
    )


class Find(AsyncFunction):
    async def async_invoke(self, value):
        if value == 2:
            raise Missing(value)
        return [value]


@program(306, compare="raises:LookupError", mode="streaming")
def error_in_async_function(env: StreamExecutionEnvironment) -> DataStream:
    """An error in an asynchronous function fails the job."""
    return AsyncDataStream.unordered_wait(env.from_collection([1, 2, 3]), Find(), Time.seconds(10))


class Nothing(AsyncFunction):
    async def async_invoke(self, value):
        return None


@program(307, compare="raises:Exception", mode="streaming")
def error_async_gives_none(env: StreamExecutionEnvironment) -> DataStream:
    """An asynchronous function that gives None and no list fails the job."""
    return AsyncDataStream.ordered_wait(env.from_collection([1]), Nothing(), Time.seconds(10))


class NotAsync(AsyncFunction):
    def async_invoke(self, value):
        return [value]


@program(308, compare="raises:Exception", mode="streaming")
def error_async_function_is_not_async(env: StreamExecutionEnvironment) -> DataStream:
    """An async_invoke that is no coroutine function is refused when the program is built."""
    return AsyncDataStream.ordered_wait(env.from_collection([1]), NotAsync(), Time.seconds(10))


class AlwaysFails(AsyncFunction):
    async def async_invoke(self, value):
        raise ConnectionError(value)


@program(312, compare="raises:ConnectionError", mode="streaming")
def error_async_retries_used_up(env: StreamExecutionEnvironment) -> DataStream:
    """When the attempts are used up, the last exception fails the job."""
    strategy = AsyncRetryStrategy.fixed_delay(2, 1, None, has_exception_predicate)
    stream = env.from_collection([1, 2, 3])
    return AsyncDataStream.ordered_wait_with_retry(
        stream, AlwaysFails(), Time.seconds(20), strategy
    )

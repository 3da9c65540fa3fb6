"""What the methods of AsyncDataStream take and refuse, and the strategies."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from headrace.common import Configuration, Duration, Time, Types
from headrace.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
    DataStream,
    LookupCache,
    MapFunction,
    StreamExecutionEnvironment,
    async_retry_predicates,
)
from headrace.datastream.async_retry_strategies import (
    NO_RETRY_STRATEGY,
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
    NoRetryStrategy,
    RetryPredicate,
)
from headrace.datastream.functions import AsyncFunctionDescriptor
from headrace.datastream.state import ValueStateDescriptor
from headrace.errors import (
    PlanError,
    TypeMismatchError,
    UnpicklableFunctionError,
    WrongFunctionError,
)
from headrace.operators.asynchronous.cache import CacheLimits
from headrace.operators.asynchronous.operator import AsyncWaitSpec


class Echo(AsyncFunction[Any, Any]):
    async def async_invoke(self, value: Any) -> list[Any]:
        return [value]


async def echo(value: Any) -> Any:
    return value


def stream() -> DataStream:
    return StreamExecutionEnvironment(Configuration()).from_collection([1, 2])


def spec_of(made: DataStream) -> AsyncWaitSpec:
    spec = made._edges[0].source.spec
    assert isinstance(spec, AsyncWaitSpec)
    return spec


LOCK = threading.Lock()
FIXED = AsyncRetryStrategy.fixed_delay(3, 10, None, None)


@pytest.mark.parametrize(
    ("wait", "ordered", "strategy"),
    [
        (AsyncDataStream.unordered_wait, False, ()),
        (AsyncDataStream.ordered_wait, True, ()),
        (AsyncDataStream.unordered_wait_with_retry, False, (FIXED,)),
        (AsyncDataStream.ordered_wait_with_retry, True, (FIXED,)),
    ],
)
def test_each_method_adds_its_operator(
    wait: Callable[..., DataStream], ordered: bool, strategy: tuple[Any, ...]
) -> None:
    made = wait(stream(), Echo(), Time.seconds(2), *strategy)
    spec = spec_of(made)
    assert (spec.ordered, spec.timeout_ms, spec.capacity) == (ordered, 2000, 100)
    assert (spec.retries.target if spec.retries else None) is (strategy[0] if strategy else None)
    assert made.get_name() == "async wait operator"
    typed = wait(stream(), echo, timedelta(seconds=1), *strategy, 7, Types.INT())
    assert typed.get_type() == Types.INT()
    assert "async wait operator" in typed.explain()


def test_the_options_of_a_cache() -> None:
    cache = LookupCache(
        max_rows=9, expire_after_write=Duration.of_seconds(2), expire_after_access=Time.seconds(1)
    )
    made = AsyncDataStream.ordered_wait(stream(), echo, Time.seconds(2), cache=cache)
    assert spec_of(made).cache == CacheLimits(9, 2000, 1000, True)


class Waits(AsyncFunction[Any, Any]):
    def async_invoke(self, value: Any) -> Any:
        return [value]


class Counts(Echo):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))


class Doubles(MapFunction):
    def map(self, value: Any) -> Any:
        return value


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (Waits(), WrongFunctionError, "Waits is not declared as 'async def'"),
        (lambda value: value, WrongFunctionError, "declare the function as 'async def'"),
        (Echo, WrongFunctionError, "the class Echo itself"),
        (Doubles(), WrongFunctionError, "not a Doubles"),
        (Counts(), PlanError, "uses keyed state"),
    ],
)
def test_functions_that_are_refused(function: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        AsyncDataStream.ordered_wait(stream(), function, Time.seconds(1))


class Own(AsyncRetryStrategy[Any]):
    """A strategy without a predicate."""

    can_retry = get_backoff_time_millis = lambda self, current_attempts: 1

    def get_retry_predicate(self) -> Any:
        return None


@pytest.mark.parametrize(
    ("changed", "kind", "message"),
    [
        ({"timeout": 0}, PlanError, "needs a timeout above zero"),
        ({"timeout": "1 s"}, TypeMismatchError, "the timeout is '1 s'"),
        ({"async_retry_strategy": None}, PlanError, "takes an AsyncRetryStrategy, not None"),
        ({"async_retry_strategy": Own()}, PlanError, "Own gave no AsyncRetryPredicate"),
        ({"capacity": 0}, PlanError, "the capacity must be an int of 1 or more"),
        ({"data_stream": [1, 2]}, PlanError, "takes a DataStream, not a list"),
        ({"cache": {}}, PlanError, "must be a LookupCache"),
        (
            {"cache": LookupCache(key=lambda value: LOCK and value)},
            UnpicklableFunctionError,
            "cannot be sent to a worker",
        ),
    ],
)
def test_arguments_that_are_refused(
    changed: dict[str, Any], kind: type[Exception], message: str
) -> None:
    given = {
        "data_stream": stream(),
        "async_function": Echo(),
        "timeout": Time.seconds(1),
        "async_retry_strategy": FIXED,
    }
    with pytest.raises(kind, match=message):
        AsyncDataStream.unordered_wait_with_retry(**{**given, **changed})


def test_a_timeout_is_not_needed_without_retries() -> None:
    """Without one an attempt may take any time."""
    for timeout, timeout_ms in ((Time.seconds(0), 0), (Duration.of_millis(-1), -1)):
        for made in (
            AsyncDataStream.ordered_wait(stream(), echo, timeout),
            AsyncDataStream.ordered_wait_with_retry(
                stream(), echo, timeout, AsyncRetryStrategy.no_restart()
            ),
        ):
            assert (spec_of(made).timeout_ms, spec_of(made).retries) == (timeout_ms, None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_rows": 0},
        {"expire_after_write": Duration.of_millis(0)},
        {"expire_after_access": Time.seconds(-1)},
        {"key": 5},
        {"join": "name"},
    ],
)
def test_options_of_a_cache_that_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(PlanError):
        LookupCache(**wrong)


def test_the_fixed_delay_strategy() -> None:
    strategy = AsyncRetryStrategy.fixed_delay(2, 30, None, None)
    assert isinstance(strategy, FixedDelayRetryStrategy)
    assert [strategy.can_retry(n) for n in (1, 2, 3)] == [True, True, False]
    assert [strategy.get_backoff_time_millis(n) for n in (1, 2, 9)] == [30, 30, 30]


def test_the_exponential_strategy() -> None:
    strategy = AsyncRetryStrategy.exponential_backoff(9, 10, 100, 1.5, None, None)
    assert isinstance(strategy, ExponentialBackoffDelayRetryStrategy)
    waits = [strategy.get_backoff_time_millis(n) for n in range(1, 10)]
    assert waits == [10, 15, 22, 33, 49, 73, 100, 100, 100]
    # asked for other records in between, it answers the same
    assert [strategy.get_backoff_time_millis(n) for n in (3, 1, 3)] == [22, 10, 22]
    above = ExponentialBackoffDelayRetryStrategy(9, 500, 100, 2.0, None, None)
    assert [above.get_backoff_time_millis(n) for n in (1, 2)] == [500, 100]
    assert above.get_backoff_time_millis(10**9) == 100


def test_no_strategy() -> None:
    assert AsyncRetryStrategy.no_restart() is NO_RETRY_STRATEGY
    strategy: AsyncRetryStrategy[Any] = NoRetryStrategy()
    assert not strategy.can_retry(1) and strategy.get_backoff_time_millis(1) == -1
    predicate = strategy.get_retry_predicate()
    assert predicate.result_predicate() is None and predicate.exception_predicate() is None


@pytest.mark.parametrize("attempts", [0, -1, True, "2"])
def test_so_many_attempts_are_refused(attempts: Any) -> None:
    with pytest.raises(PlanError, match="max_attempts"):
        AsyncRetryStrategy.fixed_delay(attempts, 10, None, None)
    with pytest.raises(PlanError, match="max_attempts"):
        AsyncRetryStrategy.exponential_backoff(attempts, 10, 10, 2.0, None, None)


@pytest.mark.parametrize("multiplier", [0, -1.0, "2", float("nan")])
def test_such_a_multiplier_is_refused(multiplier: Any) -> None:
    with pytest.raises(PlanError, match="multiplier"):
        AsyncRetryStrategy.exponential_backoff(1, 10, 10, multiplier, None, None)


def test_predicates() -> None:
    ready = async_retry_predicates
    assert [ready.empty_result_predicate(r) for r in (None, [], [1])] == [True, True, False]
    assert [ready.has_exception_predicate(e) for e in (None, OSError())] == [False, True]
    of_type = functools.partial(ready.exception_type_predicate, expected_error_type=OSError)
    assert [of_type(e) for e in (ConnectionError(), ValueError())] == [True, False]
    predicate: AsyncRetryPredicate[Any] = RetryPredicate(ready.empty_result_predicate, of_type)
    assert predicate.result_predicate() is ready.empty_result_predicate
    assert predicate.exception_predicate() is of_type


def test_a_descriptor_keeps_what_it_was_given() -> None:
    mode = AsyncFunctionDescriptor.OutputMode
    function = Echo()
    descriptor = AsyncFunctionDescriptor(function, Time.seconds(1), 5, FIXED, mode.ORDERED)
    assert (descriptor.async_function, descriptor.capacity) == (function, 5)
    assert (descriptor.timeout, descriptor.async_retry_strategy) == (Time.seconds(1), FIXED)
    assert descriptor.output_mode is mode.ORDERED
    assert [(each.name, each.value) for each in mode] == [("ORDERED", 0), ("UNORDERED", 1)]

"""Attempts, timeouts and failures of calls, on an event loop without waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headrace.datastream.async_retry_predicates import (
    empty_result_predicate,
    has_exception_predicate,
)
from headrace.datastream.functions import AsyncRetryStrategy
from headrace.operators.asynchronous.calls import Calls, CallSettings, Invoke
from headrace.operators.asynchronous.element_queue import Call
from tests.unit.operators.asynchronous.loops import SkippingLoop


@pytest.fixture
def loop() -> Iterator[SkippingLoop]:
    loop = SkippingLoop()
    yield loop
    loop.close()


def too_late(argument: Any) -> list[Any]:
    return [("late", argument)]


def begun(
    loop: SkippingLoop,
    invoke: Invoke,
    *arguments: Any,
    retries: Any = None,
    timeout_s: float | None = None,
    on_timeout: Callable[[Any], Any] = too_late,
) -> tuple[Calls, list[Call]]:
    calls = Calls(loop, CallSettings(invoke, retries, timeout_s, on_timeout))
    made = [Call(argument, None, argument) for argument in arguments]
    for call in made:
        calls.begin(call)
    return calls, made


def taken(calls: Calls) -> list[Any]:
    found = []
    while not calls.done.empty():
        call = calls.done.get()
        found.append(call.results if call.error is None else call.error)
    return found


async def sleeps(seconds: float) -> list[float]:
    await asyncio.sleep(seconds)
    return [seconds]


class Failing:
    """Raises so many times, or gives so many empty lists, and notes when it was asked."""

    def __init__(self, loop: SkippingLoop, raising: int = 0, empty: int = 0) -> None:
        self._loop, self._raising, self._empty = loop, raising, empty
        self.asked_s: list[float] = []

    async def __call__(self, argument: Any) -> list[Any]:
        self.asked_s.append(round(self._loop.time(), 3))
        attempt = len(self.asked_s)
        if attempt <= self._raising:
            raise OSError(f"attempt {attempt}")
        return [] if attempt <= self._empty else [argument]


def test_calls_are_worked_on_together(loop: SkippingLoop) -> None:
    calls, _ = begun(loop, sleeps, 3, 1, 2)
    loop.run(3.1)
    assert taken(calls) == [[1], [2], [3]]


@pytest.mark.parametrize(
    ("strategy", "asked_s"),
    [
        (AsyncRetryStrategy.fixed_delay(4, 100, None, has_exception_predicate), [0, 0.1, 0.2]),
        (
            AsyncRetryStrategy.exponential_backoff(4, 100, 250, 2, None, has_exception_predicate),
            [0, 0.1, 0.3],
        ),
    ],
)
def test_a_call_is_tried_again_after_an_exception(
    loop: SkippingLoop, strategy: Any, asked_s: list[float]
) -> None:
    function = Failing(loop, raising=2)
    calls, _ = begun(loop, function, "a", retries=strategy, timeout_s=10)
    loop.run(11)
    assert taken(calls) == [["a"]]
    assert function.asked_s == asked_s


def test_so_many_attempts_follow_the_first(loop: SkippingLoop) -> None:
    function = Failing(loop, raising=9)
    strategy = AsyncRetryStrategy.fixed_delay(2, 50, None, has_exception_predicate)
    calls, _ = begun(loop, function, "a", retries=strategy, timeout_s=10)
    loop.run(11)
    (error,) = taken(calls)
    assert isinstance(error, OSError) and str(error) == "attempt 3"
    assert function.asked_s == [0, 0.05, 0.1]


def test_results_are_a_reason_too_and_the_last_ones_count(loop: SkippingLoop) -> None:
    function = Failing(loop, empty=9)
    strategy = AsyncRetryStrategy.fixed_delay(1, 50, empty_result_predicate, None)
    calls, _ = begun(loop, function, "a", retries=strategy, timeout_s=10)
    loop.run(11)
    assert taken(calls) == [[]]
    assert len(function.asked_s) == 2


def test_an_exception_without_a_predicate_for_it_is_final(loop: SkippingLoop) -> None:
    function = Failing(loop, raising=1)
    strategy = AsyncRetryStrategy.fixed_delay(5, 50, empty_result_predicate, None)
    calls, _ = begun(loop, function, "a", retries=strategy, timeout_s=10)
    loop.run(11)
    assert [type(each) for each in taken(calls)] == [OSError]


def test_the_timeout_is_for_all_attempts_together(loop: SkippingLoop) -> None:
    function = Failing(loop, raising=99)
    strategy = AsyncRetryStrategy.fixed_delay(99, 400, None, has_exception_predicate)
    calls, _ = begun(loop, function, "a", retries=strategy, timeout_s=1)
    loop.run(5)
    assert taken(calls) == [[("late", "a")]]
    assert function.asked_s == [0, 0.4, 0.8]


def test_a_call_that_takes_too_long_is_ended_and_answered_once(loop: SkippingLoop) -> None:
    ended = []

    async def stubborn(argument: Any) -> list[Any]:
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            ended.append(loop.time())
        return [argument]

    calls, (slow,) = begun(loop, stubborn, "slow", timeout_s=2)
    loop.run(9)
    assert taken(calls) == [[("late", "slow")]]
    assert ended == [2] and slow.results == [("late", "slow")]


def test_calls_that_are_done_are_forgotten_while_one_waits_for_its_time(
    loop: SkippingLoop,
) -> None:
    calls, _ = begun(loop, sleeps, 100, timeout_s=30)
    for _ in range(29):
        for _ in range(200):
            calls.begin(Call(0.5, None, 0.5))
        loop.run(1)
    assert len(taken(calls)) == 29 * 200
    assert len(calls._deadlines._queue) < 1500
    late = Call(40, None, 40)
    calls.begin(late)
    loop.run(2)
    assert taken(calls) == [[("late", 100)]]
    loop.run(29)
    assert late.results == [("late", 40)] and not calls._deadlines._queue


def test_what_timeout_raises_is_the_calls_error(loop: SkippingLoop) -> None:
    def raising(argument: Any) -> Any:
        raise TimeoutError(argument)

    calls, _ = begun(loop, sleeps, 5, timeout_s=1, on_timeout=raising)
    loop.run(2)
    assert [type(each) for each in taken(calls)] == [TimeoutError]


@pytest.mark.parametrize("error", [SystemExit(3), asyncio.CancelledError()])
def test_what_would_end_the_loop_is_the_calls_error(
    loop: SkippingLoop, error: BaseException
) -> None:
    async def leaves(argument: Any) -> Any:
        raise error

    calls, _ = begun(loop, leaves, "a")
    loop.run(1)
    assert taken(calls) == [error]


def test_a_strategy_that_raises_fails_its_call(loop: SkippingLoop) -> None:
    def wrong(error: Exception) -> bool:
        raise KeyError("wrong")

    strategy = AsyncRetryStrategy.fixed_delay(5, 50, None, wrong)
    calls, _ = begun(loop, Failing(loop, raising=1), "a", retries=strategy, timeout_s=9)
    loop.run(1)
    assert [type(each) for each in taken(calls)] == [KeyError]


def test_calls_that_are_given_up_give_nothing(loop: SkippingLoop) -> None:
    calls, made = begun(loop, sleeps, 1, 2, timeout_s=3)
    loop.run(1.5)
    assert taken(calls) == [[1]]
    calls.abandon(made[1:])
    calls.begin(late := Call(0, None, 0))
    loop.run(5)
    assert taken(calls) == [] and not late.done
    assert not asyncio.all_tasks(loop)

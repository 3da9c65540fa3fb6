"""Retry strategies of asynchronous calls: none, fixed delays, growing delays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from headrace.common._arguments import require_positive
from headrace.errors import PlanError

OUT = TypeVar("OUT")

ResultPredicate = Callable[[list[Any]], bool]
"""Whether a call with these results is retried."""
ExceptionPredicate = Callable[[Exception], bool]
"""Whether a call that raised this exception is retried."""


class AsyncRetryPredicate(ABC, Generic[OUT]):
    """Decides which calls are retried."""

    @abstractmethod
    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        """Return a function of a call's results that is true for a retry; None: never retry."""

    @abstractmethod
    def exception_predicate(self) -> ExceptionPredicate | None:
        """Return a function of a call's exception that is true for a retry; None: never retry."""


class AsyncRetryStrategy(ABC, Generic[OUT]):
    """Decides whether a call is retried, and after which delay."""

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Return True if another attempt follows; ``current_attempts`` includes the first call."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return the delay (ms) after ``current_attempts`` attempts."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Return the predicate that decides which calls are retried."""

    @staticmethod
    def no_restart() -> AsyncRetryStrategy[Any]:
        """Return a strategy without retries."""
        return NO_RETRY_STRATEGY

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> AsyncRetryStrategy[Any]:
        """Return a strategy with a fixed delay (``FixedDelayRetryStrategy``)."""
        return FixedDelayRetryStrategy(
            max_attempts, backoff_time_millis, result_predicate, exception_predicate
        )

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> AsyncRetryStrategy[Any]:
        """Return a strategy with growing delays (``ExponentialBackoffDelayRetryStrategy``)."""
        return ExponentialBackoffDelayRetryStrategy(
            max_attempts,
            initial_delay,
            max_retry_delay,
            multiplier,
            result_predicate,
            exception_predicate,
        )


class RetryPredicate(AsyncRetryPredicate[OUT], Generic[OUT]):
    """A predicate made of two functions: one of results, one of exceptions; either may be None."""

    def __init__(
        self,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> None:
        self._result_predicate = result_predicate
        self._exception_predicate = exception_predicate

    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        """Return the function of results, or None."""
        return self._result_predicate

    def exception_predicate(self) -> ExceptionPredicate | None:
        """Return the function of exceptions, or None."""
        return self._exception_predicate


class NoRetryStrategy(AsyncRetryStrategy[OUT], Generic[OUT]):
    """A strategy without retries."""

    def can_retry(self, current_attempts: int) -> bool:
        """Return False: there is no retry."""
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return -1: there is no retry."""
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Return a predicate that is never true."""
        return RetryPredicate(None, None)


class _Retries(AsyncRetryStrategy[OUT], Generic[OUT]):
    """A strategy that retries at most ``max_attempts`` times, if the predicate is true."""

    def __init__(
        self,
        max_attempts: int,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> None:
        self._max_attempts = require_positive(max_attempts, "max_attempts")
        self._predicate: RetryPredicate[OUT] = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        """Return True while ``current_attempts`` is at most ``max_attempts``.

        So up to ``max_attempts`` retries follow the first call, as in PyFlink.
        """
        return current_attempts <= self._max_attempts

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Return the predicate of results and exceptions."""
        return self._predicate


class FixedDelayRetryStrategy(_Retries[OUT], Generic[OUT]):
    """Retries at most ``max_attempts`` times, each after the same delay."""

    def __init__(
        self,
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> None:
        super().__init__(max_attempts, result_predicate, exception_predicate)
        self._backoff_ms = require_positive(backoff_time_millis, "backoff_time_millis")

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return the fixed delay (ms)."""
        return self._backoff_ms


class ExponentialBackoffDelayRetryStrategy(_Retries[OUT], Generic[OUT]):
    """Waits ``initial_delay`` ms, then ``multiplier`` times as long each time, up to a limit.

    The delay of a record depends only on its own attempts. (In PyFlink all records share the last
    delay.)
    """

    def __init__(
        self,
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> None:
        super().__init__(max_attempts, result_predicate, exception_predicate)
        self._initial_ms = require_positive(initial_delay, "initial_delay")
        self._longest_ms = require_positive(max_retry_delay, "max_retry_delay")
        if isinstance(multiplier, bool) or not isinstance(multiplier, int | float):
            raise PlanError(f"multiplier must be a number, not {multiplier!r}")
        if not multiplier > 0:
            raise PlanError(f"multiplier must be above zero, not {multiplier!r}")
        self._multiplier = multiplier

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return the delay (ms) after ``current_attempts`` attempts, rounded down at each step."""
        backoff_ms = self._initial_ms
        for _ in range(current_attempts - 1):
            longer_ms = int(min(backoff_ms * self._multiplier, self._longest_ms))
            if longer_ms == backoff_ms:
                break
            backoff_ms = longer_ms
        return backoff_ms


NO_RETRY_STRATEGY: AsyncRetryStrategy[Any] = NoRetryStrategy()

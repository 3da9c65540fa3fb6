"""Restart strategies: whether a failed job restarts from its checkpoint, and after which delay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from headrace.common._options import catalogue as options
from headrace.common.configuration import Configuration
from headrace.errors import (
    CheckpointError,
    CheckpointUnavailableError,
    PlanError,
    SparkEndedError,
    UnsupportedError,
)

_LASTING = (PlanError, CheckpointError, UnsupportedError, SparkEndedError)


def would_fail_again(error: BaseException) -> bool:
    """Return whether no attempt of this driver can succeed after an error.

    A checkpoint that cannot be reached is not such an error: its storage may come back.
    """
    return isinstance(error, _LASTING) and not isinstance(error, CheckpointUnavailableError)


class RestartStrategy(Protocol):
    """Decides at each failure of one job; an instance may keep earlier failures."""

    def delay_ms(self, now_ms: int) -> int | None:
        """Return the delay before the restart after a failure at ``now_ms``; None: no restart."""


class NoRestarts:
    """Never restart."""

    def delay_ms(self, now_ms: int) -> int | None:
        """Return None: no restart."""
        return None


@dataclass
class FixedDelay:
    """Restart up to ``attempts`` times, each time after the same delay."""

    attempts: int
    wait_ms: int

    def delay_ms(self, now_ms: int) -> int | None:
        """Return the delay; None after the last attempt."""
        if self.attempts <= 0:
            return None
        self.attempts -= 1
        return self.wait_ms


@dataclass
class FailureRate:
    """Restart unless more than ``max_failures`` happen within the interval."""

    max_failures: int
    interval_ms: int
    wait_ms: int
    _failures: list[int] = field(default_factory=list)

    def delay_ms(self, now_ms: int) -> int | None:
        """Return the delay; None if there are too many failures."""
        recent = [at for at in self._failures if now_ms - at < self.interval_ms]
        self._failures = [*recent, now_ms]
        return self.wait_ms if len(self._failures) <= self.max_failures else None


@dataclass
class ExponentialDelay:
    """The delay grows with each failure, and is reset after the job has run for ``reset_ms``.

    The n-th failure in a row waits ``min(initial_ms * multiplier ** (n - 1), max_ms) * (1 + jitter
    * random_unit())``, at most ``max_ms``. ``random_unit`` returns numbers in [-1, 1].

    Source: Flink's exponential-delay restart strategy.
    """

    initial_ms: int
    max_ms: int
    multiplier: float
    reset_ms: int
    jitter: float
    attempts: int
    random_unit: Callable[[], float]
    _failures: int = 0
    _running_since_ms: float | None = None

    def delay_ms(self, now_ms: int) -> int | None:
        """Return the delay; None after the last attempt."""
        since = self._running_since_ms
        if since is not None and now_ms - since >= self.reset_ms:
            self._failures = 0
        if self._failures >= self.attempts:
            return None
        # stop at the maximum: a power of floats could overflow
        wait = float(self.initial_ms)
        for _ in range(self._failures):
            if wait >= self.max_ms:
                break
            wait *= self.multiplier
        wait = min(wait, self.max_ms)
        self._failures += 1
        jittered_ms = max(0, round(min(wait * (1 + self.jitter * self.random_unit()), self.max_ms)))
        self._running_since_ms = now_ms + jittered_ms
        return jittered_ms


def restart_strategy(
    configuration: Configuration, random_unit: Callable[[], float]
) -> RestartStrategy:
    """Return the strategy that ``restart-strategy.*`` configures."""

    read = options.read
    kind = read(configuration, options.RESTART_STRATEGY).replace("-", "")
    if kind == "fixeddelay":
        return FixedDelay(
            read(configuration, options.FIXED_DELAY_ATTEMPTS),
            read(configuration, options.FIXED_DELAY),
        )
    if kind == "failurerate":
        return FailureRate(
            read(configuration, options.FAILURE_RATE_MAX),
            read(configuration, options.FAILURE_RATE_INTERVAL),
            read(configuration, options.FAILURE_RATE_DELAY),
        )
    if kind == "exponentialdelay":
        return ExponentialDelay(
            read(configuration, options.EXPONENTIAL_INITIAL_BACKOFF),
            read(configuration, options.EXPONENTIAL_MAX_BACKOFF),
            read(configuration, options.EXPONENTIAL_MULTIPLIER),
            read(configuration, options.EXPONENTIAL_RESET),
            read(configuration, options.EXPONENTIAL_JITTER),
            read(configuration, options.EXPONENTIAL_ATTEMPTS),
            random_unit,
        )
    return NoRestarts()

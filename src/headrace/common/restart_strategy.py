"""Restart strategies; ``settings()`` converts one to configuration keys."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import timedelta

from headrace.common.time import TimeAmount, milliseconds_of
from headrace.errors import PlanError

__all__ = ["RestartStrategies", "RestartStrategyConfiguration"]


class RestartStrategyConfiguration(ABC):
    """A restart strategy: whether, when and how often a failed job is restarted."""

    @abstractmethod
    def get_description(self) -> str:
        """Describe the strategy in a sentence."""

    @abstractmethod
    def settings(self) -> dict[str, str]:
        """Return the strategy as configuration keys, for ``Configuration.from_dict``."""


@dataclass(frozen=True)
class _No(RestartStrategyConfiguration):
    """A strategy without restarts: the first failure ends the job."""

    def get_description(self) -> str:
        return "Restart deactivated."

    def settings(self) -> dict[str, str]:
        return {"restart-strategy.type": "none"}


@dataclass(frozen=True)
class _Fallback(RestartStrategyConfiguration):
    """The strategy that the configuration sets."""

    def get_description(self) -> str:
        return "Restart as configured."

    def settings(self) -> dict[str, str]:
        """Return an empty dict: the configuration decides."""
        return {}


@dataclass(frozen=True)
class _FixedDelay(RestartStrategyConfiguration):
    """A strategy with at most ``attempts`` restarts, each after the same delay."""

    attempts: int
    delay_ms: int

    def get_restart_attempts(self) -> int:
        """Return the maximum number of restarts."""
        return self.attempts

    def get_delay_between_attempts_interval(self) -> timedelta:
        """Return the delay before a restart."""
        return timedelta(milliseconds=self.delay_ms)

    def get_description(self) -> str:
        return f"Restart {self.attempts} times, each after {self.delay_ms} ms."

    def settings(self) -> dict[str, str]:
        return {
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": str(self.attempts),
            "restart-strategy.fixed-delay.delay": f"{self.delay_ms} ms",
        }


@dataclass(frozen=True)
class _FailureRate(RestartStrategyConfiguration):
    """A strategy that restarts while an interval has at most ``max_failures`` failures."""

    max_failures: int
    interval_ms: int
    delay_ms: int

    def get_max_failure_rate(self) -> int:
        """Return the maximum number of failures in the interval that lead to a restart."""
        return self.max_failures

    def get_failure_interval(self) -> timedelta:
        """Return the interval in which failures are counted."""
        return timedelta(milliseconds=self.interval_ms)

    def get_delay_between_attempts_interval(self) -> timedelta:
        """Return the delay before a restart."""
        return timedelta(milliseconds=self.delay_ms)

    def get_description(self) -> str:
        return (
            f"Restart after {self.delay_ms} ms, "
            f"for at most {self.max_failures} failures in {self.interval_ms} ms."
        )

    def settings(self) -> dict[str, str]:
        prefix = "restart-strategy.failure-rate"
        return {
            "restart-strategy.type": "failure-rate",
            f"{prefix}.max-failures-per-interval": str(self.max_failures),
            f"{prefix}.failure-rate-interval": f"{self.interval_ms} ms",
            f"{prefix}.delay": f"{self.delay_ms} ms",
        }


class RestartStrategies:
    """Makes restart strategies. A delay or interval given as an int is milliseconds."""

    NoRestartStrategyConfiguration = _No
    FixedDelayRestartStrategyConfiguration = _FixedDelay
    FailureRateRestartStrategyConfiguration = _FailureRate
    FallbackRestartStrategyConfiguration = _Fallback

    @staticmethod
    def no_restart() -> _No:
        """Return a strategy without restarts: the first failure ends the job."""
        return _No()

    @staticmethod
    def fall_back_restart() -> _Fallback:
        """Return the strategy that the configuration sets (``restart-strategy.type``)."""
        return _Fallback()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: TimeAmount
    ) -> _FixedDelay:
        """Return a strategy with at most ``restart_attempts`` restarts, each after the same delay.

        Raises:
            PlanError: a number is negative.
        """
        if restart_attempts < 0:
            raise PlanError(
                f"the number of restarts is {restart_attempts}", hint="it must be 0 or more"
            )
        delay_ms = milliseconds_of(delay_between_attempts, "the delay", at_least=0)
        return _FixedDelay(restart_attempts, delay_ms)

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: TimeAmount, delay_interval: TimeAmount
    ) -> _FailureRate:
        """Return a strategy that restarts while an interval has at most ``failure_rate`` failures.

        Raises:
            PlanError: the rate or the interval is below 1, or the delay is negative.
        """
        if failure_rate < 1:
            raise PlanError(
                f"the number of failures in an interval is {failure_rate}",
                hint="it must be 1 or more",
            )
        return _FailureRate(
            failure_rate,
            milliseconds_of(failure_interval, "the failure interval", at_least=1),
            milliseconds_of(delay_interval, "the delay", at_least=0),
        )

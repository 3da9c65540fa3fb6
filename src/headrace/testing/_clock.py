"""A clock that a test moves."""

from __future__ import annotations

from headrace.common.time import TimeAmount, milliseconds_of


class ManualClock:
    """Says the time it was set to: ``clock()`` gives ms since the epoch."""

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        """The time, ms since the epoch."""
        return self.now_ms

    def advance(self, amount: TimeAmount) -> int:
        """The new time (ms), later by an int of milliseconds, a timedelta, Duration or Time.

        Raises:
            PlanError: the amount is negative.
        """
        self.now_ms += milliseconds_of(amount, "the time to advance by", at_least=0)
        return self.now_ms

    def __repr__(self) -> str:
        return f"ManualClock({self.now_ms})"

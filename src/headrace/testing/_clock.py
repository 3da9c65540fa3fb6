"""``ManualClock``: a clock for tests that moves only when the test says so."""

from __future__ import annotations

from headrace.common.time import TimeAmount, milliseconds_of


class ManualClock:
    """A clock that changes only when it is advanced; ``clock()`` returns ms since the epoch."""

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        """The current time, ms since the epoch."""
        return self.now_ms

    def advance(self, amount: TimeAmount) -> int:
        """Advance the clock (an int is milliseconds), and return the new time in ms.

        Raises:
            PlanError: the amount is negative.
        """
        self.now_ms += milliseconds_of(amount, "the time to advance by", at_least=0)
        return self.now_ms

    def __repr__(self) -> str:
        return f"ManualClock({self.now_ms})"

"""Which time a micro-batch has, by clocks that may be wrong. Pure: readings come in.

Two times, as one cannot be both. **Processing time** is the time of day, which timers and windows
are set by: it follows the wall clock, and never goes back. **Steady time** is for intervals and
timeouts: it advances with the monotonic clock, wherever the wall clock jumps.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

SLOWDOWN_FACTOR = 2
"""While the wall clock is behind, processing time advances 1 ms in this many ms."""


class ClockReading(NamedTuple):
    """A reading of a machine's wall clock and monotonic clock, in ms."""

    wall_ms: int
    monotonic_ms: int


class JobTime(NamedTuple):
    """The time of a micro-batch.

    ``now_ms``: processing time, in ms since the epoch. ``monotonic_ms``: a monotonic time that
    continues over restarts; only differences have a meaning.
    """

    now_ms: int
    monotonic_ms: int


class _HasTimes(Protocol):
    """An offset, with the times of the last micro-batch."""

    @property
    def now_ms(self) -> int: ...

    @property
    def monotonic_ms(self) -> int: ...


class JobClock:
    """Computes the times of one run's micro-batches; ``started``: the clocks at its start."""

    def __init__(self, started: ClockReading) -> None:
        self._started = self._last = started
        self._anchor: ClockReading | None = None
        """Processing time when it was last the wall clock's (or the checkpoint's), and when."""
        self._monotonic_ms = 0
        self.behind_ms = 0
        """How far the wall clock is behind processing time, by the last reading."""

    def time(self, start: _HasTimes, reading: ClockReading) -> JobTime:
        """Return the time of the micro-batch that starts at the offset ``start``.

        The first one of a run continues the offset's times. The time between two runs is known from
        the wall clock only; if that is behind, it counts as 0.
        """
        started = self._started
        if self._anchor is None:
            self._anchor = ClockReading(start.now_ms, started.monotonic_ms)
            self._monotonic_ms = start.monotonic_ms + max(started.wall_ms - start.now_ms, 0)
        monotonic_ms = max(reading.monotonic_ms, self._last.monotonic_ms)
        self._monotonic_ms += monotonic_ms - self._last.monotonic_ms
        self._last = ClockReading(reading.wall_ms, monotonic_ms)
        slow_ms = (
            self._anchor.wall_ms + (monotonic_ms - self._anchor.monotonic_ms) // SLOWDOWN_FACTOR
        )
        now_ms = max(reading.wall_ms, slow_ms)
        if reading.wall_ms >= slow_ms:
            self._anchor = self._last
        self.behind_ms = now_ms - reading.wall_ms
        return JobTime(now_ms, self._monotonic_ms)

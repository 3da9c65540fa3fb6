"""The machine's clocks, and a warning if the wall clock is behind the job's processing time."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import timedelta

from headrace.runtime.coordination.offset import Offset
from headrace.runtime.job_time import ClockReading, JobClock, JobTime

Clock = Callable[[], int]
"""Returns the time in ms."""

BEHIND_MS = 1000
"""Smaller differences cause no warning: they come from ordinary clock corrections."""

_log = logging.getLogger(__name__)


def wall_clock_ms() -> int:
    """Return the wall clock, in ms since the epoch. It may jump."""
    return time.time_ns() // 1_000_000


def monotonic_ms() -> int:
    """Return the monotonic clock, in ms; only differences have a meaning."""
    return time.monotonic_ns() // 1_000_000


def behind_message(behind_ms: int) -> str:
    """Return a sentence for users: how far the wall clock is behind the job's processing time."""
    return (
        f"this machine's clock is {timedelta(seconds=behind_ms // 1000)} (h:mm:ss) behind the"
        " processing time of the job: it is wrong now, or was ahead before. Until it has caught up,"
        " processing time advances at half speed, and its timers take up to twice as long. Check"
        " that the clock is set right"
    )


class RunClock:
    """The clock of a run, which starts now.

    ``monotonic`` None: ``wall`` serves for both, as a test's clock never jumps.
    """

    def __init__(self, wall: Clock = wall_clock_ms, monotonic: Clock | None = monotonic_ms) -> None:
        self._wall, self._monotonic = wall, monotonic
        self.began = self._read()
        self._clock = JobClock(self.began)
        self._warned_ms = 0

    def _read(self) -> ClockReading:
        wall_ms = self._wall()
        return ClockReading(wall_ms, wall_ms if self._monotonic is None else self._monotonic())

    def time(self, start: Offset) -> JobTime:
        """Return the time for the micro-batch that is planned now, starting at an offset."""
        found = self._clock.time(start, self._read())
        behind_ms = self._clock.behind_ms
        if behind_ms >= self._warned_ms + BEHIND_MS:
            self._warned_ms = behind_ms
            _log.warning("%s", behind_message(behind_ms))
        elif not behind_ms and self._warned_ms:
            self._warned_ms = 0
            _log.warning("this machine's clock has caught up with the processing time of the job")
        return found

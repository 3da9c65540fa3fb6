"""A clock that is behind the job's time is said, with by how much."""

from __future__ import annotations

import logging

import pytest

from headrace.runners.clock import RunClock
from headrace.runtime.coordination.offset import Offset, WorkLimits

HOUR_MS = 3_600_000


class Clocks:
    """A wall clock that can be set, and a monotonic one."""

    def __init__(self, wall_ms: int) -> None:
        self.wall_ms, self.monotonic_ms = wall_ms, 0
        self.run = RunClock(lambda: self.wall_ms, lambda: self.monotonic_ms)

    def after(self, passed_ms: int, start: Offset) -> int:
        """The processing time after a while."""
        self.wall_ms += passed_ms
        self.monotonic_ms += passed_ms
        return self.run.time(start).now_ms


def at(now_ms: int) -> Offset:
    return Offset(1, now_ms, now_ms, WorkLimits(1, 1), {})


def test_a_clock_that_is_behind_the_checkpoint_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    clocks, start = Clocks(HOUR_MS), at(3 * HOUR_MS)
    assert clocks.after(0, start) == 3 * HOUR_MS
    assert clocks.after(1000, start) == 3 * HOUR_MS + 500
    (said,) = caplog.messages
    assert "this machine's clock is 2:00:00 (h:mm:ss) behind the processing time" in said


def test_a_clock_that_is_set_back_further_is_said_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    clocks, start = Clocks(9 * HOUR_MS), at(9 * HOUR_MS)
    for hours in (1, 0, 3):
        clocks.wall_ms -= hours * HOUR_MS
        clocks.after(10, start)
    first, second = caplog.messages
    assert "clock is 0:59:59 (h:mm:ss) behind" in first
    assert "clock is 3:59:59 (h:mm:ss) behind" in second


def test_a_clock_that_has_caught_up_is_said(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    clocks, start = Clocks(0), at(HOUR_MS)
    for _ in range(3):
        clocks.after(HOUR_MS, start)
    assert clocks.after(10, start) == 3 * HOUR_MS + 10
    assert "behind" in caplog.messages[0]
    assert "has caught up" in caplog.messages[1]
    assert len(caplog.messages) == 2


def test_a_clock_that_is_set_right_by_a_little_is_not_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    clocks, start = Clocks(HOUR_MS), at(HOUR_MS)
    clocks.wall_ms -= 900
    assert clocks.after(100, start) == HOUR_MS + 50
    assert clocks.after(HOUR_MS, start) == 2 * HOUR_MS - 800
    assert not caplog.messages

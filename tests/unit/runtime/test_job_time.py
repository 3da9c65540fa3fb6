"""The times of micro-batches, by clocks that jump."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from headrace.runtime.job_time import ClockReading, JobClock, JobTime

HOUR_MS = 3_600_000


@dataclass
class At:
    """What a checkpoint knows of the time."""

    now_ms: int
    monotonic_ms: int


def test_while_the_clocks_go_alike_both_times_follow_them() -> None:
    clock = JobClock(ClockReading(1000, 7))
    start = At(1000, 1000)
    assert clock.time(start, ClockReading(1000, 7)) == JobTime(1000, 1000)
    assert clock.time(start, ClockReading(1250, 257)) == JobTime(1250, 1250)
    assert clock.behind_ms == 0


def test_a_clock_set_forward_moves_processing_time_only() -> None:
    clock = JobClock(ClockReading(1000, 0))
    assert clock.time(At(1000, 1000), ClockReading(HOUR_MS, 100)) == JobTime(HOUR_MS, 1100)


def test_behind_a_clock_set_back_processing_time_goes_on_at_half_speed() -> None:
    clock, start = JobClock(ClockReading(HOUR_MS, 0)), At(HOUR_MS, 0)
    clock.time(start, ClockReading(HOUR_MS, 0))
    assert clock.time(start, ClockReading(100, 100)) == JobTime(HOUR_MS + 50, 100)
    assert clock.behind_ms == HOUR_MS + 50 - 100
    # by single ms, none of which is lost
    found = [clock.time(start, ClockReading(100 + n, 100 + n)) for n in range(1, 5)]
    assert [now_ms - HOUR_MS for now_ms, _ in found] == [50, 51, 51, 52]
    # it has caught up after twice the time by which it was behind
    twice = 2 * HOUR_MS
    assert clock.time(start, ClockReading(twice, twice)) == JobTime(twice, twice)
    assert clock.behind_ms == 0


def test_a_run_goes_on_from_the_checkpoints_times() -> None:
    """Its processing time was that of a clock that was ahead."""
    clock, start = JobClock(ClockReading(1000, 40)), At(HOUR_MS, 300)
    assert clock.time(start, ClockReading(1200, 240)) == JobTime(HOUR_MS + 100, 500)


def test_the_time_between_two_runs_counts() -> None:
    clock, start = JobClock(ClockReading(9000, 40)), At(4000, 300)
    assert clock.time(start, ClockReading(9100, 140)) == JobTime(9100, 300 + 5000 + 100)


def test_a_monotonic_clock_that_goes_back_stands_still() -> None:
    clock, start = JobClock(ClockReading(1000, 1000)), At(1000, 1000)
    clock.time(start, ClockReading(1500, 1500))
    assert clock.time(start, ClockReading(900, 900)) == JobTime(1500, 1500)
    assert clock.time(start, ClockReading(1700, 1700)) == JobTime(1700, 1700)


steps = st.lists(st.tuples(st.integers(0, 500), st.integers(-HOUR_MS, HOUR_MS)), min_size=1)


@given(steps, st.lists(st.booleans()))
def test_no_time_goes_back_and_none_stands_still(
    steps: list[tuple[int, int]], restarts: list[bool]
) -> None:
    """``steps``: by how much time passes, and by how much the wall clock is set then."""
    wall_ms = monotonic_ms = 10 * HOUR_MS
    clock = JobClock(ClockReading(wall_ms, monotonic_ms))
    start, again = At(wall_ms, wall_ms), iter(restarts)
    for passed_ms, jump_ms in steps:
        if next(again, False):
            clock = JobClock(ClockReading(wall_ms, monotonic_ms))
        wall_ms, monotonic_ms = wall_ms + passed_ms + jump_ms, monotonic_ms + passed_ms
        now_ms, monotonic_ms = clock.time(start, ClockReading(wall_ms, monotonic_ms))
        assert now_ms >= max(wall_ms, start.now_ms + (passed_ms - 1) // 2)
        assert clock.behind_ms == now_ms - wall_ms
        assert monotonic_ms >= start.monotonic_ms + passed_ms
        if not restarts:
            assert monotonic_ms == monotonic_ms
        start = At(now_ms, monotonic_ms)

"""Slices and the windows that consist of them, against windows counted out one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace.operators.columns.window_slices import SlicedWindows
from headrace.operators.columns.window_zones import LocalTime

LENGTHS = [(10, 10), (12, 4), (10, 4), (4, 10), (7, 1)]
WINDOWS = [
    *(SlicedWindows(size, step, offset) for size, step in LENGTHS for offset in (0, 3, -1)),
    *(SlicedWindows(15, 5, offset, cumulative=True) for offset in (0, 3)),
]
HOUR_MS = 3_600_000
BERLIN = LocalTime("Europe/Berlin")
SPRING_MS, AUTUMN_MS = 1_774_746_000_000, 1_792_890_000_000
"""When clocks of Berlin were changed in 2026."""


def ends_around(windows: SlicedWindows, time: int) -> list[int]:
    """The ends of the windows that contain a time."""
    found = []
    for number in range(-80, 120):
        size, step, offset = windows.size_ms, windows.step_ms, windows.offset_ms
        start = offset + number * (size if windows.cumulative else step)
        lengths = range(step, size + 1, step) if windows.cumulative else [size]
        found += [start + length for length in lengths if start <= time < start + length]
    return sorted(found)


@given(st.sampled_from(WINDOWS), st.integers(-30, 60))
def test_a_slice_has_the_windows_of_its_times(windows: SlicedWindows, time: int) -> None:
    expected = ends_around(windows, time)
    (start,) = windows.slices_of(np.array([time])).tolist()
    assert [*windows.ends_of(start)] == expected
    assert start <= time < start + windows.slice_ms
    last = int(windows.last_ends_of(np.array([start]))[0])
    assert last == expected[-1] if expected else last <= start
    starts = windows.starts_of(np.array(expected, np.int64)).tolist()
    assert all(
        windows.first_slice(end) == begin <= start
        for end, begin in zip(expected, starts, strict=True)
    )
    assert windows.next_end(start, time) == (expected[0] if expected else None)


@given(
    st.sampled_from(WINDOWS),
    st.lists(st.integers(-30, 60), max_size=5),
    *(st.integers(-20, 40), st.integers(0, 40)),
)
def test_windows_of_slices_are_found_once_and_in_order(
    windows: SlicedWindows, times: list[int], after: int, length: int
) -> None:
    slices = {*windows.slices_of(np.array(times, np.int64)).tolist()}
    ends = {end for time in times for end in ends_around(windows, time)}
    expected = sorted(end for end in ends if after < end <= after + length)
    assert windows.ends_between(slices, after, after + length) == expected


def test_rows_with_windows_are_of_one_each() -> None:
    windows = SlicedWindows(12, 4, attached=True)
    (start,) = windows.slices_of(np.array([24])).tolist()
    assert [*windows.ends_of(start)] == [24]
    assert windows.starts_of(np.array([24])).tolist() == [12]


@given(st.integers(-3 * HOUR_MS, 3 * HOUR_MS), st.sampled_from([SPRING_MS, AUTUMN_MS]))
def test_a_local_time_is_over_when_its_last_moment_is(since: int, change: int) -> None:
    """A time that occurs twice is over after the second time."""
    watermark = change + since
    reached = BERLIN.reached(watermark)
    later = np.array([watermark + 1 + step * HOUR_MS // 4 for step in range(12)])
    assert (BERLIN.of_moments(later) > reached).all()
    (local,) = BERLIN.of_moments(np.array([watermark])).tolist()
    assert reached == local or change == AUTUMN_MS


def test_moments_of_local_times() -> None:
    spring = int(BERLIN.of_moments(np.array([SPRING_MS - 1]))[0])
    assert BERLIN.to_moments(np.array([spring, spring + 1, spring + 1 + HOUR_MS])).tolist() == [
        *(SPRING_MS - 1, SPRING_MS, SPRING_MS)
    ]
    twice = int(BERLIN.of_moments(np.array([AUTUMN_MS]))[0])
    assert BERLIN.to_moments(np.array([twice])).tolist() == [AUTUMN_MS - HOUR_MS]
    assert BERLIN.reached(AUTUMN_MS - 1) == twice - 1
    assert BERLIN.reached(1 << 62) == 1 << 62

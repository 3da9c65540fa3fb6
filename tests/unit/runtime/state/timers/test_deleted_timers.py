"""Timers that were deleted do not stay in memory."""

from __future__ import annotations

import pytest

from headrace.runtime.state.backend import Timer
from headrace.runtime.state.heap import HeapBackend, HeapTimers
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages
from headrace.runtime.state.timers.pages import TimerPages


def timers_of(kind: str) -> HeapTimers | TimerPages:
    backend = HeapBackend() if kind == "heap" else PagedBackend(MemoryPages(), 1)
    timers = backend.event_timers
    assert isinstance(timers, HeapTimers | TimerPages)
    return timers


@pytest.mark.parametrize("kind", ["heap", "paged"])
def test_deleting_and_setting_timers_leaves_nothing(kind: str) -> None:
    timers = timers_of(kind)
    for key in range(100):
        timers.register(Timer(1_000, key))
    for turn in range(20_000):
        key = turn % 100
        timers.delete(Timer(1_000 + turn // 100, key))
        timers.register(Timer(1_001 + turn // 100, key))
    assert len(timers._heap) < 1_000
    assert [timer for _, timer in timers.scan()] == [Timer(1_200, key) for key in range(100)]
    fired = []
    while (timer := timers.pop_due(2_000)) is not None:
        fired.append(timer)
    assert fired == [Timer(1_200, key) for key in range(100)]

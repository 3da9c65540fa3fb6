"""Timers at the end of a batch: those that wait are fired, and new ones are dropped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from headrace.runtime.state.backend import StateBackend, Timer, TimerStore
from headrace.runtime.state.ttl import CLEANUP


@dataclass
class Dropped:
    """The number of user timers that were dropped."""

    timers: int = 0


class _Quiescent(TimerStore):
    """A view of a timer store that drops new timers."""

    def __init__(self, store: TimerStore, dropped: Dropped) -> None:
        self._store = store
        self._dropped = dropped

    def register(self, timer: Timer) -> None:
        if timer.namespace != CLEANUP:
            self._dropped.timers += 1

    def delete(self, timer: Timer) -> None:
        self._store.delete(timer)

    def earliest_ms(self) -> int | None:
        return self._store.earliest_ms()

    def pop_due(self, time_ms: int) -> Timer | None:
        return self._store.pop_due(time_ms)

    def scan(self) -> Iterator[tuple[int, Timer]]:
        return self._store.scan()


@contextmanager
def quiescent(backend: StateBackend) -> Iterator[Dropped]:
    """Drop new timers of both clocks within a ``with`` block, and count them.

    Otherwise, after the last record of a batch, a timer that sets the next one would never end.
    """
    dropped = Dropped()
    events, processing = backend.event_timers, backend.processing_timers
    backend.event_timers = _Quiescent(events, dropped)
    backend.processing_timers = _Quiescent(processing, dropped)
    try:
        yield dropped
    finally:
        backend.event_timers, backend.processing_timers = events, processing

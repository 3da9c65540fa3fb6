"""Where a task stands: the key at hand, with what is kept for it, and the clocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.common.watermark_strategy import MIN_WATERMARK
from headrace.runtime.keys.serialized_key import SerializedKey
from headrace.runtime.state.backend import KeyedTable, StateBackend, Timer, Values
from headrace.runtime.state.ttl import CLEANUP, Ttl


class KeyContext:
    """The current key of a task, its state, and the event time and processing time (ms)."""

    __slots__ = (
        "backend",
        "clocked",
        "entries",
        "entry",
        "event_ms",
        "key",
        "look_up",
        "now_ms",
        "values",
        "watermark",
    )

    backend: StateBackend
    """The backend of the micro-batch and key group at hand."""

    entries: KeyedTable
    """The table of the states' entries: the backend itself, or its ``in_namespaces``."""

    look_up: Callable[[Any], Any]
    """Gives what ``entry`` shall be for a key."""

    def __init__(self) -> None:
        self.key: Any = None
        self.entry: Any = None
        """The live entry of the key, or its bare value or ``MISSING``; None outside of any key."""
        self.values: Values | None = None
        """The bare values of the backend, when there is one slot that holds a value."""
        self.now_ms = 0
        self.event_ms: int | None = None
        self.watermark = MIN_WATERMARK
        self.clocked = False
        """The task is also run when nothing but time has passed; those of sources are not."""

    def user_key(self) -> Any:
        """Return the current key as the user's key selector gave it."""
        key = self.key
        return key.value() if type(key) is SerializedKey else key

    def enter(self, key: Any) -> None:
        """Set the current key."""
        self.key = key
        self.entry = self.look_up(key)

    def enter_timer(self, timer: Timer, is_event_time: bool) -> None:
        """Set the current key, and the time of the timer's clock, to those of a timer.

        Under a processing-time timer event time is the watermark.
        """
        self.enter(timer.key)
        self.event_ms = timer.time_ms if is_event_time else self.watermark

    def clock(self, ttl: Ttl) -> int:
        """Return the time (ms) by which a value expires."""
        if not ttl.event_time:
            return self.now_ms
        return self.event_ms if self.event_ms is not None else MIN_WATERMARK

    def schedule_cleanup(self, ttl: Ttl, now_ms: int) -> None:
        """Register a cleanup timer for the current key, at the time when values may expire."""
        backend = self.backend
        timers = backend.event_timers if ttl.event_time else backend.processing_timers
        timers.register(Timer(ttl.cleanup_ms(now_ms), self.key, CLEANUP))

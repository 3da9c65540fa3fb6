"""The time-to-live of an operator's state. A later program may add, change or remove it."""

from __future__ import annotations

from headrace.runtime.state.backend import Timer
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.kinds import Evolution
from headrace.runtime.state.ttl import CLEANUP, Ttl


class AddedTtl:
    """Gives a time to state values that had no time-to-live: it begins now."""

    def __init__(self, ttl: Ttl | None, key_context: KeyContext) -> None:
        self._ttl, self._key_context = ttl, key_context
        self._has_stamped = False
        self.evolution = Evolution(stamp=self._stamp)

    def _stamp(self) -> int:
        self._has_stamped = True
        return self._key_context.now_ms

    def schedule_cleanups(self) -> None:
        """Register a timer for each key of the backend, if values were given a time."""
        if not self._has_stamped:
            return
        self._has_stamped = False
        assert self._ttl is not None, "values are stamped that expire"
        backend, now_ms = self._key_context.backend, self._key_context.now_ms
        for key in [*backend.keys()]:
            backend.processing_timers.register(Timer(self._ttl.cleanup_ms(now_ms), key, CLEANUP))

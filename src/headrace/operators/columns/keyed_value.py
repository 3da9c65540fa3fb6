"""Operators over columns that keep one value for each key, which may have a time-to-live."""

from __future__ import annotations

from typing import Any

from headrace.common._types.data import TypeData
from headrace.operators.columns.expiry import AddedTtl
from headrace.operators.columns.gathering import KeyedColumnOperator
from headrace.runtime.context import TaskContext
from headrace.runtime.operator import NodeProgram
from headrace.runtime.state.backend import Timer
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.kinds import VALUE
from headrace.runtime.state.ttl import CLEANUP, Ttl


class KeyedValueOperator(KeyedColumnOperator):
    """Keeps a value for each key until ``ttl_ms`` after its last change; 0: without end."""

    def __init__(self, schema: Any, slot: str, ttl_ms: int, type: TypeData | None = None) -> None:
        super().__init__(schema)
        self._slot, self._type = slot, type
        self._ttl = Ttl(ttl_ms) if ttl_ms else None

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        super().open(node, context, key_context)
        assert context.states is not None, "the rows have keys"
        self._added_ttl = AddedTtl(self._ttl, key_context)
        evolution = self._added_ttl.evolution
        context.states.declare(self._slot, VALUE, self._type, self._ttl is not None, evolution)

    def load(self, key: Any) -> Any:
        """Return the value of a key; None: it has none, or it has expired."""
        if self._ttl is None:
            return self.key_context.backend.enter(key).get(self._slot)
        stored = self.load_with_time(key)
        return None if stored is None else stored[0]

    def load_with_time(self, key: Any) -> tuple[Any, int] | None:
        """Return the value of a key that expires, and the time of its last change (ms)."""
        assert self._ttl is not None, "values expire"
        stored: tuple[Any, int] | None = self.key_context.backend.enter(key).get(self._slot)
        if stored is None or self._ttl.is_expired(stored[1], self.key_context.now_ms):
            return None
        return stored

    def store(self, key: Any, value: Any) -> None:
        """Store the value of a key, as of now; None: remove it."""
        backend, ttl = self.key_context.backend, self._ttl
        entry = backend.enter(key)
        if value is None:
            entry.pop(self._slot, None)
        elif ttl is None:
            entry[self._slot] = value
        else:
            stored, now_ms = entry.get(self._slot), self.key_context.now_ms
            time_ms = ttl.cleanup_ms(now_ms)
            if stored is None or ttl.cleanup_ms(stored[1]) != time_ms:
                backend.processing_timers.register(Timer(time_ms, key, CLEANUP))
            entry[self._slot] = value, now_ms
        backend.changed(key)

    def fire_timer(self, timer: Timer, is_event_time: bool) -> None:
        """Remove the value if it has expired. If the time-to-live is longer now, set the timer
        again."""
        ttl, backend = self._ttl, self.key_context.backend
        stored = backend.enter(timer.key).get(self._slot)
        if ttl is None or stored is None:
            return
        if ttl.is_expired(stored[1], self.key_context.now_ms):
            self.store(timer.key, None)
        else:
            backend.processing_timers.register(Timer(ttl.cleanup_ms(stored[1]), timer.key, CLEANUP))

    def take_converted_state(self) -> None:
        self._added_ttl.schedule_cleanups()

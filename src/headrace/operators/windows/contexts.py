"""The contexts of window assigners, triggers, evictors and window functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.common._windows import namespace_of
from headrace.operators.keyed import user_timer
from headrace.operators.windows.states import NoWindowStates, merge_states
from headrace.runtime.context import TaskContext
from headrace.runtime.state.backend import Timer
from headrace.runtime.state.handles import KeyContext, NamespacedStates


class AssignerContext:
    """The context of ``assign_windows``."""

    def __init__(self, key_context: KeyContext, context: TaskContext) -> None:
        self._key_context = key_context
        self._context = context

    def get_current_processing_time(self) -> int:
        """Return the processing time (ms) of the micro-batch."""
        return self._key_context.now_ms

    def get_current_key(self) -> Any:
        """Return the record's key."""
        return self._key_context.user_key()

    def get_runtime_context(self) -> TaskContext:
        """Return the runtime context; its keyed states are those of the record's key."""
        return self._context


class FiringContext:
    """The context of evictors, and the base of that of triggers."""

    def __init__(self, key_context: KeyContext, context: TaskContext) -> None:
        self._key_context = key_context
        self._context = context

    def get_current_processing_time(self) -> int:
        """Return the processing time (ms) of the micro-batch."""
        return self._key_context.now_ms

    def get_current_watermark(self) -> int:
        """Return the watermark (ms)."""
        return self._key_context.watermark

    def get_metric_group(self) -> Any:
        """Return the operator's metrics."""
        return self._context.get_metrics_group()


class TriggerContext(FiringContext):
    """The context of a trigger, for the window in ``namespace`` and the current key."""

    def __init__(
        self, key_context: KeyContext, context: TaskContext, states: NamespacedStates
    ) -> None:
        super().__init__(key_context, context)
        self._states = states
        self.namespace: Any = None
        self.merged: Iterable[Any] = ()
        """Within ``on_merge``: the namespaces of the windows that were merged."""

    def register_event_time_timer(self, time: int) -> None:
        """Call ``on_event_time`` when the watermark passes ``time`` (ms)."""
        key_context = self._key_context
        key_context.backend.event_timers.register(user_timer(time, key_context.key, self.namespace))

    def register_processing_time_timer(self, time: int) -> None:
        """Call ``on_processing_time`` when the clock passes ``time`` (ms)."""
        key_context = self._key_context
        key_context.backend.processing_timers.register(
            user_timer(time, key_context.key, self.namespace)
        )

    def delete_event_time_timer(self, time: int) -> None:
        """Delete an event-time timer."""
        key_context = self._key_context
        key_context.backend.event_timers.delete(Timer(int(time), key_context.key, self.namespace))

    def delete_processing_time_timer(self, time: int) -> None:
        """Delete a processing-time timer."""
        key_context = self._key_context
        key_context.backend.processing_timers.delete(
            Timer(int(time), key_context.key, self.namespace)
        )

    def get_partitioned_state(self, state_descriptor: Any) -> Any:
        """Return the state of a descriptor for this key and window."""
        self._states.enter(self.namespace)
        return self._states.of(state_descriptor)

    def merge_partitioned_state(self, state_descriptor: Any) -> None:
        """Merge the states of the merged windows into that of this window."""
        merge_states(self._states, state_descriptor, self.namespace, self.merged)


class FunctionContext:
    """The context of a window function, for ``current_window``."""

    def __init__(
        self,
        key_context: KeyContext,
        context: TaskContext,
        states: NamespacedStates | NoWindowStates,
    ) -> None:
        self._key_context = key_context
        self._context = context
        self._states = states
        self.current_window: Any = None

    def window(self) -> Any:
        """Return the window."""
        return self.current_window

    def current_processing_time(self) -> int:
        """Return the processing time (ms) of the micro-batch."""
        return self._key_context.now_ms

    def current_watermark(self) -> int:
        """Return the watermark (ms)."""
        return self._key_context.watermark

    def window_state(self) -> Any:
        """Return the state store of this key and window."""
        self._states.enter(namespace_of(self.current_window))
        return self._states

    def global_state(self) -> Any:
        """Return the state store of this key, for all of its windows."""
        return self._context

"""Process functions of a keyed stream and a broadcast stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.errors import NotKeyedError
from headrace.operators.broadcast.states import BroadcastStates, DeclaredMap, make_broadcast_states
from headrace.operators.emission import EXPECTED_RESULT_TYPES, check_results
from headrace.operators.keyed_process import (
    KeyedContext,
    KeyedProcessOperator,
    KeyedProcessSpec,
    TimerContext,
)
from headrace.operators.process import ProcessContext
from headrace.runtime.context import TaskContext
from headrace.runtime.keys.serialized_key import user_key
from headrace.runtime.loops import Push
from headrace.runtime.operator import NodeProgram, Operator, Outputs, ProcessBlock, Traits
from headrace.runtime.state.broadcast_state import BroadcastStateStore
from headrace.runtime.state.handles import KeyContext


@dataclass(frozen=True)
class KeyedBroadcastProcessSpec(KeyedProcessSpec):
    """As ``BroadcastProcessSpec``, with keyed state and perhaps ``on_timer`` on the keyed side."""

    states: tuple[DeclaredMap, ...] = ()
    kind = "keyed-broadcast-process"
    label = "Keyed-Co-Process-Broadcast"
    fixed_traits = Traits(keyed=True, state=True, side_outputs=True, inputs=2, broadcast_state=True)

    def build(self) -> Operator:
        return KeyedBroadcastProcessOperator(self)


class ReadOnlyContext(KeyedContext):
    """The context of ``process_element``."""

    def __init__(self, key_context: KeyContext, states: BroadcastStates) -> None:
        super().__init__(key_context)
        self.get_broadcast_state = states.readable


class ReadOnlyTimerContext(TimerContext):
    """The context of ``on_timer``."""

    def __init__(self, key_context: KeyContext, states: BroadcastStates) -> None:
        super().__init__(key_context)
        self.get_broadcast_state = states.readable


class BroadcastContext(ProcessContext):
    """The context of ``process_broadcast_element``, which has no key."""

    def __init__(
        self,
        context: TaskContext,
        key_context: KeyContext,
        states: BroadcastStates,
        emit: Callable[[Any], None],
    ) -> None:
        super().__init__(key_context)
        assert context.broadcast_states is not None, "the operator has a broadcast input"
        self._context, self._broadcast_states, self._emit = context, context.broadcast_states, emit
        self.get_broadcast_state = states.writable

    def current_watermark(self) -> int:
        """Return the watermark (ms) of this operator."""
        return self._key_context.watermark

    def _reject_timer(self, timestamp: int) -> None:
        raise NotKeyedError(
            "a timer is set for a broadcast record, which has no key",
            hint="set timers in process_element or on_timer",
        )

    register_event_time_timer = _reject_timer
    register_processing_time_timer = _reject_timer
    delete_event_time_timer = _reject_timer
    delete_processing_time_timer = _reject_timer

    def apply_to_keyed_state(self, state_descriptor: Any, function: Any) -> None:
        """Call ``function(key, state)`` for each key that has a value in a keyed state.

        An object with a method ``process(key, state)`` is accepted too, as in Flink.
        """
        states, key_context = self._context.states, self._key_context
        assert states is not None, "the operator is keyed"
        self._broadcast_states.all_groups = True
        call = getattr(function, "process", function)
        state = getattr(self._context, state_descriptor._asked_by)(state_descriptor)
        try:
            for key in states.keys_of(state_descriptor.get_name()):
                key_context.event_ms = key_context.watermark
                results = call(user_key(key), state)
                if hasattr(results, "__next__"):  # the function is a generator, or gives one
                    self._emit(results)
        finally:
            key_context.key = key_context.entry = key_context.event_ms = None


class KeyedBroadcastProcessOperator(KeyedProcessOperator):
    """Calls the method of the input for each record, and ``on_timer``, with the broadcast state."""

    _spec: KeyedBroadcastProcessSpec

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        super().open(node, context, key_context)
        self._states = make_broadcast_states(context, self._spec.states, node)

    def contexts(self) -> tuple[KeyedContext, TimerContext]:
        """Return the contexts of ``process_element`` and of ``on_timer``."""
        states = self._states
        return ReadOnlyContext(self.key_context, states), ReadOnlyTimerContext(
            self.key_context, states
        )

    def bind(self, outputs: Outputs) -> Push:
        push = super().bind(outputs)
        self._broadcast_context = BroadcastContext(
            self.context, self.key_context, self._states, self._emit_results
        )
        self._broadcast_element = self._spec.function.target.process_broadcast_element
        return push

    def processors(self) -> tuple[ProcessBlock, ...]:
        return *super().processors(), self.process_broadcast

    def process_broadcast(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        """Process broadcast records.

        Called only for the first key group of a task. If a record uses ``apply_to_keyed_state``, it
        is repeated for all other groups, without the results that it emitted before that call.
        """
        node, context, element = self.node, self._broadcast_context, self._broadcast_element  # noqa: F841
        broadcast_states: BroadcastStateStore = context._broadcast_states
        for value, timestamp in zip(values, timestamps or [None] * len(values), strict=True):
            context._timestamp = timestamp
            broadcast_states.all_groups = False
            results = element(value, context)
            if results is not None:
                if type(results) not in EXPECTED_RESULT_TYPES:
                    check_results(results)
                for result in results:
                    if not broadcast_states.repeating or broadcast_states.all_groups:
                        self._emit((result,), timestamp)
            broadcast_states.asked_all_groups |= broadcast_states.all_groups

    def _emit_results(self, results: Any) -> None:
        self._emit(results, self._broadcast_context._timestamp)

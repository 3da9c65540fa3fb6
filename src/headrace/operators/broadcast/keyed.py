"""A function of a keyed stream and a broadcast one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.errors import NotKeyedError
from headrace.operators.broadcast.states import BroadcastStates, DeclaredMap, broadcast_states
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
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.shared import SharedStates


@dataclass(frozen=True)
class KeyedBroadcastProcessSpec(KeyedProcessSpec):
    """As ``BroadcastProcessSpec``, with keyed state and perhaps ``on_timer`` on the keyed side."""

    states: tuple[DeclaredMap, ...] = ()
    kind = "keyed-broadcast-process"
    label = "Keyed-Co-Process-Broadcast"
    fixed_traits = Traits(keyed=True, state=True, side_outputs=True, inputs=2, shared=True)

    def build(self) -> Operator:
        return KeyedBroadcastProcessOperator(self)


class ReadOnlyContext(KeyedContext):
    """What ``process_element`` sees."""

    def __init__(self, key_context: KeyContext, states: BroadcastStates) -> None:
        super().__init__(key_context)
        self.get_broadcast_state = states.readable


class ReadOnlyTimerContext(TimerContext):
    """What ``on_timer`` sees."""

    def __init__(self, key_context: KeyContext, states: BroadcastStates) -> None:
        super().__init__(key_context)
        self.get_broadcast_state = states.readable


class BroadcastContext(ProcessContext):
    """What ``process_broadcast_element`` sees: it has no key."""

    def __init__(
        self,
        context: TaskContext,
        key_context: KeyContext,
        states: BroadcastStates,
        emit: Callable[[Any], None],
    ) -> None:
        super().__init__(key_context)
        assert context.shared is not None, "the operator has a broadcast input"
        self._context, self._shared, self._emit = context, context.shared, emit
        self.get_broadcast_state = states.writable

    def current_watermark(self) -> int:
        """The watermark (ms) of this operator."""
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
        """Call ``function(key, state)`` for each key that holds something in a keyed state.

        A function object with ``process(key, state)`` serves as well, as in Flink.
        """
        states, key_context = self._context.states, self._key_context
        assert states is not None, "the operator is keyed"
        self._shared.all_groups = True
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
        """Open the function, and ask for the shared state."""
        super().open(node, context, key_context)
        self._states = broadcast_states(context, self._spec.states, node)

    def contexts(self) -> tuple[KeyedContext, TimerContext]:
        """What the function sees with a record, and with a timer."""
        states = self._states
        return ReadOnlyContext(self.key_context, states), ReadOnlyTimerContext(
            self.key_context, states
        )

    def bind(self, outputs: Outputs) -> Push:
        """Generate the loop of the keyed side."""
        push = super().bind(outputs)
        self._broadcast_context = BroadcastContext(
            self.context, self.key_context, self._states, self._emit_results
        )
        self._broadcast_element = self._spec.function.target.process_broadcast_element
        return push

    def processors(self) -> tuple[ProcessBlock, ...]:
        """What takes the blocks of each input."""
        return *super().processors(), self.process_broadcast

    def process_broadcast(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        """Take broadcast records, for the whole task.

        Where a record reaches for all keys, the groups after the first get it as well. What came
        before it did so was emitted by the first.
        """
        node, context, element = self.node, self._broadcast_context, self._broadcast_element  # noqa: F841
        shared: SharedStates = context._shared
        for value, timestamp in zip(values, timestamps or [None] * len(values), strict=True):
            context._timestamp = timestamp
            shared.all_groups = False
            results = element(value, context)
            if results is not None:
                if type(results) not in EXPECTED_RESULT_TYPES:
                    check_results(results)
                for result in results:
                    if not shared.repeating or shared.all_groups:
                        self._emit((result,), timestamp)
            shared.asked_all_groups |= shared.all_groups

    def _emit_results(self, results: Any) -> None:
        self._emit(results, self._broadcast_context._timestamp)

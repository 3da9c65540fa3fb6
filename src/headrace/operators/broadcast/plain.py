"""Process functions of a stream without keys and a broadcast stream."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.operators.broadcast.states import BroadcastStates, DeclaredMap, make_broadcast_states
from headrace.operators.connected.elements import broadcast_elements
from headrace.operators.connected.plain import CoProcessOperator, CoProcessSpec
from headrace.operators.process import ProcessContext
from headrace.runtime.context import TaskContext
from headrace.runtime.operator import NodeProgram, Operator, Traits
from headrace.runtime.state.handles import KeyContext


@dataclass(frozen=True)
class BroadcastProcessSpec(CoProcessSpec):
    """``function.target`` has ``process_element(value, ctx)`` and ``process_broadcast_element``.

    ``states``: the broadcast states that the program declares.
    """

    states: tuple[DeclaredMap, ...]
    elements = staticmethod(broadcast_elements)
    traits = Traits(inputs=2, side_outputs=True, broadcast_state=True)
    kind = "broadcast-process"
    label = "Co-Process-Broadcast"

    def build(self) -> Operator:
        return BroadcastProcessOperator(self)


class ReadOnlyContext(ProcessContext):
    """The context of ``process_element``."""

    def __init__(self, key_context: KeyContext, states: BroadcastStates) -> None:
        super().__init__(key_context)
        self.get_broadcast_state = states.readable


class BroadcastContext(ProcessContext):
    """The context of ``process_broadcast_element``."""

    def __init__(self, key_context: KeyContext, states: BroadcastStates) -> None:
        super().__init__(key_context)
        self.get_broadcast_state = states.writable


class BroadcastProcessOperator(CoProcessOperator):
    """Calls the method of the input for each record, with the broadcast state."""

    _spec: BroadcastProcessSpec

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        super().open(node, context, key_context)
        self._states = make_broadcast_states(context, self._spec.states, node)

    def contexts(self) -> tuple[ProcessContext, ...]:
        """Return the contexts; only that of the broadcast input has writable state."""
        return ReadOnlyContext(self.key_context, self._states), BroadcastContext(
            self.key_context, self._states
        )

"""A function of a stream without keys and a broadcast one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.operators.broadcast.states import BroadcastStates, DeclaredMap
from headrace.operators.connected.plain import TimedOperator, element_push
from headrace.operators.process import ProcessContext
from headrace.runtime.context import TaskContext
from headrace.runtime.loops import Push
from headrace.runtime.operator import NodeProgram, Operator, OperatorSpec, Outputs, Traits
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.user_function import UserFunction


@dataclass(frozen=True)
class BroadcastProcessSpec(OperatorSpec):
    """``function.target`` has ``process_element(value, ctx)`` and ``process_broadcast_element``.

    ``states``: the broadcast states, as they were declared.
    """

    function: UserFunction
    states: tuple[DeclaredMap, ...]
    traits = Traits(inputs=2, side_outputs=True, shared=True)
    kind = "broadcast-process"
    label = "Co-Process-Broadcast"

    def build(self) -> Operator:
        return BroadcastProcessOperator(self)


class ReadingContext(ProcessContext):
    """What ``process_element`` sees."""

    def __init__(self, cell: KeyContext, states: BroadcastStates) -> None:
        super().__init__(cell)
        self.get_broadcast_state = states.readable


class WritingContext(ProcessContext):
    """What ``process_broadcast_element`` sees."""

    def __init__(self, cell: KeyContext, states: BroadcastStates) -> None:
        super().__init__(cell)
        self.get_broadcast_state = states.writable


class BroadcastProcessOperator(TimedOperator):
    """Calls the method of the input for each record, with the broadcast state."""

    def __init__(self, spec: BroadcastProcessSpec) -> None:
        self._spec = spec

    def open(self, node: NodeProgram, context: TaskContext, cell: KeyContext) -> None:
        """Open the function, and ask for the shared state."""
        super().open(node, context, cell)
        self._states = states_of(context, self._spec.states, node)

    def bind_inputs(self, outputs: Outputs) -> tuple[Push, ...]:
        """A push per input."""
        self._reading = ReadingContext(self.cell, self._states)
        self._writing = WritingContext(self.cell, self._states)
        target = self._spec.function.target
        return (
            element_push(self, target.process_element, self._reading, outputs),
            element_push(self, target.process_broadcast_element, self._writing, outputs),
        )

    def _reached(self, watermark: int) -> None:
        self._reading._watermark = self._writing._watermark = watermark


def states_of(
    context: TaskContext, declared: tuple[DeclaredMap, ...], node: Any
) -> BroadcastStates:
    """The broadcast states of an operator."""
    assert context.shared is not None, "the operator has a broadcast input"
    return BroadcastStates(context.shared, declared, f"{node.name}, built at {node.site}")

"""A value per key into which every record is reduced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.operators.combine import CombineSpec
from headrace.operators.keyed import StatefulOperator
from headrace.runtime.context import TaskContext
from headrace.runtime.loops import Push
from headrace.runtime.operator import Combiner, NodeProgram, Operator, OperatorSpec, Outputs, Traits
from headrace.runtime.state.backend import RESERVED_NAMES, StateBackend, Timer
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.user_function import UserFunction

SLOT = RESERVED_NAMES + "reduce"


@dataclass(frozen=True)
class ReduceSpec(OperatorSpec):
    """``function(value1, value2)`` gives the reduced value; a function object may keep keyed state.

    A stream emits the value after every record, a batch only the last one of each key.
    ``associative``: it may reduce what was reduced before, and keeps no state.
    """

    function: UserFunction
    operation: str = "Reduce"
    associative: bool = False
    traits = Traits(keyed=True, state=True, keeps_emitted=True)
    kind = "reduce"

    @property
    def label(self) -> str:
        return self.operation

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        return (self.function,)

    def build(self) -> Operator:
        return ReduceOperator(self)

    def combiner(self, selector: UserFunction, key_type: Any, is_batch: bool) -> Combiner | None:
        """In a batch, where only the last value of a key counts."""
        if not is_batch or not self.associative:
            return None
        return Combiner(CombineSpec(selector, self.function), selector, key_type, self)


class ReduceOperator(StatefulOperator):
    """Keeps (value, timestamp of the last record) per key."""

    def __init__(self, spec: ReduceSpec) -> None:
        self._spec = spec

    def bind(self, outputs: Outputs) -> Push:
        """Keyed operators take blocks; see ``process``."""
        self._down = outputs.main
        return self.push_keyed

    def open(self, node: NodeProgram, context: TaskContext, cell: KeyContext) -> None:
        """Open the user's function, and declare the operator's state."""
        super().open(node, context, cell)
        assert context.states is not None, "a reduction is keyed"
        context.states.declare(SLOT)

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        """Reduce each record of a block into its key's value."""
        # Only an object is opened, and could have asked for state.
        cell, may_use_state = self.cell, self._spec.function.method is not None
        backend, down, only_last = self.cell.backend, self._down, self.context.is_batch
        reduce, enter, changed = self._spec.function.bound(), backend.enter, backend.changed
        node = self.node  # noqa: F841
        for key, value, timestamp in zip(
            keys, values, timestamps or [None] * len(values), strict=True
        ):
            entry = enter(key)
            held = entry.get(SLOT)
            if held is not None:
                if may_use_state:
                    cell.key, cell.entry, cell.event_ms = key, entry, timestamp
                value = reduce(held[0], value)
            entry[SLOT] = (value, timestamp)
            changed(key)
            if not only_last:
                down(value, timestamp)

    def finish(self, backend: StateBackend) -> None:
        """Emit the last value of each key."""
        for key in list(backend.keys()):
            value, timestamp = backend.enter(key)[SLOT]
            self._down(value, timestamp)

    def fire_user_timer(self, timer: Timer, event_time: bool) -> None:
        """A reduction sets no timers."""

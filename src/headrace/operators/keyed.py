"""Base classes of operators with keyed state."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from headrace.common._watermark_generators import MAX_WATERMARK, MIN_WATERMARK, out_of_range
from headrace.runtime.context import TaskContext
from headrace.runtime.loops import ProcessBlock, Push, Step, compile_process_block
from headrace.runtime.operator import KeyedOperator, NodeProgram, Outputs
from headrace.runtime.state.backend import Timer
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.ttl import CLEANUP
from headrace.runtime.user_function import open_function


def user_timer(timestamp: int, key: Any, namespace: Any = None) -> Timer:
    """Make a timer that a user's function registers.

    Raises:
        TypeMismatchError: the timer could never fire, as its time is out of range.
    """
    time_ms = int(timestamp)
    if not MIN_WATERMARK <= time_ms <= MAX_WATERMARK:
        raise out_of_range("a timer is registered for", time_ms)
    return Timer(time_ms, key, namespace)


class StatefulOperator(KeyedOperator):
    """A keyed operator with state that may expire."""

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        """Open the user's functions with a context that gives access to keyed state."""
        self.node, self.key_context, self.context = node, key_context, context
        for function in node.spec.functions if node.spec else ():
            open_function(function, context)

    def reject_record(self, value: Any, timestamp: int | None) -> None:
        """Raise an error: the ``push`` of keyed operators, which get blocks with keys only."""
        raise AssertionError(f"{self.node.name} was pushed a record without a key")

    def fire_timer(self, timer: Timer, is_event_time: bool) -> None:
        """Remove expired state for a cleanup timer; pass other timers to ``fire_user_timer``."""
        if timer.namespace == CLEANUP:
            self.key_context.enter_timer(timer, is_event_time)
            if self.context.states is not None:
                self.context.states.purge(is_event_time)
        else:
            self.fire_user_timer(timer, is_event_time)

    @abstractmethod
    def fire_user_timer(self, timer: Timer, is_event_time: bool) -> None:
        """Handle a timer of the operator or its function."""


class SteppedOperator(StatefulOperator):
    """A keyed operator that has a step for each input, from which loops over blocks are generated.

    The loops include the operators that follow in the chain. When a step runs, the record's key is
    the current key.
    """

    _loops: tuple[ProcessBlock, ...]

    @abstractmethod
    def steps(self, outputs: Outputs) -> tuple[Step, ...]:
        """Return the steps, one for each input."""

    def steps_before(self) -> tuple[Step, ...]:
        """Return the steps before those of each input: they set the current key."""
        lines = (
            "$at.key = key",
            "$at.entry = $enter(key)",
            "$at.event_ms = timestamp",
        )
        # Read for each block, as each key group has a ``look_up`` of its own.
        prologue = ("$at, $enter = $key_context, $key_context.look_up",)
        return (Step(lines, {"key_context": self.key_context}, prologue=prologue),)

    def steps_after(self, outputs: Outputs) -> Sequence[Step]:
        """Return the steps after those of each input: the operators that follow in the chain."""
        return outputs.row()

    def bind(self, outputs: Outputs) -> Push:
        """Generate the loops."""
        before, name = self.steps_before(), self.node.name
        self._loops = tuple(
            compile_process_block((*before, step, *self.steps_after(outputs)), name)
            for step in self.steps(outputs)
        )
        return self.reject_record

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        self._loops[0](keys, values, timestamps)

    def processors(self) -> tuple[ProcessBlock, ...]:
        return self._loops

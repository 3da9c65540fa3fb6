"""What operators with keyed state have in common."""

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
    """A timer that a user's function registers.

    Raises:
        TypeMismatchError: it would never fire, as no clock gets there.
    """
    time_ms = int(timestamp)
    if not MIN_WATERMARK <= time_ms <= MAX_WATERMARK:
        raise out_of_range("a timer is registered for", time_ms)
    return Timer(time_ms, key, namespace)


class StatefulOperator(KeyedOperator):
    """A keyed operator whose states may expire."""

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        """Open the user functions with a context that gives out state."""
        self.node, self.key_context, self.context = node, key_context, context
        for function in node.spec.functions if node.spec else ():
            open_function(function, context)

    def reject_record(self, value: Any, timestamp: int | None) -> None:
        """Keyed operators are driven block by block, never record by record."""
        raise AssertionError(f"{self.node.name} was pushed a record without a key")

    def fire(self, timer: Timer, event_time: bool) -> None:
        """For a timer of a time-to-live remove expired values. Others go to ``fire_user_timer``."""
        if timer.namespace == CLEANUP:
            self.key_context.enter_timer(timer, event_time)
            if self.context.states is not None:
                self.context.states.purge(event_time)
        else:
            self.fire_user_timer(timer, event_time)

    @abstractmethod
    def fire_user_timer(self, timer: Timer, event_time: bool) -> None:
        """A timer of the operator's own is due."""


class SteppedOperator(StatefulOperator):
    """A keyed operator that is a step for each input: its loops over blocks are generated.

    What follows it in its chain is part of them. A step finds the record's ``key`` entered.
    """

    _loops: tuple[ProcessBlock, ...]

    @abstractmethod
    def steps(self, outputs: Outputs) -> tuple[Step, ...]:
        """What each input's records go through."""

    def steps_before(self) -> tuple[Step, ...]:
        """What stands before each step: the record's key becomes the current one."""
        lines = (
            "$at.key = key",
            "$at.entry = $enter(key)",
            "$at.event_ms = timestamp",
        )
        # Each key group has a ``look_up`` of its own. Local variables are faster than global names.
        prologue = ("$at, $enter = $key_context, $key_context.look_up",)
        return (Step(lines, {"key_context": self.key_context}, prologue=prologue),)

    def steps_after(self, outputs: Outputs) -> Sequence[Step]:
        """What stands after each step: the rest of the chain, as far as it is one function."""
        return outputs.row()

    def bind(self, outputs: Outputs) -> Push:
        """Generate the loops. Keyed operators take blocks; see ``processors``."""
        before, name = self.steps_before(), self.node.name
        self._loops = tuple(
            compile_process_block((*before, step, *self.steps_after(outputs)), name)
            for step in self.steps(outputs)
        )
        return self.reject_record

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        """Take records of the first input."""
        self._loops[0](keys, values, timestamps)

    def processors(self) -> tuple[ProcessBlock, ...]:
        """What takes the blocks of each input."""
        return self._loops

"""What operators with keyed state have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from headrace.common.watermark_generators import MAX_WATERMARK, MIN_WATERMARK, out_of_range
from headrace.runtime.context import TaskContext
from headrace.runtime.operator import KeyedOperator, NodeProgram
from headrace.runtime.state.backend import Timer
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.ttl import CLEANUP
from headrace.runtime.user_function import open_function


def timer_at(timestamp: int, key: Any, namespace: Any = None) -> Timer:
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

    def open(self, node: NodeProgram, context: TaskContext, cell: KeyContext) -> None:
        """Open the user functions with a context that gives out state."""
        self.node, self.cell, self.context = node, cell, context
        for function in node.spec.functions if node.spec else ():
            open_function(function, context)

    def push_keyed(self, value: Any, timestamp: int | None) -> None:
        """Keyed operators are driven block by block, never record by record."""
        raise AssertionError(f"{self.node.name} was pushed a record without a key")

    def fire(self, timer: Timer, event_time: bool) -> None:
        """For a timer of a time-to-live remove expired values. Others go to ``fire_user_timer``."""
        if timer.namespace == CLEANUP:
            self.cell.enter_timer(timer, event_time)
            if self.context.states is not None:
                self.context.states.purge(event_time)
        else:
            self.fire_user_timer(timer, event_time)

    @abstractmethod
    def fire_user_timer(self, timer: Timer, event_time: bool) -> None:
        """A timer of the operator's own is due."""

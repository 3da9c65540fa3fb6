"""The spec of windows of any kind."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

from headrace.operators.windows.clocks import clocks_of
from headrace.operators.windows.evicting import EvictingWindowOperator
from headrace.operators.windows.operator import WindowOperator
from headrace.operators.windows.windowing import Windowing
from headrace.runtime.operator import Operator, OperatorSpec, Traits
from headrace.runtime.user_function import UserFunction


@dataclass(frozen=True)
class WindowSpec(Windowing, OperatorSpec):
    """Windows in state by key and window, each with timers of its own."""

    kind = "window"

    @cached_property
    def traits(self) -> Traits:  # type: ignore[override]
        """Which clocks the trigger asks for; the end of a window needs that of the assigner."""
        event_time, clocks = self.event_time, clocks_of(self.trigger.target)
        return Traits(
            keyed=True,
            state=True,
            event_timers=event_time or clocks.event_time,
            processing_timers=clocks.processing_time or not (self.endless or event_time),
            event_time=event_time,
            side_outputs=True,
            keeps_emitted=True,
        )

    @property
    def label(self) -> str:
        return type(self.assigner.target).__name__

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        return self.contents.functions

    def copied(self) -> Self:
        """The same with functions of its own, for one task."""
        made = super().copied()
        vars(made)["contents"] = self.contents.copied()
        return made

    def build(self) -> Operator:
        return WindowOperator(self) if self.evictor is None else EvictingWindowOperator(self)

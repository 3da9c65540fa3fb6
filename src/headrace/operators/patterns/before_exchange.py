"""Before the key exchange of a pattern, events that cannot change anything are left out.

The receiver counts late events, and may give them aside, so no late event is left out. Its
watermark is never ahead of that of a sender. So an event after the sender's watermark is not late,
and may be left out; any other is sent, and the receiver decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

from headrace.common.watermark_strategy import MIN_WATERMARK
from headrace.operators.patterns.conditions import Condition
from headrace.operators.patterns.shortcut import Check, any_holds
from headrace.runtime.loops import Step
from headrace.runtime.operator import Operator, OperatorSpec, PushWatermark
from headrace.runtime.user_function import UserFunction


@dataclass(frozen=True)
class RelevantEventsSpec(OperatorSpec):
    """The events for which one of the conditions holds, and those that may be late.

    ``may_be_late``: False in a batch and in processing time.
    """

    conditions: tuple[Condition, ...]
    may_be_late: bool
    kind = "relevant-events"
    label = "Relevant events"
    why_rows = "conditions are called with each event"

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        return tuple(function for each in self.conditions for function in each.functions)

    def copied(self) -> Self:
        return replace(self, conditions=tuple(each.copied() for each in self.conditions))

    def build(self) -> Operator:
        return RelevantEventsOperator(self)


class RelevantEventsOperator(Operator):
    """Asks the conditions for each event that is not late at the sender."""

    def __init__(self, spec: RelevantEventsSpec) -> None:
        self._spec = spec
        self.watermark_ms = MIN_WATERMARK

    def step(self) -> Step:
        may_matter = _tolerant(any_holds(self._spec.conditions))
        names = {"node": self.node, "operator": self, "may_matter": may_matter}
        late = "timestamp is None or timestamp <= $operator.watermark_ms or "
        condition = f"if {late if self._spec.may_be_late else ''}$may_matter(value):"
        return Step(("node = $node", condition), names, forwards_record=True)

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        self.watermark_ms = max(watermark, self.watermark_ms)
        push_watermark(watermark, idle)

    def snapshot(self) -> int | None:
        return self.watermark_ms if self.watermark_ms > MIN_WATERMARK else None

    def restore(self, state: int | None) -> None:
        self.watermark_ms = MIN_WATERMARK if state is None else state

    def reopen(self) -> None:
        self.watermark_ms = MIN_WATERMARK


def _tolerant(check: Check) -> Callable[[Any], Any]:
    """Return a check that holds where a condition fails: it fails where it is needed, or never."""

    def may_matter(event: Any) -> Any:
        try:
            return check(event)
        except Exception:
            return True

    return may_matter

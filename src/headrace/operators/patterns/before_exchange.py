"""Before the key exchange of a pattern, events that cannot change anything are left out.

The receiver counts late events, and may give them aside, so no late event is left out. Its
watermark is never ahead of that of a sender. So an event after the sender's watermark is not late,
and may be left out; any other is sent, and the receiver decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from headrace.common.watermark_strategy import MIN_WATERMARK
from headrace.operators.columns.gathering import GatheringOperator
from headrace.operators.patterns.conditions import Condition
from headrace.operators.patterns.over_columns import (
    AnsweringContext,
    Answers,
    ColumnConditions,
)
from headrace.operators.patterns.shortcut import Check, any_holds, selection
from headrace.runtime.loops import Step
from headrace.runtime.operator import Operator, OperatorSpec, PushWatermark, Traits
from headrace.runtime.user_function import UserFunction

if TYPE_CHECKING:
    from headrace.operators.patterns.over_columns import AnswerArray, Flags
    from headrace.runtime.columns.batch import Columns


@dataclass(frozen=True)
class RelevantEventsSpec(OperatorSpec):
    """The events for which one of the conditions holds, and those that may be late.

    ``may_be_late``: False in a batch and in processing time. ``over_columns``: those of the
    pattern's conditions that are.
    """

    conditions: tuple[Condition, ...]
    may_be_late: bool
    over_columns: ColumnConditions | None = None
    kind = "relevant-events"
    label = "Relevant events"

    @property
    def traits(self) -> Traits:  # type: ignore[override]
        """Takes columns if it has conditions over them."""
        return Traits(takes_columns=self.over_columns is not None)

    @property
    def why_rows(self) -> str:
        """Functions are called with each event."""
        return "" if self.over_columns else "conditions are called with each event"

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        return tuple(function for each in self.conditions for function in each.functions)

    def copied(self) -> Self:
        return replace(self, conditions=tuple(each.copied() for each in self.conditions))

    def build(self) -> Operator:
        if self.over_columns is None:
            return RelevantEventsOperator(self)
        return RelevantColumnsOperator(self, Answers(self.over_columns))


class _SendersOperator(Operator):
    """Knows the sender's watermark."""

    def __init__(self, spec: RelevantEventsSpec) -> None:
        self._spec = spec
        self.watermark_ms = MIN_WATERMARK

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        self.watermark_ms = max(watermark, self.watermark_ms)
        push_watermark(watermark, idle)

    def snapshot(self) -> int | None:
        return self.watermark_ms if self.watermark_ms > MIN_WATERMARK else None

    def restore(self, state: int | None) -> None:
        self.watermark_ms = MIN_WATERMARK if state is None else state

    def reopen(self) -> None:
        self.watermark_ms = MIN_WATERMARK


class RelevantEventsOperator(_SendersOperator):
    """Asks the conditions for each event that is not late at the sender."""

    def step(self) -> Step:
        may_matter = _tolerant(any_holds(self._spec.conditions))
        names = {"node": self.node, "operator": self, "may_matter": may_matter}
        late = "timestamp is None or timestamp <= $operator.watermark_ms or "
        condition = f"if {late if self._spec.may_be_late else ''}$may_matter(value):"
        return Step(("node = $node", condition), names, forwards_record=True)


class RelevantColumnsOperator(_SendersOperator, GatheringOperator):
    """Asks conditions over columns for a block of events.

    Events that came as rows are sent as they came.
    """

    def __init__(self, spec: RelevantEventsSpec, answers: Answers) -> None:
        _SendersOperator.__init__(self, spec)
        GatheringOperator.__init__(self)
        self._answers = answers
        self._select = selection(spec.conditions, AnsweringContext(answers))

    def take_rows(self, rows: list[Any], times: list[int | None]) -> None:
        relevant = self._relevant(rows, self._answers.of_records(rows))
        if self._spec.may_be_late:
            for place, timestamp in enumerate(times):
                if timestamp is None or timestamp <= self.watermark_ms:
                    relevant[place] = True
        push = self.outputs.main
        for place in relevant.nonzero()[0].tolist():
            push(rows[place], times[place])

    def take(self, columns: Columns) -> None:
        relevant = self._relevant(columns, self._answers.of_columns(columns))
        if self._spec.may_be_late:
            import pyarrow.compute as pc

            times = columns.times
            if times is None:
                relevant[:] = True
            else:
                is_late = pc.fill_null(pc.less_equal(times, self.watermark_ms), True)
                relevant |= is_late.to_numpy(zero_copy_only=False)
        if relevant.all():
            self.outputs.columns(columns)
        elif relevant.any():
            self.outputs.columns(columns.take(relevant.nonzero()[0]))

    def _relevant(self, events: Any, answers: AnswerArray) -> Flags:
        """Return for each event whether one of the conditions holds, or one fails."""
        import numpy as np

        relevant = np.zeros(len(answers), np.bool_)
        try:
            relevant[self._select(events, answers)] = True
        except Exception:  # it fails where it is needed, or never
            relevant[:] = True
        return relevant

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        self._flush()
        _SendersOperator.watermark(self, watermark, idle, push_watermark)

    def restore(self, state: int | None) -> None:
        _SendersOperator.restore(self, state)
        GatheringOperator.restore(self, state)


def _tolerant(check: Check) -> Callable[[Any], Any]:
    """Return a check that holds where a condition fails: it fails where it is needed, or never."""

    def may_matter(event: Any) -> Any:
        try:
            return check(event)
        except Exception:
            return True

    return may_matter

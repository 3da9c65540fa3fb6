"""The first phase of GROUP BY: rows are aggregated by key before they are sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.operators.columns.folding import BufferedPartials
from headrace.operators.columns.gathering import ColumnOperator, retracted
from headrace.operators.columns.partials import partials_of_rows
from headrace.operators.columns.vectors import VectorAggregates
from headrace.operators.combine_policy import CombinePolicy
from headrace.runtime.operator import Operator, OperatorSpec, PushWatermark, Traits

if TYPE_CHECKING:
    from headrace.operators.columns.accumulator import Aggregated
    from headrace.runtime.columns.batch import Columns

MAX_ROWS = 1 << 19
"""The most rows that are buffered."""


@dataclass(frozen=True)
class LocalAggregateSpec(OperatorSpec):
    """Partial results of rows, by key. ``schema``: of the input."""

    keys: tuple[str, ...]
    aggregates: Sequence[Aggregated]
    schema: Any
    retracts: bool
    traits = Traits(takes_columns=True, gives_columns=True)
    kind = "local-aggregate"
    label = "LocalGroupAggregate"

    def build(self) -> Operator:
        return LocalAggregateOperator(self)


class LocalAggregateOperator(ColumnOperator):
    """Buffers partial results until the end of the task run, or until a watermark.

    If keys rarely repeat, rows are sent as they are, because merging would cost more.
    """

    def __init__(self, spec: LocalAggregateSpec) -> None:
        super().__init__(spec.schema)
        self._keys = spec.keys
        vectors = VectorAggregates.of(spec.aggregates, spec.schema, spec.retracts)
        assert vectors is not None, "the planner has asked"
        self._vectors = vectors
        self._policy = CombinePolicy()
        self._buffered = BufferedPartials(vectors, spec.keys)

    def take(self, columns: Columns) -> None:
        partials = partials_of_rows(self._vectors, columns.batch, self._keys, retracted(columns))
        if not self._policy.should_combine(len(columns)):
            self._send()
            self._emit(partials)
            return
        self._buffered.add(partials)
        if self._buffered.received >= MAX_ROWS:
            self._send()

    def _send(self) -> None:
        received, grouped = self._buffered.received, self._buffered.pop()
        if grouped is not None:
            self._policy.add_sample(received, grouped.num_rows)
            self._emit(grouped)

    def _emit(self, partials: Any) -> None:
        from headrace.runtime.columns.batch import Columns
        from headrace.runtime.columns.shapes import NAMED_ROWS

        self.outputs.columns(Columns(partials, NAMED_ROWS))

    def complete(self) -> None:
        super().complete()
        self._send()

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        """Pass the watermark on at once: the results of GROUP BY have no timestamps."""
        self._flush()
        push_watermark(watermark, idle)

    def restore(self, state: Any | None) -> None:
        super().restore(state)
        self._buffered.clear()

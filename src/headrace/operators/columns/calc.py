"""Filter and projection: each row becomes another one, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from headrace.common.changelog_mode import ChangelogMode, union
from headrace.errors import TypeMismatchError
from headrace.operators.columns.gathering import ColumnOperator
from headrace.runtime.context import TaskContext
from headrace.runtime.operator import NodeProgram, Operator, OperatorSpec, Traits
from headrace.runtime.state.handles import KeyContext

if TYPE_CHECKING:
    from headrace.runtime.columns.batch import Columns


class BatchFunction(Protocol):
    """Computes new columns from a record batch."""

    def compile(self) -> CompiledBatchFunction:
        """Return the function, for one task."""

    @property
    def summary(self) -> str:
        """What it computes, for ``explain``."""


class CompiledBatchFunction(Protocol):
    """A ``BatchFunction`` of one task."""

    def __call__(self, batch: Any, now_ms: int) -> tuple[Any, Any | None]:
        """Return the new batch, and which rows it has: indices, or None for all."""


@dataclass(frozen=True)
class CalcSpec(OperatorSpec):
    """``function``: computes the rows. ``schema``: of the input. ``time``: the column of the result
    that has the rows' timestamps; None: they keep those that they have."""

    function: BatchFunction
    schema: Any
    time: str | None = None
    traits = Traits(takes_columns=True, gives_columns=True)
    kind = "calc"
    label = "Calc"

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """Return the kinds of the input."""
        return union(inputs)

    def build(self) -> Operator:
        return CalcOperator(self)


class CalcOperator(ColumnOperator):
    """Computes batches by a function."""

    def __init__(self, spec: CalcSpec) -> None:
        super().__init__(spec.schema)
        self._spec = spec

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        super().open(node, context, key_context)
        self._compute = self._spec.function.compile()

    def take(self, columns: Columns) -> None:
        import pyarrow as pa

        from headrace.runtime.columns.batch import Columns
        from headrace.runtime.columns.shapes import NAMED_ROWS

        batch, kept = self._compute(columns.batch, self.key_context.now_ms)
        times, kinds = columns.times, columns.kinds
        if kept is not None:
            if not len(kept):
                return
            times = None if times is None else times.take(pa.array(kept))
            kinds = None if kinds is None else kinds[kept]
        made = Columns(batch, NAMED_ROWS, times, kinds)
        if self._spec.time is not None:
            timed = made.with_times_of_column(self._spec.time)
            if timed is None:
                raise TypeMismatchError(
                    f"the event time {self._spec.time!r} of a row is NULL",
                    hint="leave such rows out before the table's watermark, or give them a time",
                )
            made = timed
        self.outputs.columns(made)

"""The constraints of a table, checked or enforced before its rows are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common.changelog_mode import ChangelogMode, union
from headrace.errors import TypeMismatchError
from headrace.operators.columns.gathering import (
    DELETE,
    UPDATE_BEFORE,
    ColumnOperator,
)
from headrace.runtime.context import TaskContext
from headrace.runtime.operator import NodeProgram, Operator, OperatorSpec, Traits
from headrace.runtime.state.handles import KeyContext

if TYPE_CHECKING:
    from headrace.runtime.columns.batch import Columns

DROPPED_COUNTER = "numNullRecordsDropped"


@dataclass(frozen=True)
class NotNullSpec(OperatorSpec):
    """``required``: columns that are never NULL. ``drops``: rows with a NULL in one are left out,
    and counted; otherwise the job fails."""

    schema: Any
    required: tuple[str, ...]
    drops: bool = False
    traits = Traits(takes_columns=True, gives_columns=True)
    kind = "not-null"
    label = "NotNull"

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """Return the kinds of the input."""
        return union(inputs)

    def build(self) -> Operator:
        return NotNullOperator(self)


class NotNullOperator(ColumnOperator):
    """Looks for NULLs in columns that have none."""

    def __init__(self, spec: NotNullSpec) -> None:
        super().__init__(spec.schema)
        self._spec = spec

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        super().open(node, context, key_context)
        self._dropped = context.get_metrics_group().counter(DROPPED_COUNTER)

    def take(self, columns: Columns) -> None:
        """Pass on rows without such NULLs."""
        batch = columns.batch
        found = [name for name in self._spec.required if batch.column(name).null_count]
        if not found:
            self.outputs.columns(columns)
            return
        import numpy as np

        null = np.zeros(len(columns), bool)
        for name in found:
            null |= np.asarray(batch.column(name).is_null())
        if not self._spec.drops:
            row = batch.slice(int(np.argmax(null)), 1).to_pylist()[0]
            raise TypeMismatchError(
                f"column {found[0]!r} is NOT NULL, and a row has NULL for it",
                where={"row": repr(row)[:200]},
                hint="'table.exec.sink.not-null-enforcer' = 'DROP' leaves such rows out",
            )
        self._dropped.inc(int(null.sum()))
        self.outputs.columns(columns.take(np.flatnonzero(~null)))


@dataclass(frozen=True)
class UpsertChangesSpec(OperatorSpec):
    """Makes upserts of retractions: rows before updates are left out, or become deletions."""

    schema: Any
    deletes: bool = False
    traits = Traits(takes_columns=True, gives_columns=True)
    kind = "upsert-changes"
    label = "DropUpdateBefore"

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """Return upserts."""
        return ChangelogMode.upsert()

    def build(self) -> Operator:
        return UpsertChangesOperator(self)


class UpsertChangesOperator(ColumnOperator):
    """Looks for rows before updates."""

    def __init__(self, spec: UpsertChangesSpec) -> None:
        super().__init__(spec.schema)
        self._deletes = spec.deletes

    def take(self, columns: Columns) -> None:
        """Pass on rows, without rows before updates."""
        import numpy as np

        from headrace.runtime.columns.batch import Columns

        kinds = columns.kinds
        if kinds is None or not (before := kinds == UPDATE_BEFORE).any():
            self.outputs.columns(columns)
        elif self._deletes:
            kinds = np.where(before, DELETE, kinds).astype(np.int8)
            self.outputs.columns(Columns(columns.batch, columns.shape, columns.times, kinds))
        else:
            self.outputs.columns(columns.take(np.flatnonzero(~before)))

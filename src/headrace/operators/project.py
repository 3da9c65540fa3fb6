"""The operator of ``project``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.runtime.loops import Step
from headrace.runtime.operator import Operator, OperatorSpec, Outputs, Traits

if TYPE_CHECKING:
    from headrace.runtime.columns.batch import Columns, PushColumns


@dataclass(frozen=True)
class ProjectSpec(OperatorSpec):
    """The fields at ``indexes``, in that order, as a tuple."""

    indexes: tuple[int, ...]
    traits = Traits(passes_columns=True, gives_rows=True)
    kind = "project"
    label = "Projection"

    def build(self) -> Operator:
        return ProjectOperator(self)


class ProjectOperator(Operator):
    """Selects fields by position."""

    def __init__(self, spec: ProjectSpec) -> None:
        self._spec = spec

    def step(self) -> Step:
        fields = ", ".join(f"value[{int(index)}]" for index in self._spec.indexes)
        return Step(("node = $node", f"value = ({fields},)"), {"node": self.node})

    def bind_columns(self, outputs: Outputs) -> PushColumns:
        push_row = self.bind(outputs)

        def push(columns: Columns) -> None:
            selected = self._select(columns)
            if selected is None:
                columns.push_rows(push_row)
            else:
                outputs.columns(selected)

        return push

    def _select(self, columns: Columns) -> Columns | None:
        """Return the selected columns; None if they cannot be found by position."""
        import pyarrow as pa

        from headrace.runtime.columns.batch import Columns
        from headrace.runtime.columns.shapes import NamedRows, Tuples

        batch, indexes = columns.batch, self._spec.indexes
        has_positions = type(columns.shape) in (NamedRows, Tuples)
        if not has_positions or not all(0 <= index < batch.num_columns for index in indexes):
            return None
        names = [f"f{number}" for number in range(len(indexes))]  # as of tuples in batches
        selected_batch = pa.RecordBatch.from_arrays([*map(batch.column, indexes)], names=names)
        return Columns(selected_batch, Tuples(), columns.times)

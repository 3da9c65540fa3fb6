"""ORDER BY processing time in a stream: the rows of each micro-batch in an order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common.changelog_mode import ChangelogMode
from headrace.operators.columns.gathering import KeyedColumnOperator
from headrace.operators.columns.sort import SortKeys, sorted_rows
from headrace.runtime.operator import (
    Operator,
    OperatorSpec,
    PushWatermark,
    Traits,
)

if TYPE_CHECKING:
    import numpy as np

    from headrace.runtime.columns.batch import Columns


@dataclass(frozen=True)
class ProcessingTimeSortSpec(OperatorSpec):
    """Rows in the order of processing time; rows of the same time in the order of ``keys``.

    All rows of a micro-batch have the same time.
    """

    keys: SortKeys
    schema: Any
    traits = Traits(keyed=True, takes_columns=True, gives_columns=True)
    kind = "processing-time-sort"
    label = "ProcessingTimeSort"

    def accepts(self, input: int) -> ChangelogMode | None:
        """Return inserts: a row that was given cannot be taken back in order."""
        return ChangelogMode.insert_only()

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """Return inserts."""
        return ChangelogMode.insert_only()

    def build(self) -> Operator:
        return ProcessingTimeSortOperator(self)


class ProcessingTimeSortOperator(KeyedColumnOperator):
    """Keeps the rows of a micro-batch until its end."""

    def __init__(self, spec: ProcessingTimeSortSpec) -> None:
        super().__init__(spec.schema)
        self._spec = spec
        self._waiting: list[Columns] = []

    def restore(self, state: Any | None) -> None:
        """Clear what a failed task run has left."""
        super().restore(state)
        self._waiting = []

    def take(self, columns: Columns, codes: np.ndarray[Any, Any], distinct: list[Any]) -> None:
        if len(columns):
            self._waiting.append(columns)

    def complete(self) -> None:
        """Emit the rows of the micro-batch."""
        if self._waiting:
            rows, self._waiting = self._waiting, []
            self.outputs.columns(sorted_rows(rows, self._spec.keys, 0, None))

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        """Emit the buffered rows before the watermark, so that it makes none of them late."""
        self.complete()
        push_watermark(watermark, idle)

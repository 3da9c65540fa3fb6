"""Pre-aggregation of columns by key: one row is sent in place of many."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.operators.aggregates.aggregate import ExtremeRecord, RecordFold
from headrace.operators.aggregates.kernels import column_index, exact_numbers, final_results
from headrace.runtime.columns.batch import Columns, concatenate_columns
from headrace.runtime.columns.exactness import have_exact_keys
from headrace.runtime.columns.keys import ColumnKeys

FOLD_ROWS = 1 << 18
"""Fold when this many rows are buffered. Each fold also processes the rows of the fold before."""


@dataclass
class ColumnCombiner:
    """Buffers batches of columns, and folds them into one row per key.

    Rows keep their order, with the folded ones first, so the numbers of a key are folded in order.
    """

    fold: RecordFold
    key_columns: tuple[str, ...]
    received: int = 0
    keys: int = 0
    """The number of folded rows, one per key; 0 before the first fold."""
    _batches: list[Columns] = field(default_factory=list)
    _rows: int = 0

    def __bool__(self) -> bool:
        return bool(self._batches)

    def foldable(self, columns: Columns) -> Columns | None:
        """Return the columns, the folded field as 64-bit numbers; None if they cannot be folded."""
        import pyarrow as pa

        batch, at = columns.batch, column_index(columns, self.fold.field)
        if at is None or columns.times is not None:
            return None
        if not have_exact_keys(batch.schema, self.key_columns):
            return None
        name, keeps_record = batch.schema.names[at], isinstance(self.fold, ExtremeRecord)
        if name in self.key_columns and not keeps_record:
            return None  # the sums would have other keys
        numbers = exact_numbers(self.fold, batch.column(at))
        if numbers is None:
            return None
        batch = batch.set_column(at, name, pa.array(numbers))
        return Columns(batch, columns.shape)

    def can_add(self, columns: Columns) -> bool:
        """Return whether columns (from ``foldable``) have the schema of those in the buffer."""
        return not self._batches or self._batches[0].is_like(columns)

    def add(self, columns: Columns) -> None:
        """Buffer columns, and fold when there are enough rows."""
        self._batches.append(columns)
        self.received += len(columns)
        self._rows += len(columns)
        if self._rows >= max(FOLD_ROWS, 4 * self.keys):
            self._fold()

    def flush(self) -> list[Columns]:
        """Fold, and return all that was buffered."""
        if self._rows:
            self._fold()
        batches = self._batches
        self.clear()
        return batches

    def clear(self) -> None:
        """Remove all that is buffered."""
        self._batches = []
        self.keys = self._rows = self.received = 0

    def _fold(self) -> None:
        import pyarrow as pa

        combined = concatenate_columns(self._batches)
        keys = ColumnKeys(combined, self.key_columns)
        at = column_index(combined, self.fold.field)
        assert at is not None, "only columns that fit are gathered"
        numbers = exact_numbers(self.fold, combined.batch.column(at))
        folded = None
        if numbers is not None:
            folded = final_results(self.fold, keys.codes, numbers, self.keys, len(keys.distinct))
        self._rows = 0
        if folded is None:  # a sum may exceed 64 bits: the rows are sent unfolded
            self._batches, self.keys = [combined], len(combined)
            return
        rows = combined.take(folded.rows)
        batch = rows.batch.set_column(at, combined.batch.schema.names[at], pa.array(folded.values))
        self._batches, self.keys = [Columns(batch, combined.shape)], len(folded.rows)

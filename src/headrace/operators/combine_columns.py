"""Columns combined by key before they are sent: a row in place of many."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.operators.aggregates.aggregate import ExtremeRecord, OfRecords
from headrace.operators.aggregates.kernels import column_of, final, numbers_of
from headrace.runtime.columns.batch import Columns, joined
from headrace.runtime.columns.exactness import have_exact_keys
from headrace.runtime.columns.keys import ColumnKeys

GATHERED = 1 << 18
"""So many rows are folded at once: the more they are, the less the keys' rows before them count."""


@dataclass
class CombinedColumns:
    """Gathers columns, and folds them into one row for each key.

    The rows lie in the order in which they came, what was folded first. So a key's numbers are
    folded in their order.
    """

    fold: OfRecords
    key_columns: tuple[str, ...]
    came: int = 0
    keys: int = 0
    """How many keys the folded rows have; 0 where nothing is folded yet."""
    _parts: list[Columns] = field(default_factory=list)
    _rows: int = 0

    def __bool__(self) -> bool:
        return bool(self._parts)

    def fitting(self, columns: Columns) -> Columns | None:
        """The same with the field as 64-bit numbers; None where they cannot be folded."""
        import pyarrow as pa

        batch, at = columns.batch, column_of(columns, self.fold.field)
        if at is None or columns.times is not None:
            return None
        if not have_exact_keys(batch.schema, self.key_columns):
            return None
        name, is_whole = batch.schema.names[at], isinstance(self.fold, ExtremeRecord)
        if name in self.key_columns and not is_whole:
            return None  # the sums would have other keys
        numbers = numbers_of(self.fold, batch.column(at))
        if numbers is None:
            return None
        batch = batch.set_column(at, name, pa.array(numbers))
        return Columns(batch, columns.shape)

    def takes(self, columns: Columns) -> bool:
        """Whether columns (that are ``fitting``) can lie with what is there."""
        return not self._parts or self._parts[0].is_like(columns)

    def add(self, columns: Columns) -> None:
        """Gather columns that it ``takes``; what is enough is folded."""
        self._parts.append(columns)
        self.came += len(columns)
        self._rows += len(columns)
        if self._rows >= max(GATHERED, 4 * self.keys):
            self._fold()

    def released(self) -> list[Columns]:
        """What was gathered, folded; nothing is held afterwards."""
        if self._rows:
            self._fold()
        parts = self._parts
        self.drop()
        return parts

    def drop(self) -> None:
        """Forget what was gathered."""
        self._parts = []
        self.keys = self._rows = self.came = 0

    def _fold(self) -> None:
        import pyarrow as pa

        whole = joined(self._parts)
        keys = ColumnKeys(whole, self.key_columns)
        at = column_of(whole, self.fold.field)
        assert at is not None, "only columns that fit are gathered"
        numbers = numbers_of(self.fold, whole.batch.column(at))
        folded = None
        if numbers is not None:
            folded = final(self.fold, keys.codes, numbers, self.keys, len(keys.distinct))
        self._rows = 0
        if folded is None:  # the sum may not fit: the rows are sent as they are
            self._parts, self.keys = [whole], len(whole)
            return
        rows = whole.take(folded.rows)
        batch = rows.batch.set_column(at, whole.batch.schema.names[at], pa.array(folded.values))
        self._parts, self.keys = [Columns(batch, whole.shape)], len(folded.rows)

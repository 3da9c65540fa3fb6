"""Columns combined by key before they are sent: a row in place of many."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.operators.field_fold import FieldFold, final
from headrace.runtime.columns.batch import Columns, joined
from headrace.runtime.columns.keys import ColumnKeys, equal_alike

GATHERED = 1 << 18
"""So many rows are folded at once: the more they are, the less the keys' rows before them count."""


@dataclass
class CombinedColumns:
    """Gathers columns, and folds them into one row for each key.

    The rows lie in the order in which they came, what was folded first. So a key's numbers are
    folded in their order.
    """

    fold: FieldFold
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

        at = self.fold.column_in(columns)
        if at is None or columns.times is not None or not _have_keys(columns, self.key_columns):
            return None
        if not self.fold.whole and columns.batch.schema.names[at] in self.key_columns:
            return None  # the sums would have other keys
        numbers = self.fold.numbers(columns.batch.column(at))
        if numbers is None:
            return None
        batch = columns.batch.set_column(at, columns.batch.schema.names[at], pa.array(numbers))
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
        parts, self._parts = self._parts, []
        self.keys = self._rows = self.came = 0
        return parts

    def _fold(self) -> None:
        import pyarrow as pa

        whole = joined(self._parts)
        keys = ColumnKeys(whole, self.key_columns)
        at = self.fold.column_in(whole)
        assert at is not None, "only columns that fit are gathered"
        numbers = self.fold.numbers(whole.batch.column(at))
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


def _have_keys(columns: Columns, names: tuple[str, ...]) -> bool:
    """Whether the keys are there, and equal in Arrow where they are in Python."""
    schema = columns.batch.schema
    return all(name in schema.names and equal_alike(schema.field(name).type) for name in names)

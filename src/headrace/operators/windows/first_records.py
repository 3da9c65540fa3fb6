"""Partial results that are records: the first of a key and pane, with one field of all of them.

They have the columns of the records, then ``PANE`` and ``COUNT``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.operators.slots import SUM
from headrace.operators.windows.partials import (
    COUNT_COLUMN,
    MOST,
    PANE,
    CombinedRows,
    Partials,
    Taken,
    input_of,
    key_of,
    name_of,
    reach_of,
)
from headrace.runtime.columns.batch import Columns
from headrace.runtime.columns.shapes import Shape, python_values

_ROW = "__headrace_row"


@dataclass(frozen=True)
class PartialRecords(CombinedRows):
    """Those that hold records.

    ``keys``: the key columns. ``records``: makes the records of theirs.
    """

    keys: tuple[str, ...]
    records: Shape

    def held(self, batch: Any) -> Iterator[tuple[Any, int, Any, int]]:
        keys: Any = [python_values(batch.column(name)) for name in self.keys]
        keys = keys[0] if len(keys) == 1 else zip(*keys, strict=True)
        panes, counts = (batch.column(name).to_pylist() for name in (PANE, COUNT_COLUMN))
        records = self.records(_records(batch))
        return zip(keys, panes, records, counts, strict=True)


def _records(batch: Any) -> Any:
    return batch.select([*range(batch.num_columns - 2)])


@dataclass(frozen=True)
class FirstRecords(Partials):
    """``fields``: the columns of the records. ``records``: how these are made of them."""

    fields: tuple[str, ...]
    records: Shape

    @property
    def shape(self) -> Any:
        """How partial results read as rows."""
        return PartialRecords(self.keys, self.records)

    @property
    def pane_at(self) -> int:
        """Which column has the panes."""
        return len(self.fields)

    def taken(self, columns: Columns) -> Taken | None:
        """The columns of the records; None where the records themselves must be looked at."""
        from pyarrow import types

        (slot,) = self.slots
        panes, field = self.panes(columns), name_of(columns, slot.field)
        if panes is None or field is None:
            return None
        batch = columns.batch
        arrays = [*batch.columns]
        if any(types.is_dictionary(array.type) for array in arrays):
            return None
        found = input_of(columns, slot)
        if found is None or found[0].null_count:
            return None
        if any(key_of(batch, name) is None for name in self.keys):
            return None
        arrays[batch.schema.get_field_index(field)] = found[0]
        return Taken([*arrays, panes], columns, found[1])

    def made(self, taken: Sequence[Taken]) -> Any:
        """The partial results of records."""
        import pyarrow as pa

        names = [*self.fields, PANE]
        batches = [pa.RecordBatch.from_arrays(each.arrays, names=names) for each in taken]
        return self._firsts(pa.Table.from_batches(batches), ([], "count_all"))

    def merged(self, batches: Sequence[Any]) -> Any | None:
        """One for each key and pane, in their order; None where a sum might not fit 64 bits."""
        import pyarrow as pa

        table = pa.Table.from_batches(batches)
        column = table.column(self._field)
        if self.slots[0].how == SUM and reach_of(column) * table.num_rows > MOST:
            return None
        return self._firsts(table, (COUNT_COLUMN, "sum"))

    @property
    def _field(self) -> str:
        field = self.slots[0].field
        return self.fields[field] if isinstance(field, int) else str(field)

    def _firsts(self, table: Any, count: Any) -> Any:
        import numpy as np
        import pyarrow as pa

        field, names = self._field, [PANE, *self.keys]
        table = table.append_column(_ROW, pa.array(np.arange(table.num_rows)))
        wanted = [(field, self.slots[0].how), (_ROW, "min"), count]
        found = table.group_by(names, use_threads=False).aggregate(wanted).combine_chunks()
        values, rows, counts = (
            found.column(place).chunk(0)
            for place, name in enumerate(found.schema.names)
            if name not in names
        )
        firsts = table.select([*self.fields, PANE]).take(rows).combine_chunks()
        arrays = [column.chunk(0) for column in firsts.columns]
        arrays[self.fields.index(field)] = values
        return pa.RecordBatch.from_arrays(
            [*arrays, counts], names=[*self.fields, PANE, COUNT_COLUMN]
        )

    def results(self, batch: Any, function: Any) -> tuple[Any, Shape]:
        """The records."""
        return _records(batch), self.records

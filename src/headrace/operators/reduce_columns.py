"""Rolling sums, least and greatest values over columns, with the same state as over records.

Per block and key one entry is read and written; between the two there is no Python per record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from headrace.common.types import Row, RowKind
from headrace.operators.aggregates.aggregate import OfRecords
from headrace.operators.aggregates.kernels import column_of, final, numbers_of, running
from headrace.runtime.columns.batch import Columns
from headrace.runtime.columns.exactness import MISFITS, equal_array, widened
from headrace.runtime.columns.keys import ColumnKeys
from headrace.runtime.columns.shapes import Dicts, NamedRows, Shape
from headrace.runtime.state.backend import KeyedTable


@dataclass(frozen=True)
class ColumnsReduction:
    """Folds a block of columns into the entries of its keys.

    An entry has under ``slot`` the pair (reduced record, timestamp of the last record).
    """

    fold: OfRecords
    slot: str

    def of(
        self, keys: ColumnKeys, columns: Columns, entries: KeyedTable, only_last: bool
    ) -> Columns | None:
        """The reduced record after each record, in order; if ``only_last``, that of each key.

        None where columns do not suffice: then nothing was changed, and records must be reduced.
        """
        import numpy as np

        at = column_of(columns, self.fold.field)
        if at is None:
            return None
        codes, distinct = keys.codes, keys.distinct
        found = [*map(entries.enter, distinct)]
        known = [code for code, entry in enumerate(found) if self.slot in entry]
        held = [found[code][self.slot][0] for code in known]
        pool = _with_held(self.fold, columns, held, at)
        if pool is None:
            return None
        fields, numbers = pool
        all_codes = np.concatenate([np.array(known, codes.dtype), codes]) if known else codes
        last = np.empty(len(distinct), np.int64)
        last[codes] = np.arange(len(codes))  # of several the last one counts
        if only_last:
            folded = final(self.fold, all_codes, numbers, len(held), len(distinct))
        else:
            folded = running(self.fold, all_codes, numbers, len(held))
        if folded is None:
            return None
        times = columns.times
        if only_last:
            reduced = kept = _taken(columns, fields, at, folded.values, folded.rows, None)
        else:
            values, rows = folded.values[len(held) :], folded.rows[len(held) :]
            reduced = _taken(columns, fields, at, values, rows, times)
            kept = reduced.take(last)
        stamps = [None] * len(found) if times is None else _at(times, last)
        changed, slot = entries.changed, self.slot
        for key, entry, record, stamp in zip(distinct, found, kept.rows(), stamps, strict=True):
            entry[slot] = (record, stamp)
            changed(key)
        return reduced


@dataclass(frozen=True)
class ReducedColumns:
    """Makes columns of results that were reduced as records.

    ``schema`` and ``shape`` are those of the columns that a ``ColumnsReduction`` gives.
    """

    schema: Any
    shape: Shape

    @classmethod
    def like(cls, columns: Columns, fold: OfRecords) -> Self | None:
        """For results of such columns; None where they have no place for the folded field."""
        import pyarrow as pa

        at, schema = column_of(columns, fold.field), columns.batch.schema
        if at is None:
            return None
        field = schema.field(at)
        wide = widened(field.type)
        if wide is not None:
            schema = schema.set(at, pa.field(field.name, wide))
        return cls(schema, columns.shape)

    def of(self, results: Sequence[tuple[Any, int | None]]) -> Columns | None:
        """Pairs (record, timestamp) as columns; None where a record would read otherwise."""
        import pyarrow as pa

        fields = _fields(self.schema.names, self.shape, [record for record, _ in results])
        if not fields:
            return None
        arrays = []
        for values, field in zip(fields, self.schema, strict=True):
            array = equal_array(values, field.type)
            if array is None:
                return None
            arrays.append(array)
        batch = pa.RecordBatch.from_arrays(arrays, names=self.schema.names)
        times = pa.array([stamp for _, stamp in results], pa.int64())
        known = times.null_count < len(times)
        return Columns(batch, self.shape, times if known else None)


def _at(times: Any, rows: Any) -> list[int | None]:
    import pyarrow as pa

    found: list[int | None] = times.take(pa.array(rows)).to_pylist()
    return found


def _taken(
    columns: Columns, fields: Sequence[Any], at: int, values: Any, rows: Any, times: Any
) -> Columns:
    """Records whose fields are those of ``rows``, but for the folded one."""
    import pyarrow as pa

    places = pa.array(rows)
    arrays = [
        pa.array(values) if number == at else field.take(places)
        for number, field in enumerate(fields)
    ]
    batch = pa.RecordBatch.from_arrays(arrays, names=columns.batch.schema.names)
    return Columns(batch, columns.shape, times)


def _with_held(
    fold: OfRecords, columns: Columns, held: Sequence[Any], at: int
) -> tuple[list[Any], Any] | None:
    """The fields of the held records, and after them those of the columns; and the numbers.

    None where they cannot lie in one column: one would read otherwise than it was.
    """
    import numpy as np
    import pyarrow as pa
    from pyarrow import types

    batch = columns.batch
    numbers = numbers_of(fold, batch.column(at))
    if numbers is None or not held:
        return None if numbers is None else ([*batch.columns], numbers)
    values = _fields(batch.schema.names, columns.shape, held)
    if values is None or {*map(type, values[at])} != {int if numbers.dtype == np.int64 else float}:
        return None
    try:
        before = numbers_of(fold, pa.array(values[at], pa.from_numpy_dtype(numbers.dtype)))
    except MISFITS:
        return None
    if before is None:
        return None
    fields = []
    for number, column in enumerate(batch.columns):
        if number == at:
            fields.append(column)
            continue
        array = equal_array(values[number], column.type)
        if array is None or types.is_dictionary(column.type):
            return None  # two dictionaries are not one column
        fields.append(pa.concat_arrays([array, column]))
    return fields, np.concatenate([before, numbers])


def _fields(names: list[str], shape: Shape, records: Sequence[Any]) -> list[Sequence[Any]] | None:
    """The fields of records, column by column; None where one is not of the columns' shape."""
    if isinstance(shape, Dicts):
        fits = all(type(record) is dict and [*record] == names for record in records)
        rows: Sequence[Any] = [record.values() for record in records] if fits else ()
    elif isinstance(shape, NamedRows):
        fits = all(_is_row(record, names) for record in records)
        rows = [record._values for record in records] if fits else ()
    else:
        fits = all(type(record) is tuple and len(record) == len(names) for record in records)
        rows = records
    return [*zip(*rows, strict=True)] if fits else None


def _is_row(record: Any, names: list[str]) -> bool:
    return (
        type(record) is Row
        and record._row_kind is RowKind.INSERT
        and [*(record._names() or ())] == names
    )

"""Rolling aggregates over columns, with the same state and results as over records.

For each block and key, one state entry is read and written. No Python code runs per record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from headrace.common.types import Row, RowKind
from headrace.operators.aggregates.aggregate import RecordFold
from headrace.operators.aggregates.kernels import (
    column_index,
    exact_numbers,
    final_results,
    running_results,
)
from headrace.runtime.columns.batch import Columns
from headrace.runtime.columns.exactness import MISFITS, to_exact_array, widen_type
from headrace.runtime.columns.keys import ColumnKeys
from headrace.runtime.columns.shapes import Dicts, NamedRows, Shape
from headrace.runtime.state.backend import KeyedTable


@dataclass(frozen=True)
class ColumnReducer:
    """Folds a block of columns into the state entries of its keys.

    The slot ``slot`` of an entry holds the pair (reduced record, timestamp of the last record).
    """

    fold: RecordFold
    slot: str

    def reduce(
        self, keys: ColumnKeys, columns: Columns, table: KeyedTable, only_last: bool
    ) -> Columns | None:
        """Return the reduced record after each record, or only that of each key if ``only_last``.

        None if the result might not be exact: then no state was changed, and records must be
        reduced.
        """
        import numpy as np

        index = column_index(columns, self.fold.field)
        if index is None:
            return None
        codes, distinct = keys.codes, keys.distinct
        entries = [*map(table.enter, distinct)]
        stored_codes = [code for code, entry in enumerate(entries) if self.slot in entry]
        stored = [entries[code][self.slot][0] for code in stored_codes]
        prepended = _prepend_stored(self.fold, columns, stored, index)
        if prepended is None:
            return None
        fields, numbers = prepended
        all_codes = (
            np.concatenate([np.array(stored_codes, codes.dtype), codes]) if stored_codes else codes
        )
        last = np.empty(len(distinct), np.int64)
        last[codes] = np.arange(len(codes))  # of several assignments the last one counts
        if only_last:
            folded = final_results(self.fold, all_codes, numbers, len(stored), len(distinct))
        else:
            folded = running_results(self.fold, all_codes, numbers, len(stored))
        if folded is None:
            return None
        times = columns.times
        if only_last:
            reduced = kept = _result_columns(
                columns, fields, index, folded.values, folded.rows, None
            )
        else:
            values, rows = folded.values[len(stored) :], folded.rows[len(stored) :]
            reduced = _result_columns(columns, fields, index, values, rows, times)
            kept = reduced.take(last)
        stamps = [None] * len(entries) if times is None else _timestamps_at(times, last)
        changed, slot = table.changed, self.slot
        for key, entry, record, stamp in zip(distinct, entries, kept.rows(), stamps, strict=True):
            entry[slot] = (record, stamp)
            changed(key)
        return reduced


@dataclass(frozen=True)
class ReducedColumnsBuilder:
    """Builds columns of results that were reduced as records.

    ``schema`` and ``shape`` are those of the columns that a ``ColumnReducer`` returns.
    """

    schema: Any
    shape: Shape

    @classmethod
    def like(cls, columns: Columns, fold: RecordFold) -> Self | None:
        """Return a builder for results of such columns; None if they lack the folded field."""
        import pyarrow as pa

        index, schema = column_index(columns, fold.field), columns.batch.schema
        if index is None:
            return None
        field = schema.field(index)
        wide = widen_type(field.type)
        if wide is not None:
            schema = schema.set(index, pa.field(field.name, wide))
        return cls(schema, columns.shape)

    def build(self, results: Sequence[tuple[Any, int | None]]) -> Columns | None:
        """Convert pairs ``(record, timestamp)`` to columns; None if that would change a record."""
        import pyarrow as pa

        fields = _fields_by_column(self.schema.names, self.shape, [record for record, _ in results])
        if not fields:
            return None
        arrays = []
        for values, field in zip(fields, self.schema, strict=True):
            array = to_exact_array(values, field.type)
            if array is None:
                return None
            arrays.append(array)
        batch = pa.RecordBatch.from_arrays(arrays, names=self.schema.names)
        times = pa.array([stamp for _, stamp in results], pa.int64())
        known = times.null_count < len(times)
        return Columns(batch, self.shape, times if known else None)


def _timestamps_at(times: Any, rows: Any) -> list[int | None]:
    import pyarrow as pa

    timestamps: list[int | None] = times.take(pa.array(rows)).to_pylist()
    return timestamps


def _result_columns(
    columns: Columns, fields: Sequence[Any], index: int, values: Any, rows: Any, times: Any
) -> Columns:
    """Return records as columns: the folded field from ``values``, other fields from ``rows``."""
    import pyarrow as pa

    rows_to_take = pa.array(rows)
    arrays = [
        pa.array(values) if number == index else field.take(rows_to_take)
        for number, field in enumerate(fields)
    ]
    batch = pa.RecordBatch.from_arrays(arrays, names=columns.batch.schema.names)
    return Columns(batch, columns.shape, times)


def _prepend_stored(
    fold: RecordFold, columns: Columns, stored: Sequence[Any], index: int
) -> tuple[list[Any], Any] | None:
    """Return the fields of stored records, then those of columns; and the numbers to fold.

    None if a column cannot hold both without changing a value.
    """
    import numpy as np
    import pyarrow as pa
    from pyarrow import types

    batch = columns.batch
    numbers = exact_numbers(fold, batch.column(index))
    if numbers is None or not stored:
        return None if numbers is None else ([*batch.columns], numbers)
    values = _fields_by_column(batch.schema.names, columns.shape, stored)
    if values is None or {*map(type, values[index])} != {
        int if numbers.dtype == np.int64 else float
    }:
        return None
    try:
        before = exact_numbers(fold, pa.array(values[index], pa.from_numpy_dtype(numbers.dtype)))
    except MISFITS:
        return None
    if before is None:
        return None
    fields = []
    for number, column in enumerate(batch.columns):
        if number == index:
            fields.append(column)
            continue
        array = to_exact_array(values[number], column.type)
        if array is None or types.is_dictionary(column.type):
            return None  # two dictionaries cannot be concatenated
        fields.append(pa.concat_arrays([array, column]))
    return fields, np.concatenate([before, numbers])


def _fields_by_column(
    names: list[str], shape: Shape, records: Sequence[Any]
) -> list[Sequence[Any]] | None:
    """Return the fields of records by column; None if a record does not match the columns."""
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

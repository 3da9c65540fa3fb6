"""Aggregates over numpy and Arrow arrays; they return None where the result might not be exact.

Results are bit for bit those of a ``Fold`` over the same records: the numbers of a key are added in
their order. Which columns qualify is decided in ``runtime.columns.exactness``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.operators.aggregates.aggregate import ExtremeRecord, RecordFold
from headrace.runtime.columns.exactness import AggregateKind, sums_fit, to_foldable_numbers
from headrace.runtime.columns.shapes import Dicts, NamedRows, Tuples

if TYPE_CHECKING:
    import numpy as np

    from headrace.runtime.columns.batch import Columns

    Array = np.ndarray[Any, Any]

ROWS = "__headrace_rows"
"""As a column name for ``grouped_aggregates``: counts the rows."""

_ROW = "__headrace_row"


def column_index(columns: Columns, field: str | int | None) -> int | None:
    """Return the index of a field's column; None if the columns do not show where it is."""
    names, shape = columns.batch.schema.names, columns.shape
    if columns.kinds is not None or len(set(names)) < len(names):
        return None
    if isinstance(field, str):
        named = isinstance(shape, Dicts | NamedRows)
        return names.index(field) if named and field in names else None
    if field is None or not isinstance(shape, NamedRows | Tuples):
        return None
    return field if 0 <= field < len(names) else None


def exact_numbers(fold: RecordFold, column: Any) -> Array | None:
    """Return a column's numbers as an array; None if results would not be exact."""
    if isinstance(fold, ExtremeRecord) and fold.last:
        return None  # kernels keep the first of equal records
    return to_foldable_numbers(column, fold.aggregate.kind)


def grouped_aggregates(
    table: Any,
    by: Sequence[str],
    aggregates: Sequence[tuple[str, AggregateKind]],
    first_columns: Sequence[str] = (),
) -> dict[str, Any]:
    """Group rows by the columns ``by``, and return the results as arrays by column name.

    Groups are ordered by their first rows. ``aggregates``: columns (from ``to_groupable_column``)
    and the aggregate of each. ``first_columns``: columns whose value in each group's first row is
    returned too.
    """
    import numpy as np
    import pyarrow as pa

    requested: list[Any] = [([], "count_all") if each[0] == ROWS else each for each in aggregates]
    if first_columns:
        table = table.append_column(_ROW, pa.array(np.arange(table.num_rows)))
        requested.append((_ROW, "min"))
    grouped_table = table.group_by([*by], use_threads=False).aggregate(requested).combine_chunks()
    # Depending on the version of Arrow, key columns come last or first.
    names, others = grouped_table.schema.names, [*dict(aggregates), _ROW]
    positions = {name: names.index(name) for name in by}
    rest = [index for index in range(len(names)) if index not in positions.values()]
    positions.update(zip(others, rest, strict=False))
    arrays = {name: _to_array(grouped_table.column(index)) for name, index in positions.items()}
    if first_columns:
        first_rows = table.select([*first_columns]).take(arrays.pop(_ROW)).combine_chunks()
        arrays.update((name, _to_array(first_rows.column(name))) for name in first_columns)
    return arrays


def _to_array(column: Any) -> Any:
    import pyarrow as pa

    return column.chunk(0) if column.num_chunks else pa.array([], column.type)


class FoldedRows(NamedTuple):
    """``values``: the aggregated field. ``rows``: indices of the rows with the other fields."""

    values: Array
    rows: Array


def running_results(
    fold: RecordFold, codes: Array, values: Array, result_count: int
) -> FoldedRows | None:
    """Return the result after each row, in the order of the rows; None if a sum may exceed 64 bits.

    ``codes``: the key of each row, as a small integer. ``values``: as long as ``codes``, and so are
    the results. ``result_count``: the first rows, at most one per key, are earlier results.
    """
    import numpy as np

    if not len(codes):
        return FoldedRows(values, np.empty(0, np.int64))
    order, begins, starts, counts = runs_of_keys(codes)
    sorted_values = values[order]
    if fold.aggregate.kind == "sum" and values.dtype == np.int64:
        if not sums_fit(values, result_count, int(counts.max())):
            return None
        # The total may wrap around; differences of it are correct all the same.
        total = np.cumsum(sorted_values)
        folded = total - np.repeat(total[starts] - sorted_values[starts], counts)
    else:
        folded = sorted_values.copy()
        accumulate_by_key(fold.aggregate.kind, folded, starts, counts)
    if isinstance(fold, ExtremeRecord):
        changes = begins.copy()
        changes[1:] |= folded[1:] != folded[:-1]
        rows = order[np.maximum.accumulate(np.where(changes, np.arange(len(order)), 0))]
    else:
        rows = np.repeat(order[starts], counts)
    result = FoldedRows(np.empty_like(folded), np.empty_like(rows))
    result.values[order], result.rows[order] = folded, rows
    return result


class KeyRuns(NamedTuple):
    """Rows sorted by key, those of a key in their order.

    ``order``: the rows. ``begins``: whether a sorted row is the first of its key. ``starts`` and
    ``counts``: of each key, where its rows start, and how many they are.
    """

    order: Array
    begins: Array
    starts: Array
    counts: Array


def runs_of_keys(codes: Array) -> KeyRuns:
    """Sort rows by their keys' codes, which are not empty."""
    import numpy as np

    # numpy's stable sort of one- and two-byte integers is a radix sort.
    small = codes.astype(np.uint16) if int(codes.max()) < 1 << 16 else codes
    order = np.argsort(small, kind="stable")
    by_key = codes[order]
    begins = np.empty(len(codes), bool)
    begins[0] = True
    np.not_equal(by_key[1:], by_key[:-1], out=begins[1:])
    starts = np.flatnonzero(begins)
    return KeyRuns(order, begins, starts, np.diff(starts, append=len(codes)))


def accumulate_by_key(kind: AggregateKind, folded: Array, starts: Array, counts: Array) -> None:
    """Accumulate the values of each key in place, in their order, with numpy's ``accumulate``."""
    import numpy as np

    ufuncs = {"sum": np.add, "min": np.minimum, "max": np.maximum}
    accumulate = ufuncs[kind].accumulate
    several = counts > 1
    ends = (starts + counts)[several].tolist()
    with np.errstate(all="ignore"):  # no warnings, as for Python's floats
        for start, end in zip(starts[several].tolist(), ends, strict=True):
            of_key = folded[start:end]
            accumulate(of_key, out=of_key)


def final_results(
    fold: RecordFold, codes: Array, values: Array, result_count: int, keys: int
) -> FoldedRows | None:
    """Return the result of each key after all rows, by code; None if a sum may exceed 64 bits.

    ``codes`` contains each of 0 to ``keys`` - 1. ``result_count`` as in ``running_results``.
    """
    import numpy as np

    rows_in_order = np.arange(len(codes))
    first = np.empty(keys, np.int64)
    first[codes[::-1]] = rows_in_order[::-1]  # of several assignments the last one counts
    if fold.aggregate.kind == "sum" and values.dtype == np.int64:
        counts = np.bincount(codes, minlength=keys)
        if not sums_fit(values, result_count, int(counts.max(initial=0))):
            return None
    folded = values[first]
    others = np.ones(len(codes), bool)
    others[first] = False
    ufuncs = {"sum": np.add, "min": np.minimum, "max": np.maximum}
    with np.errstate(all="ignore"):  # no warnings, as for Python's floats
        ufuncs[fold.aggregate.kind].at(folded, codes[others], values[others])
    if not isinstance(fold, ExtremeRecord):
        return FoldedRows(folded, first)
    holders = np.flatnonzero(values == folded[codes])
    first[codes[holders][::-1]] = holders[::-1]
    return FoldedRows(folded, first)

"""Partial aggregates of windows as columns.

The columns of a batch: what is kept of the first record (the key columns; or all fields but the
aggregated one), the pane's start (``PANE``), one column per aggregate, and the number of records
(``COUNT``). Converted to rows, it equals what the combiner of rows sends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headrace.operators.aggregates.aggregate import FieldAggregate, Fold, RecordFold
from headrace.operators.aggregates.kernels import ROWS, column_index, grouped_aggregates
from headrace.operators.windows.aligned.grid import Grid, panes_of
from headrace.operators.windows.partial_aggregates import PartialAggregates
from headrace.runtime.columns.batch import Columns
from headrace.runtime.columns.exactness import (
    MAX_INT64,
    AggregateKind,
    have_exact_keys,
    max_abs,
    to_groupable_column,
)
from headrace.runtime.columns.shapes import NAMED_ROWS, Dicts, NamedRows, Shape, python_values
from headrace.runtime.exchange.steps import ValueWithKey

if TYPE_CHECKING:
    import numpy as np

PANE = "__headrace_pane"
COUNT = "__headrace_count"
_AGGREGATE = "__headrace_aggregate_"


@dataclass(frozen=True)
class PartialAggregatesShape:
    """Converts a record batch of partial results to ``PartialAggregates``, each of one key.

    ``keys``: the key columns. The rest is set if the accumulators are records: ``fields`` are their
    columns, ``aggregated_field`` is the column with the result, and ``record_shape`` makes records
    of columns.
    """

    keys: tuple[str, ...]
    fields: tuple[str, ...] = ()
    aggregated_field: str | None = None
    record_shape: Shape | None = None

    @property
    def first_record_columns(self) -> tuple[str, ...]:
        """The columns whose values are those of the first record."""
        others = [name for name in self.fields if name not in (*self.keys, self.aggregated_field)]
        return (*self.keys, *others)

    def __call__(self, batch: Any) -> list[Any]:
        """Return the records of a batch, as a receiver reads them."""
        return [
            PartialAggregates(pane, count, (accumulator,))
            for _, pane, accumulator, count in self.unpack(batch)
        ]

    def to_send(self, batch: Any) -> list[Any]:
        """Return the partial aggregates with their keys, for an exchange."""
        rows = self.unpack(batch)
        return [
            ValueWithKey(key, PartialAggregates(pane, count, (accumulator,)))
            for key, pane, accumulator, count in rows
        ]

    def unpack(self, batch: Any) -> Iterator[tuple[Any, int, Any, int]]:
        """Yield key, pane, accumulator and number of records of each partial aggregate."""
        keys: Any = [python_values(batch.column(name)) for name in self.keys]
        keys = keys[0] if len(keys) == 1 else zip(*keys, strict=True)
        panes, counts = (batch.column(name).to_pylist() for name in (PANE, COUNT))
        if self.record_shape is None:
            accumulators = batch.columns[len(self.keys) + 1 : -1]
            accumulator: Any = zip(*map(python_values, accumulators), strict=True)
        else:
            accumulator = self.record_shape(self.record_batch(batch))
        return zip(keys, panes, accumulator, counts, strict=True)

    def record_batch(self, batch: Any) -> Any:
        """Return the columns of the records that are the accumulators."""
        import pyarrow as pa

        names = [
            f"{_AGGREGATE}0" if name == self.aggregated_field else name for name in self.fields
        ]
        return pa.RecordBatch.from_arrays([*map(batch.column, names)], names=[*self.fields])


@dataclass(frozen=True)
class PartialAggregator:
    """Computes and merges partial aggregates of one window operator.

    ``shape``: their conversion to rows.
    """

    fold: Fold
    shape: PartialAggregatesShape
    pane_ms: int
    offset_ms: int

    def project(self, columns: Columns) -> ProjectedBatch | None:
        """Return the columns that the aggregates need; None if records must be processed singly.

        That is the case for records without a timestamp, and for columns that could give inexact
        results.
        """
        from pyarrow import types

        batch, panes = columns.batch, self.panes(columns)
        if panes is None or not have_exact_keys(batch.schema, self.shape.keys):
            return None
        arrays = [batch.column(name) for name in self.shape.first_record_columns]
        arrays = [
            column.dictionary_decode() if types.is_dictionary(column.type) else column
            for column in arrays
        ]
        arrays.append(panes)
        max_abs_sum = 0
        for each in self._aggregates.values():
            at = column_index(columns, each.field)
            numbers = None if at is None else to_groupable_column(batch.column(at), each.kind)
            if numbers is None or (self.shape.record_shape and numbers.column.null_count):
                return None
            arrays.append(numbers.column)
            max_abs_sum = max(max_abs_sum, numbers.max_abs_sum)
        return ProjectedBatch(arrays, columns, max_abs_sum)

    def panes(self, columns: Columns) -> Any | None:
        """Return the start of each record's pane; None if records must be processed one by one."""
        import pyarrow as pa

        if columns.kinds is not None or type(columns.shape) not in (Dicts, NamedRows):
            return None
        pane_starts = panes_of(columns.times, self.pane_ms, self.offset_ms)
        return None if pane_starts is None else pa.array(pane_starts)

    def aggregate(self, projected: Sequence[ProjectedBatch]) -> Any:
        """Aggregate to one partial aggregate for each key and pane, as a record batch."""
        import pyarrow as pa

        names = [*self.shape.first_record_columns, PANE, *self._aggregates]
        batches = [pa.RecordBatch.from_arrays(each.arrays, names=names) for each in projected]
        aggregates: list[tuple[str, AggregateKind]] = [(ROWS, "count")]
        aggregates += [(name, each.kind) for name, each in self._aggregates.items()]
        return self._aggregate_table(pa.Table.from_batches(batches), aggregates, ROWS)

    def merge(self, batches: Sequence[Any]) -> Any | None:
        """Merge partial aggregates: one for each key and pane. None if a sum may exceed 64 bits."""
        import pyarrow as pa

        table = pa.Table.from_batches(batches)
        aggregates: list[tuple[str, AggregateKind]] = [(COUNT, "sum")]
        for name, each in self._aggregates.items():
            if each.kind == "sum" and max_abs(table.column(name)) * table.num_rows > MAX_INT64:
                return None
            aggregates.append((name, "sum" if each.kind == "count" else each.kind))
        return self._aggregate_table(table, aggregates, COUNT)

    def _aggregate_table(
        self, table: Any, aggregates: list[tuple[str, AggregateKind]], count: str
    ) -> Any:
        import pyarrow as pa

        keys, first_record_columns = self.shape.keys, self.shape.first_record_columns
        grouped = grouped_aggregates(
            table, [PANE, *keys], aggregates, first_record_columns[len(keys) :]
        )
        grouped[COUNT] = grouped[count]
        names = [*first_record_columns, PANE, *self._aggregate_names, COUNT]
        # A count without a field counts records.
        arrays = [grouped.get(name, grouped[COUNT]) for name in names]
        return pa.RecordBatch.from_arrays(arrays, names=names)

    @property
    def _aggregate_names(self) -> list[str]:
        return [f"{_AGGREGATE}{number}" for number in range(len(self.fold.aggregates))]

    @cached_property
    def _aggregates(self) -> dict[str, FieldAggregate]:
        """The aggregates that have a field, by column name."""
        by_name = zip(self._aggregate_names, self.fold.aggregates, strict=True)
        return {name: each for name, each in by_name if each.field is not None}

    def to_columns(self, batch: Any) -> Columns:
        """Return partial aggregates as they are sent; the timestamp is the last of the pane."""
        import pyarrow.compute as pc

        times = pc.add(batch.column(PANE), self.pane_ms - 1)
        return Columns(batch, self.shape, times)

    def accumulators(self, batch: Any) -> list[Any]:
        """Return key, pane and accumulator of each partial aggregate."""
        return [(key, pane, accumulator) for key, pane, accumulator, _ in self.shape.unpack(batch)]

    def results(self, batch: Any, function: Any) -> tuple[Any, Shape]:
        """Return the results of partial aggregates as a record batch, and how to make records."""
        if self.shape.record_shape is not None:
            return self.shape.record_batch(batch), self.shape.record_shape
        columns = [batch.column(name) for name in self._aggregate_names]
        return function.result_columns(columns), NAMED_ROWS


def partial_aggregator(
    fold: Fold, keys: tuple[str, ...], grid: Grid, columns: Columns
) -> PartialAggregator:
    """Return the aggregator for some columns, which are records or partial aggregates."""
    shape, names = columns.shape, columns.batch.schema.names
    if not isinstance(shape, PartialAggregatesShape):
        if isinstance(fold, RecordFold):
            at = column_index(columns, fold.field)
            shape = PartialAggregatesShape(
                keys, (*names,), None if at is None else names[at], shape
            )
        else:
            shape = PartialAggregatesShape(keys)
    return PartialAggregator(fold, shape, grid.pane_ms, grid.offset_ms)


class ProjectedBatch:
    """The columns that aggregates need of some records, and the records themselves.

    ``max_abs_sum``: an upper bound of the absolute value of any sum, to avoid 64-bit overflow.
    """

    __slots__ = ("arrays", "columns", "kinds", "max_abs_sum")

    def __init__(self, arrays: list[Any], columns: Columns, max_abs_sum: int) -> None:
        self.arrays, self.columns, self.max_abs_sum = arrays, columns, max_abs_sum
        self.kinds = [array.type for array in arrays]

    def panes(self, partials: PartialAggregator) -> np.ndarray[Any, Any]:
        """Return the start of each record's pane."""
        pane_starts: np.ndarray[Any, Any] = self.arrays[
            len(partials.shape.first_record_columns)
        ].to_numpy()
        return pane_starts

    def __len__(self) -> int:
        return len(self.columns)

    def is_like(self, other: ProjectedBatch) -> bool:
        """Return whether both batches have the same column types."""
        return self.kinds == other.kinds

    def filter(self, mask: np.ndarray[Any, Any]) -> ProjectedBatch:
        """Return the records for which ``mask`` (an array of bool) is True."""
        import numpy as np
        import pyarrow as pa

        rows = np.flatnonzero(mask)
        indices = pa.array(rows)
        arrays = [array.take(indices) for array in self.arrays]
        return ProjectedBatch(arrays, self.columns.take(rows), self.max_abs_sum)

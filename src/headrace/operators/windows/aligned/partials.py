"""Partial results of windows as columns: made of records, put together, and turned into results.

A batch of partial results has what is kept of the records (the key columns; or the fields of the
first record, but for the one that is computed), then ``PANE``, a column for each aggregate, and
``COUNT``, the number of records. Read as rows it is what the combiner of rows sends.
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
    MOST,
    How,
    have_exact_keys,
    numbers_by_group,
    reach_of,
)
from headrace.runtime.columns.shapes import NAMED_ROWS, Dicts, NamedRows, Shape, python_values
from headrace.runtime.exchange.steps import WithKey

if TYPE_CHECKING:
    import numpy as np

PANE = "__headrace_pane"
COUNT = "__headrace_count"
_AGGREGATE = "__headrace_aggregate_"


@dataclass(frozen=True)
class PartialRows:
    """Makes a ``PartialAggregates`` of one key for each partial result.

    ``keys``: the key columns. ``fields``, ``computed`` and ``records``, where records are held: the
    columns of these, the one that is computed, and what makes records of columns.
    """

    keys: tuple[str, ...]
    fields: tuple[str, ...] = ()
    computed: str | None = None
    records: Shape | None = None

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns that are those of the first record."""
        others = [name for name in self.fields if name not in (*self.keys, self.computed)]
        return (*self.keys, *others)

    def __call__(self, batch: Any) -> list[Any]:
        """The records of a batch, as a receiver reads them."""
        return [
            PartialAggregates(pane, count, (held,)) for _, pane, held, count in self.held(batch)
        ]

    def to_send(self, batch: Any) -> list[Any]:
        """The same with their keys, as they go to an exchange."""
        rows = self.held(batch)
        return [
            WithKey(key, PartialAggregates(pane, count, (held,))) for key, pane, held, count in rows
        ]

    def held(self, batch: Any) -> Iterator[tuple[Any, int, Any, int]]:
        """Key, pane, what is held, and the number of records, for each partial result."""
        keys: Any = [python_values(batch.column(name)) for name in self.keys]
        keys = keys[0] if len(keys) == 1 else zip(*keys, strict=True)
        panes, counts = (batch.column(name).to_pylist() for name in (PANE, COUNT))
        if self.records is None:
            accumulators = batch.columns[len(self.keys) + 1 : -1]
            held: Any = zip(*map(python_values, accumulators), strict=True)
        else:
            held = self.records(self.record_batch(batch))
        return zip(keys, panes, held, counts, strict=True)

    def record_batch(self, batch: Any) -> Any:
        """The columns of the records that are held."""
        import pyarrow as pa

        names = [f"{_AGGREGATE}0" if name == self.computed else name for name in self.fields]
        return pa.RecordBatch.from_arrays([*map(batch.column, names)], names=[*self.fields])


@dataclass(frozen=True)
class Partials:
    """Makes and merges partial results of one window operator. ``shape``: how they read as rows."""

    fold: Fold
    shape: PartialRows
    pane_ms: int
    offset_ms: int

    def taken(self, columns: Columns) -> ProjectedBatch | None:
        """What is needed of records; None where the records themselves must be looked at.

        Such are records without a timestamp, and columns that ``exactness`` does not vouch for.
        """
        from pyarrow import types

        batch, panes = columns.batch, self.panes(columns)
        if panes is None or not have_exact_keys(batch.schema, self.shape.keys):
            return None
        arrays = [batch.column(name) for name in self.shape.kept]
        arrays = [
            column.dictionary_decode() if types.is_dictionary(column.type) else column
            for column in arrays
        ]
        arrays.append(panes)
        reach = 0
        for each in self._aggregates.values():
            at = column_index(columns, each.field)
            found = None if at is None else numbers_by_group(batch.column(at), each.how)
            if found is None or (self.shape.records and found.column.null_count):
                return None
            arrays.append(found.column)
            reach = max(reach, found.reach)
        return ProjectedBatch(arrays, columns, reach)

    def panes(self, columns: Columns) -> Any | None:
        """Where the pane of each record starts; None where the records must be looked at."""
        import pyarrow as pa

        if columns.kinds is not None or type(columns.shape) not in (Dicts, NamedRows):
            return None
        found = panes_of(columns.times, self.pane_ms, self.offset_ms)
        return None if found is None else pa.array(found)

    def made(self, taken: Sequence[ProjectedBatch]) -> Any:
        """The partial results of records: one for each key and pane, as a record batch."""
        import pyarrow as pa

        names = [*self.shape.kept, PANE, *self._aggregates]
        batches = [pa.RecordBatch.from_arrays(each.arrays, names=names) for each in taken]
        wanted: list[tuple[str, How]] = [(ROWS, "count")]
        wanted += [(name, each.how) for name, each in self._aggregates.items()]
        return self._grouped(pa.Table.from_batches(batches), wanted, ROWS)

    def merged(self, batches: Sequence[Any]) -> Any | None:
        """One partial result for each key and pane; None where a sum might not fit 64 bits."""
        import pyarrow as pa

        table = pa.Table.from_batches(batches)
        wanted: list[tuple[str, How]] = [(COUNT, "sum")]
        for name, each in self._aggregates.items():
            if each.how == "sum" and reach_of(table.column(name)) * table.num_rows > MOST:
                return None
            wanted.append((name, "sum" if each.how == "count" else each.how))
        return self._grouped(table, wanted, COUNT)

    def _grouped(self, table: Any, wanted: list[tuple[str, How]], count: str) -> Any:
        import pyarrow as pa

        keys, kept = self.shape.keys, self.shape.kept
        found = grouped_aggregates(table, [PANE, *keys], wanted, kept[len(keys) :])
        found[COUNT] = found[count]
        names = [*kept, PANE, *self._names, COUNT]
        # Where no field is counted, the records are.
        arrays = [found.get(name, found[COUNT]) for name in names]
        return pa.RecordBatch.from_arrays(arrays, names=names)

    @property
    def _names(self) -> list[str]:
        return [f"{_AGGREGATE}{number}" for number in range(len(self.fold.aggregates))]

    @cached_property
    def _aggregates(self) -> dict[str, FieldAggregate]:
        """Those of fields, by their columns."""
        found = zip(self._names, self.fold.aggregates, strict=True)
        return {name: each for name, each in found if each.field is not None}

    def columns(self, batch: Any) -> Columns:
        """Partial results as they are sent: each has the timestamp of the last moment."""
        import pyarrow.compute as pc

        times = pc.add(batch.column(PANE), self.pane_ms - 1)
        return Columns(batch, self.shape, times)

    def held(self, batch: Any) -> list[Any]:
        """Triples of key, pane and what is held, for each partial result."""
        return [(key, pane, held) for key, pane, held, _ in self.shape.held(batch)]

    def results(self, batch: Any, function: Any) -> tuple[Any, Shape]:
        """What comes of partial results, as a record batch and how it reads as rows."""
        if self.shape.records is not None:
            return self.shape.record_batch(batch), self.shape.records
        found = [batch.column(name) for name in self._names]
        return function.result_columns(found), NAMED_ROWS


def partials_of(fold: Fold, keys: tuple[str, ...], grid: Grid, columns: Columns) -> Partials:
    """What makes the partial results of some columns, or merges them."""
    shape, names = columns.shape, columns.batch.schema.names
    if not isinstance(shape, PartialRows):
        if isinstance(fold, RecordFold):
            at = column_index(columns, fold.field)
            shape = PartialRows(keys, (*names,), None if at is None else names[at], shape)
        else:
            shape = PartialRows(keys)
    return Partials(fold, shape, grid.pane_ms, grid.offset_ms)


class ProjectedBatch:
    """What is needed of records, as arrays, and the records themselves.

    ``reach``: an upper bound of any sum's absolute value, so that none overflows 64 bits.
    """

    __slots__ = ("arrays", "columns", "kinds", "reach")

    def __init__(self, arrays: list[Any], columns: Columns, reach: int) -> None:
        self.arrays, self.columns, self.reach = arrays, columns, reach
        self.kinds = [array.type for array in arrays]

    def panes(self, partials: Partials) -> np.ndarray[Any, Any]:
        """Where the pane of each record starts."""
        found: np.ndarray[Any, Any] = self.arrays[len(partials.shape.kept)].to_numpy()
        return found

    def __len__(self) -> int:
        return len(self.columns)

    def is_like(self, other: ProjectedBatch) -> bool:
        """Whether records of both can be put together."""
        return self.kinds == other.kinds

    def where(self, wanted: np.ndarray[Any, Any]) -> ProjectedBatch:
        """The records at some places (an array of bool)."""
        import numpy as np
        import pyarrow as pa

        places = np.flatnonzero(wanted)
        indices = pa.array(places)
        arrays = [array.take(indices) for array in self.arrays]
        return ProjectedBatch(arrays, self.columns.take(places), self.reach)

"""The partial results of slices as columns, of aggregates over arrays.

They stay columns until their windows fire. At the end of a micro-batch those that later windows
need are written to the tables of their slices, where they meet what earlier micro-batches left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from headrace.operators.columns.partials import grouped, partial_schema, partials_of_rows, parts_of
from headrace.operators.columns.vectors import VectorAggregates
from headrace.operators.columns.window_contents import (
    WindowContents,
    WindowResults,
    WindowShape,
    key_arrays,
)

if TYPE_CHECKING:
    import numpy as np

    from headrace.runtime.columns.batch import Columns

    Array = np.ndarray[Any, Any]

SLICE = "$slice"
"""The column of partial results with the start of their slice, or the end of their window."""

MAX_ROWS = 1 << 19
"""With more partial results than these, all are written to the tables."""

MAX_FIRED_ROWS = 1 << 20
"""About how many partial results are merged into windows at once."""


def slice_partials(
    vectors: VectorAggregates, batch: Any, keys: Sequence[str], slices: Array, minus: Array | None
) -> Any:
    """Return the partial results of rows, one for each: keys, slice, and parts."""
    return with_slices(partials_of_rows(vectors, batch, keys, minus), len(keys), slices)


def with_slices(partials: Any, keys: int, slices: Array) -> Any:
    """Return partial results with their slices, after the ``keys`` first columns."""
    import pyarrow as pa

    arrays, names = [*partials.columns], [*partials.schema.names]
    arrays.insert(keys, pa.array(slices, pa.int64()))
    names.insert(keys, SLICE)
    return pa.RecordBatch.from_arrays(arrays, names=names)


def sliced_schema(vectors: VectorAggregates, schema: Any, keys: Sequence[str]) -> Any:
    """Return the fields of partial results with slices."""
    import pyarrow as pa

    found = partial_schema(vectors, schema, keys)
    return found.insert(len(keys), pa.field(SLICE, pa.int64()))


class VectorContents(WindowContents):
    """Partial results as Arrow batches. ``partials``: senders have pre-aggregated them."""

    def __init__(self, shape: WindowShape, vectors: VectorAggregates, partials: bool) -> None:
        super().__init__(shape)
        self._vectors, self._partials = vectors, partials
        (self._none,) = vectors.packed(vectors.zeros(1))
        self._group = [*shape.keys, SLICE]
        self._buffered: list[Any] = []
        self._rows = 0
        self._is_merged = False

    @property
    def holds(self) -> bool:
        """Whether something is not in the tables."""
        return bool(self._buffered)

    def forget(self) -> None:
        """Clear what a failed task run has left."""
        self._buffered, self._rows = [], 0

    def add(
        self, columns: Columns, slices: Array, minus: Array | None, keys: tuple[Any, Any] | None
    ) -> None:
        """Keep the partial results of rows."""
        batch = columns.batch
        if not self._partials:
            batch = slice_partials(self._vectors, batch, self.shape.keys, slices, minus)
        self._buffered.append(batch)
        self._is_merged = False
        self._rows += batch.num_rows
        if self._rows > MAX_ROWS:
            merged = self._merged()
            if merged.num_rows > MAX_ROWS // 2:
                self.write()

    def _merged(self) -> Any:
        """Put together what is buffered, into one batch that is sorted by slice."""
        import numpy as np
        import pyarrow as pa

        if self._is_merged:
            return self._buffered[0]
        merged = grouped(self._vectors, pa.Table.from_batches(self._buffered), self._group)
        starts = merged.column(SLICE).to_numpy()
        if len(starts) and (np.diff(starts) < 0).any():
            merged = merged.take(pa.array(np.argsort(starts, kind="stable")))
        self._buffered, self._rows, self._is_merged = [merged], merged.num_rows, True
        return merged

    def write(self) -> None:
        """Write what is buffered to the tables of its slices."""
        if not self._buffered:
            return
        merged = self._merged()
        starts = merged.column(SLICE).to_numpy()
        stored = {*self.tables.starts()}
        for start, begin, end in runs(starts):
            self._write_slice(start, merged.slice(begin, end - begin), start not in stored)
        self.forget()

    def _write_slice(self, start: int, batch: Any, is_new: bool) -> None:
        import numpy as np

        from headrace.runtime.columns.batch import Columns
        from headrace.runtime.columns.keys import ColumnKeys
        from headrace.runtime.columns.shapes import NAMED_ROWS

        keys = ColumnKeys(Columns(batch, NAMED_ROWS), self.shape.keys)
        distinct, vectors = keys.distinct, self._vectors
        values = self.tables.values(start)
        before = vectors.zeros(len(distinct))
        if not is_new:
            stored = values.get_all(distinct)
            before = vectors.unpacked([self._none if each is None else each for each in stored])
        totals = vectors.totals(keys.codes, parts_of(batch, vectors), before)
        states: list[bytes | None] = [*vectors.packed(totals)]
        for place in np.flatnonzero(totals[0] <= 0).tolist():
            states[place] = None
        values.put_all(distinct, states)

    def windows(self, ends: Sequence[int]) -> Iterator[WindowResults]:
        """Yield the results of windows."""
        buffered: dict[int, Any] = {}
        if self._buffered:
            merged = self._merged()
            buffered = {
                start: merged.slice(begin, end - begin)
                for start, begin, end in runs(merged.column(SLICE).to_numpy())
            }
        stored = {*self.tables.starts()}
        loaded: dict[int, Any] = {}
        pieces: list[tuple[int, Any]] = []
        several, rows = False, 0
        for end, starts in self.slices_by_window(ends, stored.union(buffered)):
            loaded = {start: loaded.get(start) for start in starts if start in stored}
            of_window = []
            for start in starts:
                if start in loaded:
                    if loaded[start] is None:
                        loaded[start] = self._load_slice(start)
                    of_window.append(loaded[start])
                if start in buffered:
                    of_window.append(buffered[start])
            several |= len(of_window) > 1
            pieces += [(end, piece) for piece in of_window]
            rows += sum(piece.num_rows for piece in of_window)
            if rows > MAX_FIRED_ROWS:
                yield self._fired(pieces, several)
                pieces, several, rows = [], False, 0
        if pieces:
            yield self._fired(pieces, several)

    def drop(self, starts: Collection[int]) -> None:
        """Remove slices that no later window has."""
        import numpy as np
        import pyarrow as pa

        super().drop(starts)
        if self._buffered:
            merged = self._merged()
            ended = np.isin(merged.column(SLICE).to_numpy(), [*starts])
            kept = merged.take(pa.array(np.flatnonzero(~ended))) if ended.any() else merged
            self._buffered, self._rows = ([kept] if kept.num_rows else []), kept.num_rows

    def _load_slice(self, start: int) -> Any:
        """Return the partial results of a slice that are in its table."""
        import pyarrow as pa

        found = [*self.tables.items(start)]
        names = self.shape.keys
        arrays = key_arrays([key for key, _ in found], len(names), self.shape.result)
        arrays.append(pa.array([start] * len(found), pa.int64()))
        arrays += map(pa.array, self._vectors.unpacked([state for _, state in found]))
        parts = sliced_schema(self._vectors, self.shape.result, names).names
        return pa.RecordBatch.from_arrays(arrays, names=parts)

    def _fired(self, pieces: Sequence[tuple[int, Any]], several: bool) -> WindowResults:
        """Return the results of windows: of each its end with the partial results of a slice."""
        import numpy as np
        import pyarrow as pa

        at = len(self.shape.keys)
        counts = [piece.num_rows for _, piece in pieces]
        ends = np.repeat(np.array([end for end, _ in pieces], np.int64), counts)
        table = pa.Table.from_batches([piece for _, piece in pieces])
        table = table.set_column(at, SLICE, pa.array(ends))
        if several:
            batch = grouped(self._vectors, table, self._group)
        else:
            (batch,) = table.combine_chunks().to_batches() or [pieces[0][1]]
        parts = parts_of(batch, self._vectors)
        there = parts[0] > 0
        if not there.all():
            batch = batch.take(pa.array(np.flatnonzero(there)))
            parts = [each[there] for each in parts]
        return WindowResults(
            batch.columns[:at], self._vectors.results(parts), batch.column(at).to_numpy()
        )


def runs(sorted_values: Array) -> Iterator[tuple[int, int, int]]:
    """Yield each value of a sorted array, with where it begins and where it ends."""
    import numpy as np

    if not len(sorted_values):
        return
    begins = np.flatnonzero(np.diff(sorted_values, prepend=sorted_values[0] - 1))
    ends = np.append(begins[1:], len(sorted_values))
    values = sorted_values[begins]
    yield from zip(values.tolist(), begins.tolist(), ends.tolist(), strict=True)

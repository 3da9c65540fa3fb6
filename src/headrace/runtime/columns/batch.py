"""``Columns``: a run of records as an Arrow record batch.

It can take the place of a list of records: it has a length and slices, and iterating over it gives
the records that the source would have given as rows. Slices share the memory of the whole.
pyarrow and numpy are imported when the first ``Columns`` is made, so other jobs do not load them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from headrace.common.types import RowKind
from headrace.connector import ColumnChunk
from headrace.errors import TypeMismatchError
from headrace.runtime.columns.shapes import DICTS, NamedRows, Shape, python_values

if TYPE_CHECKING:
    import numpy as np

    Kinds = np.ndarray[Any, np.dtype[np.int8]]
    """The value of each row's ``RowKind``."""

PushColumns = Callable[["Columns"], None]

_TIMES = "__headrace_timestamp_ms"
_ROW_KINDS = "__headrace_row_kind"
_KINDS = tuple(RowKind)


class Columns:
    """Records as immutable columns.

    ``batch``: a pyarrow record batch. ``shape``: makes the records of a batch. ``times``: an int64
    array of timestamps in ms, with nulls, as long as the batch; None: no record has one.
    ``kinds``: the kind of each row, as long as the batch; None: all rows are inserted.

    A slice makes its batch at the first use: most slices are only passed on.
    """

    __slots__ = ("_base", "_batch", "_count", "_kinds", "_nbytes", "_start", "_times", "shape")

    _count: int
    _nbytes: int | None

    def __init__(
        self,
        batch: Any,
        shape: Shape = DICTS,
        times: Any | None = None,
        kinds: Kinds | None = None,
    ) -> None:
        if kinds is not None:
            kinds = _none_if_inserted(kinds)
            if not isinstance(shape, NamedRows):
                raise TypeMismatchError(
                    "columns with row kinds are rows with named fields",
                    where={"shape": repr(shape)},
                    hint="only a Row has a kind: give the shape NamedRows()",
                )
        self._batch, self.shape, self._times, self._kinds = batch, shape, times, kinds
        self._base: Columns | None = None
        self._start, self._count = 0, batch.num_rows
        self._nbytes = None

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, where: slice) -> Columns:
        start, stop, step = where.indices(self._count)
        assert step == 1, "columns are sliced, never skipped through"
        found = Columns.__new__(Columns)
        found.shape = self.shape
        found._batch = found._times = found._kinds = found._nbytes = None
        found._base = self.base
        found._start, found._count = self._start + start, max(stop - start, 0)
        return found

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows())

    @property
    def batch(self) -> Any:
        """The pyarrow record batch."""
        if self._batch is None and self._base is not None:
            self._batch = self._base._batch.slice(self._start, self._count)
        return self._batch

    @property
    def times(self) -> Any | None:
        """The timestamps as an Arrow array; None: no record has one."""
        if self._times is None and self._base is not None and self._base._times is not None:
            self._times = self._base._times.slice(self._start, self._count)
        return self._times

    @property
    def kinds(self) -> Kinds | None:
        """The kinds of the rows; None: all are inserted."""
        base = self._base
        if base is None or base._kinds is None:
            return self._kinds
        return _none_if_inserted(base._kinds[self._start : self._start + self._count])

    @property
    def base(self) -> Columns:
        """The columns that this was sliced from, or these themselves."""
        return self if self._base is None else self._base  # an empty one is false

    @property
    def start(self) -> int:
        """With which row of the base it begins."""
        return self._start

    @property
    def nbytes(self) -> int:
        """How many bytes the columns take; of a slice its share of ``base``."""
        base = self.base
        size_bytes: int | None = base._nbytes
        if size_bytes is None:
            apart = 0 if base._times is None else base._count * 8
            apart += 0 if base._kinds is None else base._count
            size_bytes = base._nbytes = int(base._batch.nbytes) + apart
        return size_bytes * self._count // max(base._count, 1)

    @property
    def timestamps(self) -> Timestamps | None:
        """The timestamps, as a block has them."""
        return None if self.base._times is None else Timestamps(self)

    def rows(self) -> list[Any]:
        """Return new records, as the source would read them; a ``Row`` has its row kind."""
        rows, kinds = self.shape(self.batch), self.kinds
        if kinds is not None:
            for row, kind in zip(rows, kinds.tolist(), strict=True):
                if kind:
                    row.set_row_kind(_KINDS[kind])
        return rows

    def rows_to_send(self) -> tuple[list[Any], list[int | None] | None]:
        """Return new records for the operators downstream, and their timestamps.

        Results of a combiner get their key, if the shape has ``to_send``.
        """
        to_send = getattr(self.shape, "to_send", None)
        timestamps = self.timestamps
        return (
            self.rows() if to_send is None else to_send(self.batch),
            None if timestamps is None else [*timestamps],
        )

    def push_rows(self, push: Callable[[Any, int | None], None]) -> None:
        """Call a function with each record, as it is sent, and its timestamp."""
        rows, timestamps = self.rows_to_send()
        for value, timestamp in zip(rows, timestamps or [None] * len(rows), strict=True):
            push(value, timestamp)

    def take(self, order: np.ndarray[Any, Any]) -> Columns:
        """Return the rows at the given indices, in the given order."""
        import pyarrow as pa

        indices = pa.array(order)
        times = None if self.times is None else self.times.take(indices)
        kinds = None if self.kinds is None else self.kinds[order]
        return Columns(self.batch.take(indices), self.shape, times, kinds)

    def with_times(self, times: Any | None) -> Columns:
        """Return the same records with other timestamps."""
        return Columns(self.batch, self.shape, times, self.kinds)

    def with_times_of_column(self, name: str) -> Columns | None:
        """Return the records with the timestamps of a column: integers in ms, or Arrow timestamps.

        None where the column is not there, has nulls, or is of another type.
        """
        times = _to_milliseconds(self.batch, name)
        return None if times is None else self.with_times(times)

    def latest_ms(self) -> int | None:
        """Return the highest timestamp; None where no record has one."""
        import pyarrow.compute as pc

        latest: int | None = None if self.times is None else pc.max(self.times).as_py()
        return latest

    def is_like(self, other: Columns) -> bool:
        """Return whether the records of both can be in one ``Columns``."""
        return self.shape == other.shape and bool(self.batch.schema.equals(other.batch.schema))

    @property
    def apart(self) -> tuple[bool, bool]:
        """Whether a message has timestamps and row kinds as columns after the fields."""
        return self.times is not None, self.kinds is not None

    def write_into(self, out: BytesIO) -> None:
        """Append one Arrow message to ``out``, with everything but the shape.

        ``from_buffer`` reads it again.
        """
        import pyarrow as pa

        batch, kinds = self.batch, self.kinds
        after = {} if self.times is None else {_TIMES: self.times}
        if kinds is not None:
            after[_ROW_KINDS] = pa.array(kinds)
        if after:
            batch = pa.RecordBatch.from_arrays(
                [*batch.columns, *after.values()], names=[*batch.schema.names, *after]
            )
        with pa.ipc.new_stream(out, batch.schema) as writer:
            writer.write_batch(batch)

    def __reduce__(self) -> tuple[Any, ...]:
        out = BytesIO()
        self.write_into(out)
        return from_buffer, (out.getvalue(), self.shape, *self.apart)


class Timestamps(Sequence[int | None]):
    """The timestamps of columns, that read as a list of numbers (ms) and None."""

    __slots__ = ("_columns",)

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, where: Any) -> Any:
        if isinstance(where, slice):
            return Timestamps(self._columns[where])
        times: Any = self._columns.times
        return times[where].as_py()

    def __iter__(self) -> Iterator[int | None]:
        times: Any = self._columns.times
        return iter(times.to_pylist())

    def __reduce__(self) -> tuple[Any, ...]:
        return Timestamps, (self._columns,)


def concatenate_columns(batches: Sequence[Columns]) -> Columns:
    """Return the records of several ``Columns`` of one kind (``is_like``), one after another."""
    first, *others = batches
    if not others:
        return first
    import numpy as np
    import pyarrow as pa

    table = pa.Table.from_batches([part.batch for part in batches]).unify_dictionaries()
    (batch,) = table.combine_chunks().to_batches() or [first.batch]
    times = None
    if any(part.times is not None for part in batches):
        arrays = [pa.nulls(len(p), pa.int64()) if p.times is None else p.times for p in batches]
        times = pa.concat_arrays(arrays)
    kinds = None
    found = [part.kinds for part in batches]
    if any(each is not None for each in found):
        kinds = np.concatenate(
            [
                np.zeros(len(part), np.int8) if each is None else each
                for part, each in zip(batches, found, strict=True)
            ]
        )
    return Columns(batch, first.shape, times, kinds)


def chunk_of(columns: Columns) -> ColumnChunk:
    """Return columns as connectors know them; row kinds are a column after the fields."""
    import pyarrow as pa

    batch, kinds = columns.batch, columns.kinds
    if kinds is not None:
        batch = batch.append_column(_ROW_KINDS, pa.array(kinds))
    named = None if kinds is None else _ROW_KINDS
    return ColumnChunk(batch, columns.shape, named, columns.times)


def from_buffer(data: Any, shape: Shape, timed: bool, kinded: bool) -> Columns:
    """Return the columns of a message (bytes or a buffer); they use its memory."""
    import pyarrow as pa

    batch = pa.ipc.open_stream(data).read_next_batch()
    times = kinds = None
    if timed or kinded:
        fields = batch.num_columns - timed - kinded
        times = batch.column(fields) if timed else None
        kinds = batch.column(fields + timed).to_numpy() if kinded else None
        batch = batch.select([*range(fields)])
    return Columns(batch, shape, times, kinds)


def _none_if_inserted(kinds: Kinds) -> Kinds | None:
    return kinds if kinds.any() else None


def _to_milliseconds(batch: Any, name: str) -> Any | None:
    import numpy as np
    import pyarrow as pa

    at = batch.schema.get_field_index(name)
    if at < 0 or batch.column(at).null_count:
        return None
    column, kind = batch.column(at), batch.column(at).type
    if pa.types.is_timestamp(kind):
        if kind.unit == "ns":
            return pa.array(np.floor_divide(column.cast(pa.int64()).to_numpy(), 1_000_000))
        try:
            micros = column.cast(pa.timestamp("us", kind.tz))
        except pa.ArrowInvalid:
            return None  # beyond 64 bits
        return pa.array(np.floor_divide(micros.cast(pa.int64()).to_numpy(), 1000))
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return column.cast(pa.int64())
    return None


__all__ = [
    "Columns",
    "PushColumns",
    "Timestamps",
    "concatenate_columns",
    "from_buffer",
    "python_values",
]

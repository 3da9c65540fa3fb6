"""``Columns``: a run of records as an Arrow record batch.

It can take the place of a list of records: it has a length and slices, and iterating over it gives
the records that the source would have given as rows. Slices share the memory of the whole.
pyarrow and numpy are imported when the first ``Columns`` is made, so other jobs do not load them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from headrace.common.types import Row, RowKind
from headrace.errors import TypeMismatchError
from headrace.runtime.columns.shapes import DICTS, NamedRows, Shape, python_values

if TYPE_CHECKING:
    import numpy as np

PushColumns = Callable[["Columns"], None]

_TIMES = "__headrace_timestamp_ms"
_KINDS = tuple(RowKind)


class Columns:
    """Records as columns; nobody changes them.

    ``batch``: a pyarrow record batch. ``shape``: makes the records of a batch. ``row_kind``: the
    name of an int8 column with the value of each row's ``RowKind``, which is no field of the
    record; None: all rows are inserted. ``times``: an int64 array of timestamps in ms, with nulls,
    as long as the batch; None: no record has one.

    A slice makes its batch at the first use: most slices are only passed on.
    """

    __slots__ = ("_batch", "_count", "_nbytes", "_start", "_times", "_whole", "row_kind", "shape")

    _count: int
    _nbytes: int | None

    def __init__(
        self,
        batch: Any,
        shape: Shape = DICTS,
        row_kind: str | None = None,
        times: Any | None = None,
    ) -> None:
        if row_kind is not None and not isinstance(shape, NamedRows):
            raise TypeMismatchError(
                "columns with row kinds are rows with named fields",
                where={"row kinds in": row_kind, "shape": repr(shape)},
                hint="only a Row has a kind: give the shape NamedRows()",
            )
        self._batch, self.shape, self.row_kind, self._times = batch, shape, row_kind, times
        self._whole: Columns | None = None
        self._start, self._count = 0, batch.num_rows
        self._nbytes = None

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, where: slice) -> Columns:
        start, stop, step = where.indices(self._count)
        assert step == 1, "columns are sliced, never skipped through"
        found = Columns.__new__(Columns)
        found.shape, found.row_kind = self.shape, self.row_kind
        found._batch = found._times = found._nbytes = None
        found._whole = self.whole
        found._start, found._count = self._start + start, max(stop - start, 0)
        return found

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows())

    @property
    def batch(self) -> Any:
        """The pyarrow record batch."""
        if self._batch is None and self._whole is not None:
            self._batch = self._whole._batch.slice(self._start, self._count)
        return self._batch

    @property
    def times(self) -> Any | None:
        """The timestamps as an Arrow array; None: no record has one."""
        if self._times is None and self._whole is not None and self._whole._times is not None:
            self._times = self._whole._times.slice(self._start, self._count)
        return self._times

    @property
    def whole(self) -> Columns:
        """What this was sliced from."""
        return self if self._whole is None else self._whole  # an empty one is false

    @property
    def start(self) -> int:
        """With which row of the whole it begins."""
        return self._start

    @property
    def nbytes(self) -> int:
        """How many bytes the columns take; of a slice its share of the whole."""
        whole = self.whole
        weight_bytes: int | None = whole._nbytes
        if weight_bytes is None:
            times = 0 if whole._times is None else whole._count * 8
            weight_bytes = whole._nbytes = int(whole._batch.nbytes) + times
        return weight_bytes * self._count // max(whole._count, 1)

    @property
    def timestamps(self) -> Timestamps | None:
        """The timestamps, as a block has them."""
        return None if self.whole._times is None else Timestamps(self)

    @property
    def fields(self) -> Any:
        """The record batch without the row kinds."""
        return self.batch if self.row_kind is None else self.batch.drop_columns([self.row_kind])

    def rows(self) -> list[Any]:
        """Fresh records, as the source would have given them; a ``Row`` has its kind."""
        if self.row_kind is None:
            return self.shape(self.batch)
        rows = self.shape(self.fields)
        for row, kind in zip(rows, self.kinds().tolist(), strict=True):
            if kind:
                row.set_row_kind(_KINDS[kind])
        return rows

    def push_rows(self, push: Callable[[Any, int | None], None]) -> None:
        """Call a function with each record and its timestamp."""
        timestamps = self.timestamps or [None] * len(self)
        for value, timestamp in zip(self.rows(), timestamps, strict=True):
            push(value, timestamp)

    def kinds(self) -> np.ndarray[Any, Any]:
        """The values of the rows' kinds (int8); one without a kind is inserted."""
        import numpy as np

        if self.row_kind is None:
            return np.zeros(len(self), np.int8)
        kinds = self.batch.column(self.row_kind).fill_null(0)
        found: np.ndarray[Any, Any] = kinds.to_numpy(zero_copy_only=False)
        return found

    def take(self, order: np.ndarray[Any, Any]) -> Columns:
        """The rows of these numbers, in this order."""
        import pyarrow as pa

        indices = pa.array(order)
        times = None if self.times is None else self.times.take(indices)
        return Columns(self.batch.take(indices), self.shape, self.row_kind, times)

    def timed(self, times: Any | None) -> Columns:
        """The same records with other timestamps."""
        return Columns(self.batch, self.shape, self.row_kind, times)

    def timed_by(self, name: str) -> Columns | None:
        """With the timestamps of a column: integers in ms, or points in time.

        None where the column is not there, has nulls, or is of another type.
        """
        times = _milliseconds(self.batch, name)
        return None if times is None else self.timed(times)

    def latest_ms(self) -> int | None:
        """The highest timestamp; None where no record has one."""
        import pyarrow.compute as pc

        latest: int | None = None if self.times is None else pc.max(self.times).as_py()
        return latest

    def is_like(self, other: Columns) -> bool:
        """Whether records of both can lie in one ``Columns``."""
        return (
            self.shape == other.shape
            and self.row_kind == other.row_kind
            and bool(self.batch.schema.equals(other.batch.schema))
        )

    def write_into(self, out: BytesIO) -> None:
        """Write one Arrow message after what is in ``out``: the batch, and with it the timestamps.

        ``from_buffer`` reads it again.
        """
        import pyarrow as pa

        batch = self.batch
        if self.times is not None:
            batch = pa.RecordBatch.from_arrays(
                [*batch.columns, self.times], names=[*batch.schema.names, _TIMES]
            )
        with pa.ipc.new_stream(out, batch.schema) as writer:
            writer.write_batch(batch)

    def __reduce__(self) -> tuple[Any, ...]:
        out = BytesIO()
        self.write_into(out)
        return from_buffer, (out.getvalue(), self.shape, self.row_kind, self.times is not None)


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


def joined(parts: Sequence[Columns]) -> Columns:
    """The records of several ``Columns`` of one kind (``is_like``), one after another."""
    first, *others = parts
    if not others:
        return first
    import pyarrow as pa

    table = pa.Table.from_batches([part.batch for part in parts]).unify_dictionaries()
    (batch,) = table.combine_chunks().to_batches() or [first.batch]
    times = None
    if any(part.times is not None for part in parts):
        arrays = [pa.nulls(len(p), pa.int64()) if p.times is None else p.times for p in parts]
        times = pa.concat_arrays(arrays)
    return Columns(batch, first.shape, first.row_kind, times)


def of_rows(
    rows: Sequence[Any],
    schema: Any,
    timestamps: Sequence[int | None] | None = None,
    row_kind: str = "row_kind",
) -> Columns:
    """Rows with named fields as columns of an Arrow schema.

    Where all are inserts there is no column of row kinds, else it has the name ``row_kind``.

    Raises:
        TypeMismatchError: a value does not fit its column.
    """
    import pyarrow as pa

    found = [row.get_fields_by_names(schema.names) for row in rows]
    columns = [*zip(*found, strict=True)] if found else [()] * len(schema.names)
    try:
        arrays = [
            pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)
        ]
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise TypeMismatchError(f"rows do not fit their columns: {error}") from error
    names = [*schema.names]
    kinds = [row.get_row_kind().value if isinstance(row, Row) else 0 for row in rows]
    if any(kinds):
        arrays.append(pa.array(kinds, pa.int8()))
        names.append(row_kind)
    batch = pa.RecordBatch.from_arrays(arrays, names=names)
    times = None if timestamps is None else pa.array(timestamps, pa.int64())
    return Columns(batch, NamedRows(), row_kind if any(kinds) else None, times)


def from_buffer(data: Any, shape: Shape, row_kind: str | None, timed: bool) -> Columns:
    """The columns of a message (bytes or a buffer); they use its memory."""
    import pyarrow as pa

    batch = pa.ipc.open_stream(data).read_next_batch()
    times = None
    if timed:
        last = batch.num_columns - 1
        times, batch = batch.column(last), batch.select([*range(last)])
    return Columns(batch, shape, row_kind, times)


def _milliseconds(batch: Any, name: str) -> Any | None:
    import numpy as np
    import pyarrow as pa

    at = batch.schema.get_field_index(name)
    if at < 0 or batch.column(at).null_count:
        return None
    column, kind = batch.column(at), batch.column(at).type
    if pa.types.is_timestamp(kind):
        try:  # of nanoseconds the last digits may go
            micros = column.cast(pa.timestamp("us", kind.tz), safe=kind.unit != "ns")
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
    "from_buffer",
    "joined",
    "of_rows",
    "python_values",
]

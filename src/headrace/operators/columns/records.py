"""Where the records of streams become rows of tables, and rows of tables become records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from headrace.common.changelog_mode import ChangelogMode, union
from headrace.common.types import Row, RowKind, row_of
from headrace.errors import TypeMismatchError
from headrace.operators.columns.gathering import UPDATE_BEFORE, ColumnOperator
from headrace.runtime.columns.shapes import NamedRows
from headrace.runtime.operator import Operator, OperatorSpec, Traits

if TYPE_CHECKING:
    from headrace.runtime.columns.batch import Columns

Read = Callable[[Any], Sequence[Any]]


class RecordFields(Protocol):
    """The values that a record has for the columns of a table."""

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Where records are rows with the values of the columns: the names of these fields."""

    def compile(self) -> Read:
        """Return the function: from a record to its values as Arrow takes them."""


@dataclass(frozen=True)
class FromRecordsSpec(OperatorSpec):
    """``schema``: of the rows. ``timed``: whether its last column has the records' timestamps.
    ``keeps_time``: whether the rows have timestamps, too. ``required``: columns that must not be
    NULL. ``inserts``: whether all records are inserts; ``upserts``: whether they replace by key."""

    fields: RecordFields
    schema: Any
    timed: bool = False
    keeps_time: bool = False
    required: tuple[str, ...] = ()
    inserts: bool = True
    upserts: bool = False
    traits = Traits(takes_columns=True, gives_columns=True)
    kind = "from-records"
    label = "FromRecords"

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """Return what was declared."""
        if self.inserts:
            return ChangelogMode.insert_only()
        return ChangelogMode.upsert() if self.upserts else ChangelogMode.all()

    def build(self) -> Operator:
        return FromRecordsOperator(self)


class FromRecordsOperator(ColumnOperator):
    """Reads the fields of records, and checks them."""

    def __init__(self, spec: FromRecordsSpec) -> None:
        super().__init__(spec.schema)
        self._spec = spec
        self._read = spec.fields.compile()
        self._types = [field.type for field in spec.schema]

    def take(self, columns: Columns) -> None:
        names = self._spec.fields.columns
        if names is None or type(columns.shape) is not NamedRows:
            times = columns.timestamps
            self._read_records(columns.rows(), None if times is None else [*times])
            return
        batch = columns.batch
        fields = zip(names, self._types, strict=False)
        arrays = [batch.column(name).cast(kind) for name, kind in fields]
        self._emit(arrays, columns.times, columns.kinds)

    def _flush(self) -> None:
        if self._rows:
            rows, self._rows = self._rows, []
            times, self._times = self._times, []
            self._read_records(rows, times)

    def _read_records(self, records: Sequence[Any], times: Sequence[int | None] | None) -> None:
        import numpy as np
        import pyarrow as pa

        values = zip(*map(self._read, records), strict=True)
        fields = zip(values, self._types, strict=False)
        arrays = [pa.array(column, kind) for column, kind in fields]
        kinds = None
        if isinstance(records[0], Row):
            found = (record.get_row_kind().value for record in records)
            kinds = np.fromiter(found, np.int8, len(records))
        known = times is not None and any(each is not None for each in times)
        self._emit(arrays, pa.array(times, pa.int64()) if known else None, kinds)

    def _emit(self, arrays: list[Any], times: Any | None, kinds: Any | None) -> None:
        import pyarrow as pa

        from headrace.runtime.columns.batch import Columns
        from headrace.runtime.columns.shapes import NAMED_ROWS

        spec = self._spec
        if spec.timed:
            if times is None or times.null_count:
                raise TypeMismatchError(
                    "a record has no timestamp, and the table has a column of it",
                    hint="assign_timestamps_and_watermarks() before from_data_stream()",
                )
            arrays.append(times.cast(self._types[-1]))
        batch = pa.RecordBatch.from_arrays(arrays, schema=spec.schema)
        for name in spec.required:
            if batch.column(name).null_count:
                raise TypeMismatchError(f"column {name!r} is NOT NULL, and a record has None")
        if spec.inserts and kinds is not None and kinds.any():
            found = next(kind for kind in RowKind if kind.value == kinds[kinds != 0][0])
            raise TypeMismatchError(
                f"a record is {found.name}, and the table takes inserts only",
                hint="from_changelog_stream() takes rows of all kinds",
            )
        kept = times if spec.keeps_time else None
        self.outputs.columns(Columns(batch, NAMED_ROWS, kept, kinds))


class ValueWriters(Protocol):
    """What makes of columns' values those of records."""

    def compile(self) -> Sequence[Callable[[Any], Any] | None]:
        """Return a function for each column; None: its values stay as they are."""


@dataclass(frozen=True)
class WrittenRows(NamedRows):
    """Rows with names, whose values are those of PyFlink."""

    writers: ValueWriters

    def __call__(self, batch: Any) -> list[Any]:
        """Return the records of a batch."""
        from headrace.runtime.columns.shapes import python_values

        names = (*batch.schema.names,)
        columns = []
        for column, write in zip(batch.columns, self.writers.compile(), strict=True):
            values = python_values(column)
            columns.append(values if write is None else [*map(write, values)])
        return [row_of(names, [*row]) for row in zip(*columns, strict=True)]


@dataclass(frozen=True)
class ToRecordsSpec(OperatorSpec):
    """``schema``: of the rows. ``time``: the column with the records' timestamps; None: records
    have none, or with ``keeps_time`` those that they have. ``drops_time``: whether this column is
    in no record. ``drops_before``: whether rows that are replaced are not given."""

    schema: Any
    writers: ValueWriters
    time: str | None = None
    keeps_time: bool = False
    drops_time: bool = False
    drops_before: bool = False
    traits = Traits(takes_columns=True, gives_columns=True)
    kind = "to-records"
    label = "ToRecords"

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """Return the kinds of the input."""
        found = union(inputs)
        if found is None or not self.drops_before:
            return found
        return ChangelogMode(found.kinds - {RowKind.UPDATE_BEFORE})

    def build(self) -> Operator:
        return ToRecordsOperator(self)


class ToRecordsOperator(ColumnOperator):
    """Gives rows their timestamps, and the form of records."""

    def __init__(self, spec: ToRecordsSpec) -> None:
        super().__init__(spec.schema)
        self._spec = spec

    def take(self, columns: Columns) -> None:
        import numpy as np

        from headrace.runtime.columns.batch import Columns

        spec = self._spec
        if spec.drops_before and columns.kinds is not None:
            columns = columns.take(np.flatnonzero(columns.kinds != UPDATE_BEFORE))
            if not len(columns):
                return
        times = columns.times if spec.keeps_time else None
        batch = columns.batch
        if spec.time is not None:
            timed = columns.with_times_of_column(spec.time)
            if timed is None:
                raise TypeMismatchError(
                    f"the event time {spec.time!r} of a row is NULL",
                    hint="leave such rows out: WHERE … IS NOT NULL",
                )
            times = timed.times
        if spec.drops_time:
            batch = batch.drop_columns([spec.time])
        self.outputs.columns(Columns(batch, WrittenRows(spec.writers), times, columns.kinds))

"""A function of record batches on a stream without keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common.changelog_mode import ChangelogMode
from headrace.operators.batches.records import (
    RecordBatchBuilder,
    insert_only_batch,
    untyped_records_error,
)
from headrace.operators.batches.results import ResultConverter
from headrace.runtime.columns.batch import Columns, PushColumns
from headrace.runtime.loops import Push
from headrace.runtime.operator import Operator, OperatorSpec, Outputs, PushWatermark, Traits
from headrace.runtime.user_function import UserFunction


@dataclass(frozen=True)
class MapBatchesSpec(OperatorSpec):
    """``function(batch)`` returns batches.

    ``records`` None: the type of the records is not known, so the operator can only take columns.
    ``pandas``: the function gets DataFrames.
    """

    function: UserFunction
    records: RecordBatchBuilder | None
    results: ResultConverter
    batch_size: int
    pandas: bool = False
    traits = Traits(takes_columns=True, gives_columns=True)
    kind = "map-batches"
    label = "MapBatches"

    def accepts(self, input: int) -> ChangelogMode | None:
        """Return inserts only: a batch has no row kinds."""
        return ChangelogMode.insert_only()

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """Return inserts only."""
        return ChangelogMode.insert_only()

    def build(self) -> Operator:
        return MapBatchesOperator(self)


class MapBatchesOperator(Operator):
    """Collects records into a batch until it is full, a watermark comes, or the task run ends."""

    def __init__(self, spec: MapBatchesSpec) -> None:
        self._spec = spec
        self._rows: list[Any] = []
        self._times: list[int | None] = []

    def bind(self, outputs: Outputs) -> Push:
        self._outputs = outputs
        self._function = as_batch_function(self._spec.pandas, self._spec.function.as_callable())
        records, batch_size = self._spec.records, self._spec.batch_size
        if records is None:
            return _reject_untyped
        take, rows, times = records.extract, self._rows, self._times
        append, stamp, complete = rows.append, times.append, self.complete

        # Fast path: a tuple of immutable fields is kept as it is.
        as_it_is = None if records.single or records.nested else tuple

        def push(value: Any, timestamp: int | None, node: Any = self.node) -> None:
            append(value if type(value) is as_it_is else take(value))
            stamp(timestamp)
            if len(rows) >= batch_size:
                complete()

        return push

    def bind_columns(self, outputs: Outputs) -> PushColumns:
        batch_size = self._spec.batch_size

        def push(columns: Columns) -> None:
            self.complete()
            for start in range(0, len(columns), batch_size):
                self._call(columns[start : start + batch_size])

        return push

    def complete(self) -> None:
        """Call the function with the collected records."""
        if not self._rows:
            return
        assert self._spec.records is not None
        node = self.node  # noqa: F841  for ``annotate``
        batch = self._spec.records.batch(self._rows)
        times = timestamps_array(self._times)
        self._clear()
        self._call(Columns(batch, times=times))

    def _call(self, columns: Columns) -> None:
        node = self.node  # noqa: F841  for ``annotate``
        emit = self._outputs.columns
        returned = self._function(insert_only_batch(columns))
        for results in self._spec.results.convert(returned, columns):
            emit(results)

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        """Call the function for the buffered records, then pass the watermark on."""
        self.complete()
        push_watermark(watermark, idle)

    def restore(self, state: Any | None) -> None:
        """Drop the records of a failed task run: they are read again."""
        self._clear()

    def _clear(self) -> None:
        self._rows.clear()
        self._times.clear()


def _reject_untyped(value: Any, timestamp: int | None) -> None:
    raise untyped_records_error()


def as_batch_function(pandas: bool, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of a record batch (its last argument), converted for pandas if needed."""
    if not pandas:
        return function
    return lambda *given: function(*given[:-1], given[-1].to_pandas())


def timestamps_array(timestamps: list[int | None]) -> Any:
    """Return timestamps as an Arrow array; None if no record has one."""
    import pyarrow as pa

    times = pa.array(timestamps, pa.int64())
    return None if times.null_count == len(times) else times

"""Conversion of what a function of batches returned to columns with timestamps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from headrace.errors import TypeMismatchError
from headrace.runtime.columns.batch import Columns
from headrace.runtime.columns.building import to_takeable_arrays
from headrace.runtime.columns.shapes import Shape


@dataclass(frozen=True)
class ResultConverter:
    """Converts results to ``Columns``.

    ``schema``: the Arrow schema of the declared type; None keeps that of the results. ``by_name``:
    columns are matched by name, not by position. ``shape`` makes records of the columns.
    ``timestamp_column``: the column with the timestamps of results.
    """

    schema: Any
    by_name: bool
    shape: Shape
    timestamp_column: str | None = None

    def convert(self, returned: Any, input_columns: Columns) -> Iterator[Columns]:
        """Yield the results of a call, in order.

        ``returned``: a record batch, table or DataFrame, an iterable of them, or None. A single one
        with as many rows as ``input_columns`` takes over its timestamps row by row. All other
        results get the latest timestamp of ``input_columns``.

        Raises:
            TypeMismatchError: a result has another type, or does not fit the schema.
        """
        batches = _record_batches(returned)
        if batches is not None:
            rows = sum(batch.num_rows for batch in batches)
            times = (
                input_columns.times
                if rows == len(input_columns)
                else _latest_timestamps(input_columns, rows)
            )
            at = 0
            for batch in batches:
                part = None if times is None else times.slice(at, batch.num_rows)
                at += batch.num_rows
                yield from self._to_columns(batch, part)
            return
        if not isinstance(returned, Iterable) or isinstance(returned, str | bytes | dict):
            raise _no_batch_error(returned)
        for each in returned:
            found = _record_batches(each)
            if found is None:
                raise _no_batch_error(each)
            for batch in found:
                yield from self._to_columns(
                    batch, _latest_timestamps(input_columns, batch.num_rows)
                )

    def _to_columns(self, batch: Any, times: Any) -> Iterator[Columns]:
        if not batch.num_rows:
            return
        columns = Columns(self._to_declared_schema(batch), self.shape, times)
        if self.timestamp_column is None:
            yield columns
            return
        timed = columns.with_times_of_column(self.timestamp_column)
        if timed is None:
            raise TypeMismatchError(
                f"results have no column {self.timestamp_column!r} with a time in each row",
                where={"columns": _column_list(columns.batch.schema)},
                hint="timestamp_column names a column of integers (ms) or timestamps; no nulls",
            )
        yield timed

    def _to_declared_schema(self, batch: Any) -> Any:
        """Return the batch with the columns of the declared type, cast where needed."""
        import pyarrow as pa

        names, schema = batch.schema.names, self.schema
        if len(set(names)) < len(names):
            raise TypeMismatchError(f"results have a column twice: {', '.join(names)}")
        if schema is None:
            return to_takeable_arrays(batch)
        if batch.schema.equals(schema):
            return batch
        if self.by_name:
            different = sorted({*names} ^ {*schema.names})
        else:
            different = [] if len(names) == len(schema) else names
        if different:
            raise TypeMismatchError(
                "results do not have the columns of their declared type",
                where={"declared": _column_list(schema), "given": _column_list(batch.schema)},
            )
        arrays = []
        for index, field in enumerate(schema):
            column = batch.column(field.name if self.by_name else index)
            if column.type != field.type:
                try:
                    column = column.cast(field.type)
                except pa.ArrowException as error:
                    raise TypeMismatchError(
                        f"a result does not fit its declared type: {error}",
                        where={"column": f"{field.name}: {field.type}"},
                    ) from error
            arrays.append(column)
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _record_batches(returned: Any) -> list[Any] | None:
    """Return the record batches of one object; None if it is no table of any kind."""
    import pyarrow as pa

    if returned is None:
        return []
    if isinstance(returned, pa.RecordBatch):
        return [returned]
    if isinstance(returned, pa.Table):
        table_batches: list[Any] = returned.combine_chunks().to_batches()
        return table_batches
    if type(returned).__module__.partition(".")[0] != "pandas":
        return None
    import pandas as pd

    if not isinstance(returned, pd.DataFrame):
        return None
    return [pa.RecordBatch.from_pandas(returned, preserve_index=False).replace_schema_metadata()]


def _latest_timestamps(input_columns: Columns, rows: int) -> Any:
    import pyarrow as pa

    latest_ms = input_columns.latest_ms()
    return None if latest_ms is None else pa.repeat(pa.scalar(latest_ms, pa.int64()), rows)


def _column_list(schema: Any) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in schema) or "none"


def _no_batch_error(returned: Any) -> TypeMismatchError:
    return TypeMismatchError(
        f"a function of map_batches gave a {type(returned).__name__}",
        hint="return a pyarrow RecordBatch, a Table or a pandas DataFrame, or an iterable of them",
    )

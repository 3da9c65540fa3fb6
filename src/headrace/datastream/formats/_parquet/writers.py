"""Parquet files written through pyarrow, a row group at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.common._types.other_forms import as_arrow_schema
from headrace.common.serialization import BulkWriterFactory
from headrace.common.typeinfo import RowTypeInfo
from headrace.connector import ColumnChunk
from headrace.datastream.formats._arrow.columns import fitting
from headrace.datastream.formats._arrow.types import arrow_schema, arrow_values
from headrace.datastream.formats._csv.fields import fields_of
from headrace.datastream.formats._file_format import refuse_hadoop

ROW_GROUP_ROWS = 1 << 17


class ParquetBulkWriters:
    """Makes Parquet writers for ``FileSink.for_bulk_format``."""

    @staticmethod
    def for_row_type(
        row_type: Any,
        hadoop_config: Any = None,
        utc_timestamp: bool = False,
        *,
        compression: str = "zstd",
    ) -> ParquetWriterFactory:
        """Return a writer of rows, dictionaries, dataclasses or tuples.

        ``row_type`` is a ``DataTypes.ROW(…)``, ``Types.ROW_NAMED(…)`` or a pyarrow schema. With
        ``utc_timestamp``, timestamps are written as instants in UTC, otherwise without a time zone.
        A ``Types.BIG_DEC()`` is a decimal of 38 digits, 18 after the point.
        """
        refuse_hadoop(hadoop_config, "Parquet is written")
        row_type = as_arrow_schema(row_type)
        arrow_schema(row_type, utc_timestamp)
        return ParquetWriterFactory(row_type, utc_timestamp, compression)


@dataclass(frozen=True)
class ParquetWriterFactory(BulkWriterFactory):
    """Writes records as Parquet."""

    row_type: Any
    utc_timestamp: bool = False
    compression: str = "zstd"
    takes_columns = True

    def create(self, file: IO[bytes]) -> ParquetWriter:
        """Return a writer into an open file."""
        schema = arrow_schema(self.row_type, self.utc_timestamp)
        declared = self.row_type if isinstance(self.row_type, RowTypeInfo) else None
        return ParquetWriter(schema, declared, file, self.compression)


class ParquetWriter:
    """Writes records into one file, a row group at a time."""

    def __init__(
        self, schema: Any, declared: RowTypeInfo | None, file: IO[bytes], compression: str
    ) -> None:
        self._schema, self._declared = schema, declared
        self._coerce = None if declared is None else declared.coercer()
        self._writer = pq.ParquetWriter(file, schema, compression=compression)
        self._rows: list[Sequence[Any]] = []
        self._batches: list[Any] = []
        self._gathered = 0
        """How many rows wait in the batches; there are either rows or batches."""

    def write(self, values: Sequence[Any]) -> None:
        """Add records.

        Raises:
            TypeMismatchError: a value does not fit its column.
        """
        if self._batches:
            self._flush()
        names, coerce = tuple(self._schema.names), self._coerce
        if coerce is not None:
            self._rows += [coerce(value) for value in values]
        else:
            self._rows += map(partial(fields_of, columns=names), values)
        if len(self._rows) >= ROW_GROUP_ROWS:
            self._flush()

    def write_columns(self, chunk: ColumnChunk) -> None:
        """Add records as columns; or as rows, if columns would give another file.

        Raises:
            TypeMismatchError: a value does not fit its column.
        """
        batch = fitting(chunk, self._schema, self._declared)
        if batch is None:
            self.write(chunk.shape(chunk.batch))
            return
        if self._rows:
            self._flush()
        self._batches.append(batch)
        self._gathered += batch.num_rows
        if self._gathered >= ROW_GROUP_ROWS:
            self._flush()

    def finish(self) -> None:
        """Complete the file; the caller closes it."""
        if self._rows or self._batches:
            self._flush()
        self._writer.close()

    def discard(self) -> None:
        """Drop the file without completing it."""
        self._rows, self._batches, self._gathered = [], [], 0
        # On garbage collection pyarrow would close it, and write to a closed file.
        self._writer.close()

    def _flush(self) -> None:
        if self._batches:
            (batch,) = pa.Table.from_batches(self._batches).combine_chunks().to_batches()
            self._writer.write_batch(batch)
            self._batches, self._gathered = [], 0
            return
        columns = list(zip(*self._rows, strict=True))
        arrays = [
            arrow_values(field, column) for field, column in zip(self._schema, columns, strict=True)
        ]
        self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        self._rows = []

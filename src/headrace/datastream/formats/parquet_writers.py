"""Parquet files written through pyarrow, a row group at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.common.serialization import BulkWriterFactory
from headrace.common.typeinfo import RowTypeInfo
from headrace.datastream.formats.arrow_types import arrow_schema, arrow_values
from headrace.datastream.formats.csv_fields import fields_of
from headrace.datastream.formats.file_format import refuse_hadoop

ROW_GROUP_ROWS = 1 << 17


class ParquetBulkWriters:
    """Makes writers of Parquet for ``FileSink.for_bulk_format``."""

    @staticmethod
    def for_row_type(
        row_type: Any,
        hadoop_config: Any = None,
        utc_timestamp: bool = False,
        *,
        compression: str = "zstd",
    ) -> ParquetWriterFactory:
        """A writer of rows, dictionaries, dataclasses or tuples.

        ``row_type`` is ``Types.ROW_NAMED(…)`` or a pyarrow schema, where PyFlink takes a RowType of
        its Table API. With ``utc_timestamp``, timestamps are written as instants in UTC, else
        without a zone. A ``Types.BIG_DEC()`` is a decimal of 38 digits, 18 after the point.
        """
        refuse_hadoop(hadoop_config, "Parquet is written")
        arrow_schema(row_type, utc_timestamp)
        return ParquetWriterFactory(row_type, utc_timestamp, compression)


@dataclass(frozen=True)
class ParquetWriterFactory(BulkWriterFactory):
    """Writes records as Parquet."""

    row_type: Any
    utc_timestamp: bool = False
    compression: str = "zstd"

    def create(self, file: IO[bytes]) -> ParquetWriter:
        """A writer into an open file."""
        schema = arrow_schema(self.row_type, self.utc_timestamp)
        coerce = self.row_type.coercer() if isinstance(self.row_type, RowTypeInfo) else None
        return ParquetWriter(schema, coerce, file, self.compression)


class ParquetWriter:
    """Writes records into one file, a row group at a time."""

    def __init__(self, schema: Any, coerce: Any, file: IO[bytes], compression: str) -> None:
        self._schema, self._coerce = schema, coerce
        self._writer = pq.ParquetWriter(file, schema, compression=compression)
        self._rows: list[Sequence[Any]] = []

    def write(self, values: Sequence[Any]) -> None:
        """Add records.

        Raises:
            TypeMismatchError: a value does not fit its column.
        """
        names, coerce = tuple(self._schema.names), self._coerce
        if coerce is not None:
            self._rows += [coerce(value) for value in values]
        else:
            self._rows += map(partial(fields_of, columns=names), values)
        if len(self._rows) >= ROW_GROUP_ROWS:
            self._flush()

    def finish(self) -> None:
        """Complete the file; the caller closes it."""
        if self._rows:
            self._flush()
        self._writer.close()

    def discard(self) -> None:
        """Let go of the file, whose content does not matter any more."""
        self._rows = []
        # pyarrow would close it when it is collected, into a file that is closed by then.
        self._writer.close()

    def _flush(self) -> None:
        columns = list(zip(*self._rows, strict=True))
        arrays = [
            arrow_values(field, column) for field, column in zip(self._schema, columns, strict=True)
        ]
        self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        self._rows = []

"""``parquet``: files of columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Self

from headrace.common._options.values import ValueKind
from headrace.common.serialization import BulkWriterFactory
from headrace.connector import BadRecord, Chunk, ColumnChunk
from headrace.datastream.formats._file_format import FileFormat
from headrace.datastream.formats._parquet.reader import ParquetFormat
from headrace.datastream.formats._parquet.writers import ParquetWriterFactory
from headrace.errors import SqlValidationError
from headrace.runtime.columns.shapes import NAMED_ROWS
from headrace.sql.rel import Columns
from headrace.table._formats.column_files import ColumnFiles
from headrace.table._formats.format import BulkTableFormat, Decoded
from headrace.table._options import TableOption

_CODECS = ("none", "snappy", "gzip", "brotli", "zstd", "lz4")
_COMPRESSION = TableOption("compression", default="snappy")
_UTC = TableOption("utc-timezone", ValueKind.BOOLEAN, False)


@dataclass(frozen=True)
class ParquetTableFormat(BulkTableFormat):
    """Rows in Parquet files. A timestamp without a time zone is written without one."""

    compression: str = "snappy"

    identifier = "parquet"
    options = (_COMPRESSION, _UTC)

    @classmethod
    def create(cls, table: str, columns: Columns, options: Mapping[str, Any]) -> Self:
        codec = options[_COMPRESSION.key].lower()
        codec = "none" if codec == "uncompressed" else codec
        if codec not in _CODECS:
            raise SqlValidationError(
                f"table {table!r}: there is no compression {codec!r}",
                where={"compressions": ", ".join(_CODECS)},
            )
        return cls(columns, codec)

    def decode(self, values: Sequence[bytes]) -> Decoded:
        """Refuse: a value is no file."""
        self._refuse()

    def encode(self, columns: Sequence[Sequence[Any]], kinds: Sequence[int] | None) -> list[bytes]:
        """Refuse: a value is no file."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise SqlValidationError(
            "the format 'parquet' is for files", hint="messages can have json, csv or avro"
        )

    def file_format(self) -> FileFormat:
        return ParquetFiles(self)

    def writer_factory(self) -> BulkWriterFactory:
        return ParquetWriterFactory(self.schema, False, self.compression)


@dataclass(frozen=True)
class ParquetFiles(ColumnFiles):
    """Reads Parquet files as columns of a table; a column that a file lacks is NULL."""

    of: ParquetTableFormat

    def read_columns(
        self, path: str, start: int, end: int, extent: int
    ) -> Iterator[Chunk | ColumnChunk]:
        import pyarrow as pa

        row = start
        for chunk in self._files.read_columns(path, start, end, extent) or ():
            if isinstance(chunk, Chunk):
                yield Chunk([], None, [(0, bad) for _, bad in chunk.bad])
                continue
            try:
                batch = self._fitted(chunk.batch)
            except pa.ArrowException as error:
                bad = BadRecord(b"", f"a column has another type: {error}", path, row)
                yield Chunk([], None, [(0, bad)])
                return
            yield ColumnChunk(batch, NAMED_ROWS)
            row += batch.num_rows

    @property
    def has_columns(self) -> bool:
        return True

    @property
    def _files(self) -> ParquetFormat:
        return _PresentColumns([column.name for column in self.of.columns])

    def _fitted(self, batch: Any) -> Any:
        import pyarrow as pa

        arrays = []
        for field in self.of.schema:
            if field.name not in batch.schema.names:
                arrays.append(pa.nulls(batch.num_rows, field.type))
                continue
            column = batch.column(field.name)
            # The unit of a timestamp may have fewer digits than that in the file.
            is_time = pa.types.is_timestamp(field.type) and pa.types.is_timestamp(column.type)
            arrays.append(column.cast(field.type, safe=not is_time))
        return pa.RecordBatch.from_arrays(arrays, schema=self.of.schema)


class _PresentColumns(ParquetFormat):
    def column_names(self, schema: Any) -> list[str]:
        present = [name for name in self.columns or () if name in schema.names]
        # Rows are counted by a column, if the table has none of those in the file.
        return present or list(schema.names)[:1]

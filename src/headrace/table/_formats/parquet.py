"""``parquet``: files of columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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
    places = ("files",)
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
    dictionaries: bool = False

    def for_reader(self) -> ParquetFiles:
        made = replace(self)
        vars(made)["_files"] = self._files.for_reader()
        return made

    def close(self) -> None:
        self._files.close()

    def __getstate__(self) -> dict[str, Any]:
        return {"of": self.of, "dictionaries": self.dictionaries}

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

    @cached_property
    def _files(self) -> ParquetFormat:
        kind = _WithDictionaries if self.dictionaries else _PresentColumns
        return kind([column.name for column in self.of.columns])

    def _fitted(self, batch: Any) -> Any:
        import pyarrow as pa

        arrays = []
        for field in self.of.schema:
            if field.name not in batch.schema.names:
                arrays.append(pa.nulls(batch.num_rows, field.type))
                continue
            column = batch.column(field.name)
            if not pa.types.is_dictionary(column.type) or column.type.value_type != field.type:
                column = column.cast(
                    field.type, safe=not _has_fewer_digits(field.type, column.type)
                )
            arrays.append(column)
        return pa.RecordBatch.from_arrays(arrays, names=self.of.schema.names)


def _has_fewer_digits(kind: Any, given: Any) -> bool:
    """Return whether a timestamp's unit has fewer digits than that in the file."""
    import pyarrow as pa

    if not (pa.types.is_timestamp(kind) and pa.types.is_timestamp(given)):
        return False
    units = ("s", "ms", "us", "ns")
    return units.index(kind.unit) < units.index(given.unit)


class _PresentColumns(ParquetFormat):
    def column_names(self, schema: Any) -> list[str]:
        present = [name for name in self.columns or () if name in schema.names]
        # Rows are counted by a column, if the table has none of those in the file.
        return present or list(schema.names)[:1]


class _WithDictionaries(_PresentColumns):
    dictionaries = True

"""``avro``: messages without a header, and container files."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from typing import IO, Any, Self

from headrace.common._options.values import ValueKind
from headrace.common.serialization import BulkWriterFactory
from headrace.connector import Chunk, ColumnChunk
from headrace.datastream.formats._avro.files import (
    CODECS,
    AvroBulkWriters,
    AvroFormat,
    AvroWriter,
)
from headrace.datastream.formats._avro.messages import (
    AvroDeserializationSchema,
    AvroSerializationSchema,
)
from headrace.datastream.formats._avro.schema import AvroSchema
from headrace.datastream.formats._file_format import FileFormat
from headrace.errors import DecodeError, SqlValidationError
from headrace.runtime.columns.shapes import NAMED_ROWS
from headrace.sql.rel import Columns
from headrace.table._formats.avro.schema import schema_of_columns
from headrace.table._formats.avro.values import record_converter, records_of
from headrace.table._formats.column_files import ColumnFiles
from headrace.table._formats.format import BulkTableFormat, Decoded
from headrace.table._formats.rows import RowsBuilder
from headrace.table._options import TableOption

_CODEC = TableOption("codec")
_NEEDS = {"snappy": "cramjam", "lz4": "lz4", "zstandard": "zstandard"}
"""The packages that codecs need."""
_ENCODING = TableOption("encoding", ValueKind.CHOICE, "binary", choices=("binary", "json"))
LEGACY = TableOption("timestamp_mapping.legacy", ValueKind.BOOLEAN, True)


@dataclass(frozen=True)
class AvroTableFormat(BulkTableFormat):
    """Rows as records of a schema that is made of the columns."""

    schema_text: str
    codec: str = "snappy"

    identifier = "avro"
    options = (_CODEC, _ENCODING, LEGACY)

    @classmethod
    def create(cls, table: str, columns: Columns, options: Mapping[str, Any]) -> Self:
        if options[_ENCODING.key] != "binary":
            raise SqlValidationError(
                f"table {table!r}: 'avro.encoding' = 'json' is not supported",
                hint="use the format 'json'",
            )
        schema = schema_of_columns(table, columns, legacy=options[LEGACY.key])
        return cls(columns, json.dumps(schema), _codec(table, options[_CODEC.key]))

    def of_columns(self, names: Collection[str]) -> Self:
        schema = json.loads(self.schema_text)
        schema["fields"] = [each for each in schema["fields"] if each["name"] in names]
        return replace(super().of_columns(names), schema_text=json.dumps(schema))

    def decode(self, values: Sequence[bytes]) -> Decoded:
        return decode_messages(self, self._reader, values)

    def encode(self, columns: Sequence[Sequence[Any]], kinds: Sequence[int] | None) -> list[bytes]:
        return [*map(self._writer.serialize, records_of(columns, self.columns))]

    def file_format(self) -> FileFormat:
        return AvroFiles(self)

    def writer_factory(self) -> BulkWriterFactory:
        return _AvroFileWriters(self)

    @cached_property
    def _reader(self) -> AvroDeserializationSchema:
        return AvroDeserializationSchema(self.schema_text)

    @cached_property
    def _writer(self) -> AvroSerializationSchema:
        return AvroSerializationSchema(self.schema_text)


def _codec(table: str, given: str | None) -> str:
    """Return the codec of files; by default Flink's, if its package is installed.

    Raises:
        SqlValidationError: there is none of this name, or its package is missing.
    """
    if given is None:
        return "snappy" if find_spec(_NEEDS["snappy"]) else "deflate"
    if given not in CODECS:
        raise SqlValidationError(
            f"table {table!r}: there is no codec {given!r}", where={"codecs": ", ".join(CODECS)}
        )
    package = _NEEDS.get(given)
    if package is not None and find_spec(package) is None:
        raise SqlValidationError(
            f"table {table!r}: the codec {given!r} needs the package {package!r}",
            hint=f"pip install {package}, or 'avro.codec' = 'deflate'",
        )
    return given


def decode_messages(
    of: BulkTableFormat, reader: AvroDeserializationSchema, values: Sequence[bytes]
) -> Decoded:
    """Return the rows of messages, one by one."""
    convert, rows = record_converter(of.columns), RowsBuilder(of.schema)
    for index, value in enumerate(values):
        try:
            rows.add(index, convert(reader.deserialize(value)))
        except DecodeError as error:
            rows.bad(index, error.message)
    return rows.build(len(values))


@dataclass(frozen=True)
class AvroFiles(ColumnFiles):
    """Reads container files as columns."""

    of: AvroTableFormat

    def read_columns(
        self, path: str, start: int, end: int, extent: int
    ) -> Iterator[Chunk | ColumnChunk]:
        convert, schema = record_converter(self.of.columns), self.of.schema
        for chunk in self._files.read(path, start, end, extent):
            if chunk.values:
                rows = RowsBuilder(schema)
                for index, record in enumerate(chunk.values):
                    rows.add(index, convert(record))
                yield ColumnChunk(rows.build(len(chunk.values)).batch, NAMED_ROWS)
            for _, bad in chunk.bad:
                yield Chunk([], None, [(0, bad)])

    @property
    def has_columns(self) -> bool:
        return True

    @property
    def _files(self) -> AvroFormat:
        return AvroFormat(self.of.schema_text)


@dataclass(frozen=True)
class _AvroFileWriters(BulkWriterFactory):
    of: AvroTableFormat

    def create(self, file: IO[bytes]) -> _AvroFileWriter:
        schema = AvroSchema(self.of.schema_text)
        made: Any = AvroBulkWriters.for_generic_record(schema, codec=self.of.codec).create(file)
        return _AvroFileWriter(self.of, made)


@dataclass
class _AvroFileWriter:
    """Writes rows, of which it takes the columns that are in files by their names."""

    of: AvroTableFormat
    writer: AvroWriter

    def write(self, values: Sequence[Any]) -> None:
        """Add rows."""
        names = [column.name for column in self.of.columns]
        columns: list[Any] = [
            *zip(*(row.get_fields_by_names(names) for row in values), strict=True)
        ]
        self.writer.write(records_of(columns, self.of.columns))

    def finish(self) -> None:
        """Complete the file."""
        self.writer.finish()

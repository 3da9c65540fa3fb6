"""The format that reads rows from CSV files."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import IO, Any

from headrace.common._storage.locations import open_file
from headrace.common.typeinfo import RowTypeInfo
from headrace.common.types import row_of
from headrace.connector import BadRecord, Chunk, ColumnChunk
from headrace.datastream.formats._csv.columns import BOM, CsvColumns, has_columns
from headrace.datastream.formats._csv.fields import field_reader
from headrace.datastream.formats._csv.schema import CsvSchema
from headrace.datastream.formats._file_format import CHUNK_RECORDS
from headrace.datastream.formats._lines import (
    CORRUPT_ERRORS,
    DECODE_ERRORS,
    HeaderError,
    LineDecoder,
    StreamFormat,
    bare_line,
    corrupt_chunk,
    is_compressed,
    line_blocks,
    open_lines,
)
from headrace.errors import PlanError
from headrace.runtime.columns.shapes import NAMED_ROWS


@dataclass(frozen=True)
class CsvReaderFormat(StreamFormat):
    """Reads rows with named fields from CSV files in UTF-8.

    Each line is one row, and large files are split between lines. ``multiline`` allows quoted line
    ends in fields; such files are not split.
    """

    schema: CsvSchema
    multiline: bool = False

    @staticmethod
    def for_schema(schema: CsvSchema, multiline: bool = False) -> CsvReaderFormat:
        """Return the format for files with this schema."""
        if not schema.names:
            raise PlanError("a CSV schema needs columns to read", hint="use add_string_column …")
        return CsvReaderFormat(schema, multiline)

    @property
    def record_type(self) -> RowTypeInfo:
        """The type of the rows, which the schema declares."""
        return self.schema.row_type

    @property
    def header_lines(self) -> int:
        """The number of lines before the first row: the header, and a row that is skipped."""
        return int(self.schema.use_header) + int(self.schema.skip_first_data_row)

    def is_splittable(self, path: str) -> bool:
        """Return False if fields may contain line ends, or the file is compressed."""
        return not self.multiline and not is_compressed(path)

    def decoder(self, header: Sequence[bytes]) -> LineDecoder:
        """Return a function from lines to rows; it skips blank lines, and comments if allowed."""
        to_row = self._row_maker(header)
        options = self.schema.dialect.options()
        comments = self.schema.allow_comments

        def decode(lines: Sequence[bytes]) -> list[Any]:
            texts = [line.decode() for line in lines]
            if comments:
                texts = [text for text in texts if not text.startswith("#")]
            rows = list(csv.reader(texts, **options))
            if len(rows) != len(texts):
                raise ValueError("a quoted field does not end on its line")
            return [to_row(row) for row in rows if row]

        return decode

    def read(self, path: str, start: int, end: int, extent: int) -> Iterator[Chunk]:
        """Yield the rows that start in the range."""
        if not self.multiline:
            yield from super().read(path, start, end, extent)
            return
        with open_lines(path) as file:
            source = _CountedLines(file)
            try:
                yield from self._read_records(path, source)
            except CORRUPT_ERRORS as error:
                yield corrupt_chunk(path, source.offset, error)

    def read_columns(
        self, path: str, start: int, end: int, extent: int
    ) -> Iterator[Chunk | ColumnChunk] | None:
        """Yield the rows that start in the range as columns, or as rows if a block needs it."""
        if not self.is_splittable(path) or not self.has_columns:
            return None
        return self._read_columns(path, start, end, extent)

    @property
    def has_columns(self) -> bool:
        return has_columns(self.schema) and not self.multiline

    def _read_columns(
        self, path: str, start: int, end: int, extent: int
    ) -> Iterator[Chunk | ColumnChunk]:
        with open_file(path) as file:
            header = [file.readline() for _ in range(self.header_lines)]
            bare = [bare_line(line) for line in header]
            try:
                decode, columns = self.decoder(bare), CsvColumns(self.schema, self._names_in(bare))
            except HeaderError:
                yield from self.read(path, start, end, extent)
                return
            if not header:
                file.seek(0)
            first = max(start, sum(map(len, header)))
            for position, block in line_blocks(file, first, end, extent):
                batch = columns.batch(block if position else block.removeprefix(BOM))
                if batch is not None:
                    yield ColumnChunk(batch, NAMED_ROWS)
                else:
                    lines = BytesIO(block).readlines()
                    yield from self.chunks(path, position, lines, decode)

    def _read_records(self, path: str, source: _CountedLines) -> Iterator[Chunk]:
        raw_header = [next(source.lines, b"") for _ in range(self.header_lines)]
        try:
            to_row = self._row_maker([*map(bare_line, raw_header)])
        except HeaderError as error:
            yield Chunk([], None, [(0, BadRecord(raw_header[0], str(error), path, 0))])
            reason = str(error)

            def to_row(row: list[str]) -> Any:
                raise ValueError(reason)

        options, chunk = self.schema.dialect.options(), Chunk([])
        while True:
            offset = source.begin_record()
            try:
                row = next(csv.reader(source.texts(), **options), None)
                if row is None:
                    break
                comment = self.schema.allow_comments and row and row[0].startswith("#")
                if row and not comment:
                    chunk.values.append(to_row(row))
            except DECODE_ERRORS as error:
                bad = BadRecord(bytes(source.record), str(error), path, offset)
                chunk.bad.append((len(chunk.values), bad))
            if len(chunk.values) + len(chunk.bad) >= CHUNK_RECORDS:
                yield chunk
                chunk = Chunk([])
        yield chunk

    def _row_maker(self, header: Sequence[bytes]) -> Callable[[list[str]], Any]:
        schema = self.schema
        # A field may be as long as a record: the module's own limit is 128 KiB.
        csv.field_size_limit(max(csv.field_size_limit(), sys.maxsize))
        columns = self._names_in(header)
        width, at_least = len(columns), schema.allow_more_columns
        reads = [
            (columns.index(name), field_reader(kind, separator, schema.dialect.null))
            for name, kind, separator in zip(
                schema.names, schema.types, schema.separators, strict=True
            )
        ]
        names = schema.names

        def to_row(row: list[str]) -> Any:
            if len(row) != width and not (at_least and len(row) > width):
                raise ValueError(f"{len(row)} fields where {width} were expected")
            return row_of(names, [read(row[index]) for index, read in reads])

        return to_row

    def _names_in(self, header: Sequence[bytes]) -> list[str]:
        """Return the columns of the file, in order."""
        schema = self.schema
        return self._header_columns(header[0]) if schema.use_header else list(schema.names)

    def _header_columns(self, header: bytes) -> list[str]:
        names = self.schema.names
        try:
            row = next(csv.reader([header.decode()], **self.schema.dialect.options()), [])
        except DECODE_ERRORS as error:
            raise HeaderError(f"the header cannot be decoded: {error}") from error
        columns = [column.strip() for column in row]
        if self.schema.strict_headers and columns != list(names):
            raise HeaderError(f"the header is {columns}, where {list(names)} was expected")
        missing = [name for name in names if name not in columns]
        if missing:
            raise HeaderError(f"the header {columns} lacks {missing[0]!r}")
        return columns


class _CountedLines:
    """The lines of a file; it knows where the current record began."""

    def __init__(self, file: IO[bytes]) -> None:
        self.offset = 0
        self.record = bytearray()
        self.lines = self._count(file)

    def begin_record(self) -> int:
        self.record = bytearray()
        return self.offset

    def texts(self) -> Iterator[str]:
        for line in self.lines:
            self.record += line
            yield line.decode()

    def _count(self, file: IO[bytes]) -> Iterator[bytes]:
        for line in file:
            self.offset += len(line)
            yield line

"""Files in which each line is a value of a format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.connector import BadRecord, Chunk, ColumnChunk
from headrace.datastream.formats._csv.columns import BOM
from headrace.datastream.formats._file_format import FileFormat, FileStats
from headrace.datastream.formats._lines import (
    CORRUPT_ERRORS,
    LineDecoder,
    StreamFormat,
    corrupt_chunk,
    is_compressed,
    line_blocks,
    line_runs,
    open_lines,
    shorter,
)
from headrace.table._connectors.chunks import as_rows, chunks_of
from headrace.table._connectors.filesystem.file_columns import FileColumns
from headrace.table._formats.format import TableFormat, split_lines


@dataclass(frozen=True)
class TableLines(StreamFormat):
    """Reads the lines of files as columns of a table."""

    format: TableFormat
    extra: FileColumns

    @property
    def bad_record_hint(self) -> str | None:
        return self.format.bad_value_hint

    def decoder(self, header: Sequence[bytes]) -> LineDecoder:
        """Return a decoder of lines to rows; it is not used by this class."""
        raise NotImplementedError

    def read(self, path: str, start: int, end: int, extent: int) -> Iterator[Chunk]:
        """Yield the rows of the lines that start in the range."""
        return as_rows(self._chunks(path, start, end, extent))

    def read_columns(
        self, path: str, start: int, end: int, extent: int
    ) -> Iterator[Chunk | ColumnChunk]:
        """Yield the rows of the lines that start in the range, as columns."""
        return self._chunks(path, start, end, extent)

    @property
    def has_columns(self) -> bool:
        return True

    def _chunks(
        self, path: str, start: int, end: int, extent: int
    ) -> Iterator[Chunk | ColumnChunk]:
        complete, position = self.extra.for_file(path), start
        with open_lines(path) as file:
            try:
                for position, block in self._blocks(file, path, start, end, extent):
                    decoded = self.format.decode_lines(block)
                    yield from chunks_of(
                        decoded, _BadLines(path, position, block), complete(decoded.batch)
                    )
            except CORRUPT_ERRORS as error:
                if not is_compressed(path) or isinstance(error, FileNotFoundError):
                    raise
                yield corrupt_chunk(path, position, error)

    def _blocks(
        self, file: Any, path: str, start: int, end: int, extent: int
    ) -> Iterator[tuple[int, bytes]]:
        """Yield blocks of lines with their positions; a value is in one of them."""
        if is_compressed(path):
            runs = line_runs(file, start, None, None)
            blocks: Iterator[tuple[int, bytes]] = (
                (position, b"".join(lines)) for position, lines in runs
            )
        else:
            blocks = line_blocks(file, start, end, extent)
        waiting: list[bytes] = []
        began = start
        for position, block in blocks:
            if position == 0 and block.startswith(BOM):
                position, block = len(BOM), block.removeprefix(BOM)
            is_open = self.format.is_open(block, bool(waiting))
            if not waiting:
                began = position
            waiting.append(block)
            if not is_open:
                yield began, b"".join(waiting)
                waiting = []
        if waiting:
            yield began, b"".join(waiting)

    def align(self, path: str, position: int, extent: int, start: int = 0) -> int:
        if not self.format.may_span_lines or position >= extent:
            return super().align(path, position, extent, start)
        (found,) = self._starts(path, start, [position], extent)
        return found

    def cuts(self, path: str, start: int, end: int, max_range_bytes: int) -> Sequence[int]:
        wanted = super().cuts(path, start, end, max_range_bytes)
        if not self.format.may_span_lines:
            return wanted
        found = dict.fromkeys(self._starts(path, start, wanted, end))
        return [position for position in found if start < position < end]

    def _starts(self, path: str, start: int, wanted: Sequence[int], extent: int) -> Iterator[int]:
        """Yield the first start of a value at or after each position.

        At ``start`` a value begins. Where the next one begins is only known from all lines between.
        """
        position, opened = start, False
        with open_lines(path) as file:
            for each in wanted:
                for at, block in line_blocks(file, position, min(each, extent), extent):
                    text = block.removeprefix(BOM) if at == 0 else block
                    opened = self.format.is_open(text, opened)
                    position = at + len(block)
                file.seek(position)
                while opened and position < extent:
                    line = file.readline()
                    if not line:
                        raise shorter(file, position, extent)
                    opened = self.format.is_open(line, opened)
                    position += len(line)
                yield min(position, extent)


@dataclass
class _BadLines:
    """Finds the bad lines of a block, in ascending order, and their positions."""

    path: str
    position: int
    block: bytes
    _index: int = 0
    """The last line that was found."""
    _at: int = 0
    """Where it begins in the block."""

    def __call__(self, index: int, reason: str) -> BadRecord:
        for _ in range(index - self._index):
            self._at = self.block.index(b"\n", self._at) + 1
        self._index, at = index, self._at
        end = self.block.find(b"\n", at)
        (line,) = split_lines(self.block[at : end if end >= 0 else None] + b"\n")
        return BadRecord(line, reason, self.path, self.position + at)


@dataclass(frozen=True)
class CompletedFiles(FileFormat):
    """Adds the columns of a table that are not in its files to those that another format reads."""

    files: FileFormat
    extra: FileColumns

    @property
    def bad_record_hint(self) -> str | None:
        return None

    def measure(self, path: str, extent: int | None = None) -> FileStats:
        return self.files.measure(path, extent)

    def cuts(self, path: str, start: int, end: int, max_range_bytes: int) -> Sequence[int]:
        return self.files.cuts(path, start, end, max_range_bytes)

    def align(self, path: str, position: int, extent: int, start: int = 0) -> int:
        return self.files.align(path, position, extent, start)

    def for_reader(self) -> FileFormat:
        return replace(self, files=self.files.for_reader())

    def close(self) -> None:
        self.files.close()

    def read(self, path: str, start: int, end: int, extent: int) -> Iterator[Chunk]:
        return as_rows(self.read_columns(path, start, end, extent))

    def read_columns(
        self, path: str, start: int, end: int, extent: int
    ) -> Iterator[Chunk | ColumnChunk]:
        complete = self.extra.for_file(path)
        for chunk in self.files.read_columns(path, start, end, extent) or ():
            if isinstance(chunk, Chunk):
                yield chunk
            else:
                yield replace(chunk, batch=complete(chunk.batch))

    @property
    def has_columns(self) -> bool:
        return True

"""Formats in which each line is a record: text, raw bytes, JSON."""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import os
import zlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, ClassVar, cast

from headrace.common._storage.locations import is_url, open_file, stat_file
from headrace.connector import BadRecord, Chunk
from headrace.datastream.formats._file_format import CHUNK_RECORDS, FileFormat, FileStats
from headrace.datastream.formats._json_text import json_parser, parse_all
from headrace.errors import JobError, PlanError

RUN_BYTES = 1 << 18
BLOCK_BYTES = 1 << 20
SAMPLE_BYTES = 1 << 16
ASSUMED_LINE_BYTES = 100.0
ASSUMED_COMPRESSION = 4.0

DECODE_ERRORS = (ValueError, ArithmeticError, csv.Error, RecursionError)
"""The errors of a decoder that its input causes. Others are faults of the program."""

CORRUPT_ERRORS = (OSError, EOFError, zlib.error, lzma.LZMAError)

_OPENERS: dict[str, Callable[[Any], Any]] = {
    ".gz": gzip.open,
    ".gzip": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
_BOM = b"\xef\xbb\xbf"

LineDecoder = Callable[[Sequence[bytes]], list[Any]]
"""Lines without their ends to their values, in order; a line that holds none may be left out.

Raises one of ``DECODE_ERRORS`` if any of them is bad: then it is asked line by line.
"""


class HeaderError(Exception):
    """A file's header does not fit the schema; nothing in the file can be decoded."""


def is_compressed(path: str) -> bool:
    """Return whether the file is decompressed while it is read, so it cannot be split."""
    return os.path.splitext(path)[1].lower() in _OPENERS


def open_lines(path: str) -> IO[bytes]:
    """Open the file; it is decompressed if its name ends in .gz, .gzip, .bz2 or .xz."""
    # A missing file must not look like a corrupt one, so it is opened without decompression first.
    plain = open_file(path)
    opener = _OPENERS.get(os.path.splitext(path)[1].lower())
    if opener is None:
        return plain
    if is_url(path):
        return cast("IO[bytes]", opener(plain))
    plain.close()
    return cast("IO[bytes]", opener(path))


def without_end(line: bytes) -> bytes:
    r"""Return the line without its ``\n`` or ``\r\n``."""
    return line[:-2] if line[-2:] == b"\r\n" else line.rstrip(b"\n")


def line_runs(
    file: IO[bytes], start: int, end: int | None, extent: int | None
) -> Iterator[tuple[int, list[bytes]]]:
    """Runs of lines that start in ``[start, end)``, each with the byte offset of its first line.

    Lines keep their ends. ``end`` None: up to the end of the file. A line that crosses ``extent``
    is cut there, as data appended after the file was listed is not read.
    """
    position = _first_line(file, start, end)
    while end is None or position < end:
        # readlines(hint) stops after the line that exceeds the hint: it starts before end. A hint
        # of 0 would mean no limit.
        hint = RUN_BYTES if end is None else min(RUN_BYTES, end - position - 1)
        lines = file.readlines(hint) if hint else [line for line in (file.readline(),) if line]
        if not lines:
            if end is not None:
                raise shorter(file, position, end)
            return
        after = position + sum(map(len, lines))
        if extent is not None and after > extent:
            lines[-1] = lines[-1][: extent - after]
        yield position, lines
        position = after


def line_blocks(file: IO[bytes], start: int, end: int, extent: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of ``line_runs`` as larger blocks of bytes."""
    position = _first_line(file, start, end)
    while position < end:
        block = file.read(min(BLOCK_BYTES, end - position))
        if not block:
            raise shorter(file, position, end)
        if not block.endswith(b"\n"):
            block += file.readline()
        after = position + len(block)
        yield position, block if after <= extent else block[: extent - position]
        position = after


def shorter(file: IO[bytes], position: int, end: int) -> JobError:
    """Return the error for a file that ends before ``end``, up to which it was listed."""
    return JobError(
        f"a file ends at byte {position}, and had at least {end} bytes when it was listed",
        where={"file": str(getattr(file, "name", ""))},
        hint="do not change input files; move complete files into the folder",
    )


def _first_line(file: IO[bytes], start: int, end: int | None) -> int:
    """Seek to the first line that starts at or after ``start``; returns its offset."""
    if start == 0:
        return 0
    file.seek(start - 1)
    # The line with the byte before start belongs to the previous range. If it covers all of
    # this range, its end does not matter.
    return start - 1 + len(file.readline(-1 if end is None else end - start + 1))


class StreamFormat(FileFormat):
    """Reads one record from each line; lines end in LF or CR LF.

    Files whose name ends in .gz, .bz2 or .xz are decompressed, and are not split; other files can
    be split anywhere. Custom formats inherit from this class and define ``decoder``.
    """

    skips_blank_lines: ClassVar[bool] = False
    strips_bom: ClassVar[bool] = True

    @property
    def header_lines(self) -> int:
        """The number of lines at the beginning of a file that are not records."""
        return 0

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat:
        """Return a format that reads each line as a ``str``.

        Lines that are not valid in the charset are bad records.
        """
        return TextLineFormat(charset_name)

    @staticmethod
    def bytes_line_format(with_position: bool = False) -> StreamFormat:
        """Return a format that reads lines as ``bytes``.

        With ``with_position``, records are (bytes, path, byte offset of the line).
        """
        return BytesLineFormat(with_position)

    @staticmethod
    def json_lines_format(decimal: bool = False) -> StreamFormat:
        """Return a format that reads each line as a ``dict``.

        ``decimal`` reads numbers with a fraction as ``Decimal``.
        """
        return JsonLinesFormat(decimal)

    @abstractmethod
    def decoder(self, header: Sequence[bytes]) -> LineDecoder:
        """Return a decoder for a file whose first ``header_lines`` lines are ``header``.

        Raises:
            HeaderError: lines cannot be decoded with this header.
        """

    def is_splittable(self, path: str) -> bool:
        """Return whether this file can be split."""
        return not is_compressed(path)

    def measure(self, path: str, extent: int | None = None) -> FileStats:
        """Return the size in bytes, and the mean line length in the first bytes of the file."""
        if extent is None:
            extent = stat_file(path).size_bytes
        if is_compressed(path):
            return FileStats(
                extent, ASSUMED_LINE_BYTES / ASSUMED_COMPRESSION, 1.0, splittable=False
            )
        with open_file(path) as file:
            sample = file.read(min(SAMPLE_BYTES, extent))
        lines = sample.count(b"\n")
        mean = len(sample) / lines if lines else max(float(len(sample)), 1.0)
        return FileStats(extent, mean, 1.0, splittable=self.is_splittable(path))

    def align(self, path: str, position: int, extent: int, start: int = 0) -> int:
        """Return the first line start at or after ``position``, at most ``extent``."""
        if position <= 0 or position >= extent:
            return min(position, extent)
        with open_file(path) as file:
            file.seek(position - 1)
            at = position - 1
            while at < extent and (block := file.read(RUN_BYTES)):
                found = block.find(b"\n")
                if found >= 0:
                    return min(at + found + 1, extent)
                at += len(block)
        return extent

    def cuts(self, path: str, start: int, end: int, max_range_bytes: int) -> Sequence[int]:
        """Return a position every ``max_range_bytes``.

        A range has the lines that start in it, so any position is possible.
        """
        if not self.is_splittable(path):
            return ()
        return range(start + max_range_bytes, end, max_range_bytes)

    def read(self, path: str, start: int, end: int, extent: int) -> Iterator[Chunk]:
        """Yield the decoded lines that start in the range; bad ones have their byte offset.

        If the header is wrong, it is reported as bad once per file, and all lines are bad.
        """
        packed = is_compressed(path)
        position = start
        with open_lines(path) as file:
            try:
                header = [file.readline() for _ in range(self.header_lines)]
                try:
                    decode = self.decoder([bare_line(line) for line in header])
                except HeaderError as error:
                    decode = refusing(error)
                    if start == 0:
                        yield Chunk([], None, [(0, BadRecord(header[0], str(error), path, 0))])
                first = max(start, sum(map(len, header)))
                if not header:
                    file.seek(0)
                limits = (None, None) if packed else (end, extent)
                for position, lines in line_runs(file, first, *limits):
                    yield from self.chunks(path, position, lines, decode)
            except CORRUPT_ERRORS as error:
                if not packed:
                    raise
                yield corrupt_chunk(path, position, error)

    def chunks(
        self, path: str, offset: int, lines: list[bytes], decode: LineDecoder
    ) -> Iterator[Chunk]:
        """Yield chunks of records from lines (with their ends); the first is at ``offset``."""
        if offset == 0 and self.strips_bom:
            bare = _without_bom(lines[0])
            offset, lines[0] = len(lines[0]) - len(bare), bare
        for at in range(0, len(lines), CHUNK_RECORDS):
            run = lines[at : at + CHUNK_RECORDS]
            yield self.chunk(path, offset, run, decode)
            offset += sum(map(len, run))

    def chunk(self, path: str, offset: int, lines: Sequence[bytes], decode: LineDecoder) -> Chunk:
        """Return a chunk of records from lines (with their ends); the first is at ``offset``."""
        bare = [without_end(line) for line in lines]
        try:
            return Chunk(decode(bare))
        except DECODE_ERRORS:
            return self._line_by_line(path, offset, lines, bare, decode)

    def _line_by_line(
        self,
        path: str,
        offset: int,
        lines: Sequence[bytes],
        bare: Sequence[bytes],
        decode: LineDecoder,
    ) -> Chunk:
        chunk = Chunk([])
        for line, text in zip(lines, bare, strict=True):
            if not self.skips_blank_lines or text.strip():
                try:
                    chunk.values.extend(decode((text,)))
                except DECODE_ERRORS as error:
                    bad = BadRecord(text, _describe_error(error), path, offset)
                    chunk.bad.append((len(chunk.values), bad))
            offset += len(line)
        return chunk


def corrupt_chunk(path: str, position: int, error: BaseException) -> Chunk:
    """Return the chunk for the rest of a file that cannot be decompressed."""
    bad = BadRecord(b"", f"the file is corrupt: {_describe_error(error)}", path, position)
    return Chunk([], None, [(0, bad)])


def bare_line(line: bytes) -> bytes:
    """Return a file's first line, without its end and byte order mark."""
    return without_end(_without_bom(line))


def refusing(error: HeaderError) -> LineDecoder:
    """Return a decoder for a file with a wrong header: every line that is not blank is bad."""

    def decode(lines: Sequence[bytes]) -> list[Any]:
        if any(line.strip() for line in lines):
            raise ValueError(str(error))
        return []

    return decode


def _without_bom(line: bytes) -> bytes:
    return line.removeprefix(_BOM)


def _describe_error(error: BaseException) -> str:
    return str(error) or type(error).__name__


@dataclass(frozen=True)
class TextLineFormat(StreamFormat):
    """Each line as a ``str``."""

    charset_name: str = "UTF-8"
    strips_bom = False

    def __post_init__(self) -> None:
        try:
            ascii_like = "\n".encode(self.charset_name) == b"\n"
        except LookupError as error:
            raise PlanError(f"there is no charset {self.charset_name!r}") from error
        if not ascii_like:
            raise PlanError(
                f"lines cannot be found in {self.charset_name}",
                hint="use a charset in which LF is the byte 0x0A, as in UTF-8 or ISO-8859-1",
            )

    def decoder(self, header: Sequence[bytes]) -> LineDecoder:
        """Return a decoder of lines to strings."""
        charset = self.charset_name
        return lambda lines: [line.decode(charset) for line in lines]


@dataclass(frozen=True)
class BytesLineFormat(StreamFormat):
    """Each line as bytes, or as (bytes, path, byte offset); no line is bad."""

    with_position: bool = False
    strips_bom = False

    def decoder(self, header: Sequence[bytes]) -> LineDecoder:
        """Return a decoder that leaves lines unchanged."""
        return list

    def chunk(self, path: str, offset: int, lines: Sequence[bytes], decode: LineDecoder) -> Chunk:
        """Return the lines without their ends; with path and offset if configured."""
        if not self.with_position:
            return Chunk([without_end(line) for line in lines])
        values = []
        for line in lines:
            values.append((without_end(line), path, offset))
            offset += len(line)
        return Chunk(values)


@dataclass(frozen=True)
class JsonLinesFormat(StreamFormat):
    """Reads each line as a JSON object (RFC 8259, so without NaN); blank lines are skipped."""

    decimal: bool = False
    skips_blank_lines = True

    def decoder(self, header: Sequence[bytes]) -> LineDecoder:
        """Return a function from lines to dictionaries."""
        exact = json_parser(decimal=True)

        def decode(lines: Sequence[bytes]) -> list[Any]:
            values = [exact(line.decode()) for line in lines] if self.decimal else parse_all(lines)
            for value in values:
                if type(value) is not dict:
                    raise ValueError(f"a JSON object was expected, not {type(value).__name__}")
            return values

        return decode

"""Avro container files: read in ranges of records, and written.

The layout is the specification's: a header (magic bytes, a map with the schema and the codec, a
sync marker of 16 bytes), then blocks: the number of records, the number of bytes, the bytes, the
sync marker. The positions of blocks can be found without decompressing them.
"""

from __future__ import annotations

import json
import lzma
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import IO, Any

from headrace.common._extras import fastavro
from headrace.common._storage.locations import open_file, stat_file
from headrace.common.io import InputFormat
from headrace.common.serialization import BulkWriterFactory
from headrace.connector import BadRecord, Chunk
from headrace.datastream.formats._avro.classes import RecordType
from headrace.datastream.formats._avro.coding import (
    MISFITS,
    TAGGED,
    UNREADABLE,
    misfit,
    preparation,
    unreadable,
)
from headrace.datastream.formats._avro.nodes import Mismatch, parsed
from headrace.datastream.formats._avro.resolution import Resolution, reason, resolve
from headrace.datastream.formats._avro.schema import AvroSchema, check_class, schema_of
from headrace.datastream.formats._avro.types import GenericRecordAvroTypeInfo
from headrace.datastream.formats._class_hints import all_hints, remember
from headrace.datastream.formats._file_format import CHUNK_RECORDS, BulkFormat, FileStats
from headrace.errors import DecodeError, HeadraceError, PlanError

CODECS = ("null", "deflate", "bzip2", "xz", "snappy", "zstandard", "lz4")


@dataclass(frozen=True)
class AvroFormat(BulkFormat):
    """Reads records from Avro container files; a position is the number of a record.

    ``schema`` is the reader's schema, to which all records are converted; None keeps each file's
    schema. ``into`` is the class of records: dict, ``Row`` or a dataclass. Files are split between
    blocks. ``generic``: dicts as PyFlink's generic records.
    """

    schema: AvroSchema | None = None
    into: Any = dict
    generic: bool = False

    def __init__(self, schema: Any = None, into: Any = None, generic: bool = False) -> None:
        if into is None:
            into = schema if isinstance(schema, type) else dict
        found = None if schema is None else schema_of(schema)
        RecordType.of(into)
        if found is not None:
            check_class(into, found)
        fastavro()
        object.__setattr__(self, "schema", found)
        object.__setattr__(self, "into", into)
        object.__setattr__(self, "generic", generic)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_hints": all_hints(self.into)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        remember(state.pop("_hints"))
        self.__dict__.update(state)

    def measure(self, path: str, extent: int | None = None) -> FileStats:
        """Count the records of a file by reading only its block headers; ``extent`` is not used.

        Raises:
            DecodeError: the file is not an Avro file.
        """
        blocks = _get_blocks(path)
        records = blocks.records
        size_bytes = sum(blocks.sizes)
        return FileStats(records, 1.0, max(size_bytes / records, 1.0) if records else 1.0)

    def cuts(self, path: str, start: int, end: int, max_range_bytes: int) -> Sequence[int]:
        """Return the first records of blocks at which the range can be split."""
        cuts: list[int] = []
        taken_bytes = 0
        blocks = _get_blocks(path)
        for first, size_bytes in zip(blocks.firsts, blocks.sizes, strict=True):
            if start < first < end and taken_bytes >= max_range_bytes:
                cuts.append(first)
                taken_bytes = 0
            taken_bytes += size_bytes if first >= start else 0
        return cuts

    def read(self, path: str, start: int, end: int, extent: int) -> Iterator[Chunk]:
        """Yield the records of the range; a damaged block yields one bad record."""
        blocks = _get_blocks(path)
        with open_file(path) as file:
            avro = AvroFile(file)
            try:
                found = self._resolve_schemas(AvroSchema(avro.schema))
            except (Mismatch, PlanError) as error:
                why = reason(error) if isinstance(error, Mismatch) else error.message
                text = f"the file's schema does not match the reader's: {why}"
                yield Chunk([], None, [(0, BadRecord(b"", text, path, start))])
                return
            head = avro.make_header(found.layout)
            for block_index in blocks.indexes_between(start, end):
                first, fault = blocks.firsts[block_index], blocks.fault_of(block_index)
                data = head + avro.read_block(blocks, block_index)
                yield from _read_block_records(data, found, first, (start, end), path, fault)

    def _resolve_schemas(self, writer: AvroSchema) -> Resolution:
        return resolve(writer, self.schema or writer, RecordType(self.into, generic=self.generic))


def _read_block_records(
    data: bytes, found: Resolution, row: int, limits: tuple[int, int], path: str, fault: str
) -> Iterator[Chunk]:
    """Yield the records of a block that lie within the limits.

    ``data`` is a file of this block alone.

    ``row``: the number of its first record. ``fault``: why the block is damaged, or empty.
    """
    chunk, convert = Chunk([]), found.convert
    try:
        if fault:
            raise DecodeError(fault)
        for value in fastavro().reader(BytesIO(data), **(TAGGED if found.tagged else {})):
            if limits[0] <= row < limits[1]:
                try:
                    chunk.values.append(value if convert is None else convert(value))
                except (*UNREADABLE, HeadraceError) as error:
                    bad = BadRecord(repr(value).encode(), _describe_fault(error), path, row)
                    chunk.bad.append((len(chunk.values), bad))
            row += 1
            if len(chunk.values) >= CHUNK_RECORDS:
                yield chunk
                chunk = Chunk([])
    except (*UNREADABLE, *_CORRUPT, DecodeError) as error:
        if limits[0] <= row < limits[1]:
            bad = BadRecord(b"", f"the file is corrupt: {_describe_fault(error)}", path, row)
            chunk.bad.append((len(chunk.values), bad))
    if chunk.values or chunk.bad:
        yield chunk


def _describe_fault(error: BaseException) -> str:
    if isinstance(error, DecodeError):
        return reason(error)
    return unreadable(error)


_CORRUPT = (OSError, zlib.error, lzma.LZMAError)


def _get_blocks(path: str) -> Blocks:
    """Return the blocks of a file; cached.

    Raises:
        DecodeError: the file is not an Avro file.
    """
    status = stat_file(path)
    try:
        return _read_blocks(path, status.size_bytes, status.mtime_ms)
    except NotAvroError as error:
        raise DecodeError(f"{path!r} is no Avro file: {error}", where={"file": path}) from error


@lru_cache(maxsize=64)
def _read_blocks(path: str, size_bytes: int, modified_ms: int) -> Blocks:
    with open_file(path) as file:
        return AvroFile(file).scan_blocks(size_bytes)


class AvroInputFormat(InputFormat):
    """Reads dicts from Avro container files, for ``StreamExecutionEnvironment.create_input``.

    Files with another schema are converted to the given one.
    """

    def __init__(self, path: str, schema: AvroSchema) -> None:
        self._path, self._schema = path, schema_of(schema)

    def get_produced_type(self) -> GenericRecordAvroTypeInfo:
        """Return the type of the records."""
        return GenericRecordAvroTypeInfo(self._schema)

    def files(self) -> tuple[AvroFormat, str]:
        """Return the format, and the path of its files."""
        return AvroFormat(self._schema, generic=True), self._path


class AvroBulkWriters:
    """Makes Avro writers for ``FileSink.for_bulk_format``."""

    @staticmethod
    def for_generic_record(schema: AvroSchema, *, codec: str = "null") -> AvroWriterFactory:
        """Return a writer of dicts, dataclasses or rows that fit the schema.

        ``codec`` compresses blocks: ``null`` (not at all, as in Flink), ``deflate``, ``bzip2``,
        ``xz``, or with further packages ``snappy``, ``zstandard``, ``lz4``.
        """
        if codec not in CODECS:
            raise PlanError(f"there is no codec {codec!r}", hint=f"use one of {', '.join(CODECS)}")
        return AvroWriterFactory(schema_of(schema), codec)


@dataclass(frozen=True)
class AvroWriterFactory(BulkWriterFactory):
    """Writes records as Avro."""

    schema: AvroSchema
    codec: str = "null"

    def create(self, file: IO[bytes]) -> AvroWriter:
        """Return a writer into an open file.

        Raises:
            PlanError: the codec needs a package that is not installed.
        """
        return AvroWriter(self.schema, self.codec, file)


class AvroWriter:
    """Writes records into one file, block by block."""

    def __init__(self, schema: AvroSchema, codec: str, file: IO[bytes]) -> None:
        self._schema, self._prepare = schema, preparation(schema)
        try:
            self._writer = fastavro("write").Writer(file, parsed(schema.text)[0], codec)
        except ValueError as error:
            raise PlanError(f"the codec {codec!r} cannot be used: {error}") from error

    def write(self, values: Sequence[Any]) -> None:
        """Add records to the file.

        Raises:
            TypeMismatchError: a record does not fit the schema.
        """
        prepare, write = self._prepare, self._writer.write
        value = None
        try:
            for value in values:
                write(value if prepare is None else prepare(value))
        except MISFITS as error:
            raise misfit(self._schema, value, error) from error

    def finish(self) -> None:
        """Complete the file; the caller closes it."""
        self._writer.flush()


MAGIC = b"Obj\x01"
MARKER_BYTES = 16

_META = {"type": "map", "values": "bytes"}


class NotAvroError(Exception):
    """A file without the header of an Avro file."""


@dataclass(frozen=True)
class Blocks:
    """The blocks of a file.

    One entry per block: ``firsts`` (the number of its first record), ``offsets`` and ``sizes``
    (bytes). ``fault``: why the rest of the file is no block. The rest is then the last entry, and
    counts as one record.
    """

    firsts: Sequence[int]
    offsets: Sequence[int]
    sizes: Sequence[int]
    records: int
    fault: str = ""

    def indexes_between(self, start: int, end: int) -> range:
        """Return the blocks with records from ``start`` up to ``end``."""
        if start >= end:
            return range(0)
        return range(bisect_right(self.firsts, start) - 1, bisect_left(self.firsts, end))

    def fault_of(self, block_index: int) -> str:
        """Return why a block is damaged, as far as its header shows; otherwise an empty text."""
        return self.fault if block_index == len(self.firsts) - 1 else ""


class AvroFile:
    """An open container file.

    Raises:
        NotAvroError: it has no header.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        if file.read(len(MAGIC)) != MAGIC:
            raise NotAvroError("it does not begin with Obj and 1")
        try:
            meta: dict[str, bytes] = fastavro().schemaless_reader(file, _META, None)
            self.schema = meta["avro.schema"].decode()
        except (EOFError, LookupError, ValueError, TypeError) as error:
            raise NotAvroError(f"its head cannot be read ({type(error).__name__})") from error
        self._codec = meta.get("avro.codec", b"null")
        self._marker = file.read(MARKER_BYTES)
        self._body = file.tell()

    def scan_blocks(self, size_bytes: int) -> Blocks:
        """Return the blocks, up to the first fault."""
        file, offset = self._file, self._body
        firsts: list[int] = []
        offsets: list[int] = []
        sizes: list[int] = []
        records, fault = 0, ""
        while offset < size_bytes:
            file.seek(offset)
            found = self._read_block_header(size_bytes)
            if isinstance(found, str):
                fault, count, after = found, 1, size_bytes
            else:
                count, after = found
            if count:
                firsts.append(records)
                offsets.append(offset)
                sizes.append(after - offset)
            records += count
            offset = after
        return Blocks(firsts, offsets, sizes, records, fault)

    def _read_block_header(self, size_bytes: int) -> tuple[int, int] | str:
        """Return a block's number of records and its end, or the reason why it is damaged."""
        try:
            count, length = _read_varint(self._file), _read_varint(self._file)
        except EOFError:
            return "the last block is truncated"
        after = self._file.tell() + length + MARKER_BYTES
        if count < 0 or length < 0:
            return "a block has no valid head"
        if after > size_bytes:
            return "the last block is truncated"
        self._file.seek(after - MARKER_BYTES)
        if self._file.read(MARKER_BYTES) != self._marker:
            return "a block does not end with the file's marker"
        return count, after

    def make_header(self, layout: Any) -> bytes:
        """Return a file header whose schema is replaced by ``layout``."""
        head = BytesIO()
        meta = {"avro.schema": json.dumps(layout).encode(), "avro.codec": self._codec}
        head.write(MAGIC)
        fastavro().schemaless_writer(head, _META, meta)
        return head.getvalue() + self._marker

    def read_block(self, blocks: Blocks, block_index: int) -> bytes:
        """Return the bytes of one block."""
        self._file.seek(blocks.offsets[block_index])
        return self._file.read(blocks.sizes[block_index])


def _read_varint(file: IO[bytes]) -> int:
    """Return a number in Avro's zigzag encoding."""
    value = shift = 0
    while True:
        byte = file.read(1)
        if not byte or shift > 63:
            raise EOFError
        value |= (byte[0] & 0x7F) << shift
        shift += 7
        if byte[0] < 0x80:
            return (value >> 1) ^ -(value & 1)

"""Where the blocks of an Avro container file lie, without unpacking any.

The layout is the specification's: a head (magic bytes, a map with the schema and the codec, a
marker of 16 bytes), then blocks: the number of records, the number of bytes, the bytes, the marker
again.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import IO, Any

from headrace.datastream._extras import fastavro

MAGIC = b"Obj\x01"
MARKER_BYTES = 16

_META = {"type": "map", "values": "bytes"}


class NotAvroError(Exception):
    """A file without the head of an Avro file."""


@dataclass(frozen=True)
class Blocks:
    """The blocks of a file.

    Shapes: one entry per block: ``firsts`` (the number of its first record), ``offsets`` and
    ``sizes`` (bytes). ``fault`` says why the rest of the file is no block; that rest is the last
    entry, and counts as one record.
    """

    firsts: Sequence[int]
    offsets: Sequence[int]
    sizes: Sequence[int]
    records: int
    fault: str = ""

    def between(self, start: int, end: int) -> range:
        """The blocks with records from ``start`` up to ``end``."""
        if start >= end:
            return range(0)
        return range(bisect_right(self.firsts, start) - 1, bisect_left(self.firsts, end))

    def fault_of(self, number: int) -> str:
        """What is wrong with a block; empty: nothing that its head would show."""
        return self.fault if number == len(self.firsts) - 1 else ""


class AvroFile:
    """An open container file.

    Raises:
        NotAvroError: it has no head.
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

    def blocks(self, size_bytes: int) -> Blocks:
        """The blocks, up to the first fault."""
        file, offset = self._file, self._body
        firsts: list[int] = []
        offsets: list[int] = []
        sizes: list[int] = []
        records, fault = 0, ""
        while offset < size_bytes:
            file.seek(offset)
            found = self._block_head(size_bytes)
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

    def _block_head(self, size_bytes: int) -> tuple[int, int] | str:
        """The records of the block that begins here and where it ends, or what is wrong with it."""
        try:
            count, length = _varint(self._file), _varint(self._file)
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

    def head(self, layout: Any) -> bytes:
        """The head of a file whose schema is the layout to read by."""
        head = BytesIO()
        meta = {"avro.schema": json.dumps(layout).encode(), "avro.codec": self._codec}
        head.write(MAGIC)
        fastavro().schemaless_writer(head, _META, meta)
        return head.getvalue() + self._marker

    def block(self, blocks: Blocks, number: int) -> bytes:
        """The bytes of one block."""
        self._file.seek(blocks.offsets[number])
        return self._file.read(blocks.sizes[number])


def _varint(file: IO[bytes]) -> int:
    """A number in Avro's zigzag form."""
    value = shift = 0
    while True:
        byte = file.read(1)
        if not byte or shift > 63:
            raise EOFError
        value |= (byte[0] & 0x7F) << shift
        shift += 7
        if byte[0] < 0x80:
            return (value >> 1) ^ -(value & 1)

"""Packets: the envelopes that one task sends to one partition, as one byte string.

A packet has the encoded envelopes one after another, and an index at its end. A reader decodes
payloads only when they are used, from the packet's memory. A task that only forwards a packet does
not decode it.

Blocks of columns that are slices of the same columns share one Arrow message: a message costs as
much as some thousand rows, and a key group often has fewer.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol

from headrace.runtime.block import (
    Block,
    Envelope,
    Kind,
    decode,
    encode_into,
    from_plain_tuple,
    to_plain_tuple,
)

if TYPE_CHECKING:
    from headrace.runtime.columns.batch import Columns

_TRAILER_BYTES = 8
"""The last bytes of a packet are the position of its index."""

_ALIGNMENT_BYTES = 64
"""Arrow reads messages fastest if they start at a multiple of this."""


class Content(Protocol):
    """The bytes of a packet, in memory or in a file."""

    def view(self) -> memoryview:
        """Return the bytes, read-only."""


class MemoryContent:
    """Bytes in memory."""

    __slots__ = ("_view",)

    def __init__(self, data: bytes) -> None:
        self._view = memoryview(data)

    def view(self) -> memoryview:
        """Return the bytes, read-only."""
        return self._view


class EncodedPayload:
    """An encoded payload: a part of a packet's bytes."""

    __slots__ = ("_content", "_start", "_stop")

    def __init__(self, content: Content, start: int, stop: int) -> None:
        self._content, self._start, self._stop = content, start, stop

    @property
    def size_bytes(self) -> int:
        """The size of the payload."""
        return self._stop - self._start

    def view(self) -> memoryview:
        """Return the payload's bytes, read-only."""
        return self._content.view()[self._start : self._stop]

    def payload(self, kind: int) -> Any:
        """Decode the payload of an envelope of this kind."""
        data = self.view()
        return decode(data) if kind == Kind.DATA else pickle.loads(data)


class ArrowMessage:
    """The rows of several blocks in one Arrow message, which is decoded at the first access."""

    __slots__ = ("_columns", "_content", "_decode_arguments", "_start", "_stop")

    def __init__(self, content: Content, start: int, stop: int, *decode_arguments: Any) -> None:
        self._content, self._start, self._stop, self._decode_arguments = (
            content,
            start,
            stop,
            decode_arguments,
        )
        self._columns: Columns | None = None

    @property
    def size_bytes(self) -> int:
        """The size of the message."""
        return self._stop - self._start

    def columns(self) -> Columns:
        """Return the rows, which use the packet's memory."""
        if self._columns is None:
            import pyarrow as pa

            from headrace.runtime.columns.batch import from_buffer

            data = pa.py_buffer(self._content.view()[self._start : self._stop])
            self._columns = from_buffer(data, *self._decode_arguments)
        return self._columns


class MessageRows:
    """A block of columns in a packet: the rows ``start`` to ``stop`` of a message.

    ``plain``: the other fields of the block. ``size_bytes``: its share of the message.
    """

    __slots__ = ("_plain", "_start", "_stop", "message", "size_bytes")

    def __init__(
        self, message: ArrowMessage, start: int, stop: int, plain: tuple[Any, ...], size_bytes: int
    ) -> None:
        self.message, self._start, self._stop, self._plain = message, start, stop, plain
        self.size_bytes = size_bytes

    def payload(self, kind: int) -> Block:
        """Decode the block."""
        from headrace.runtime.columns.keys import ColumnKeys

        names, _, _, *rest = from_plain_tuple(self._plain)
        others: Any = rest
        columns = self.message.columns()[self._start : self._stop]
        keys = None if names is None else ColumnKeys(columns, (*names,))
        return Block(keys, columns, columns.timestamps, *others)


def payload_of(envelope: Envelope) -> Any:
    """Return the payload, decoded if it is from a packet."""
    payload = envelope.payload
    return (
        payload.payload(envelope.kind)
        if isinstance(payload, EncodedPayload | MessageRows)
        else payload
    )


def payload_bytes(envelope: Envelope) -> bytes:
    """Return the encoded payload."""
    payload = envelope.payload
    if isinstance(payload, EncodedPayload):
        return bytes(payload.view())
    out = BytesIO()
    _encode(payload_of(envelope), out)
    return out.getvalue()


def encode_payload(envelope: Envelope) -> Envelope:
    """Return the envelope with its payload encoded on its own."""
    data = payload_bytes(envelope)
    return envelope._replace(payload=EncodedPayload(MemoryContent(data), 0, len(data)))


def _encode(payload: Any, out: BytesIO) -> None:
    if isinstance(payload, Block):
        encode_into(payload, out)
    else:
        out.write(pickle.dumps(payload, 5))


class PacketWriter:
    """Builds a packet of envelopes for one stage and partition.

    ``size_bytes``: the approximate size. Columns are written when the packet is finished.
    """

    def __init__(self) -> None:
        self.size_bytes = 0
        self._out = BytesIO()
        self._index: list[tuple[Any, ...]] = []
        self._messages: list[tuple[Any, ...]] = []
        self._columns: list[Envelope] = []

    def add(self, envelope: Envelope) -> int:
        """Add an envelope; return by how many bytes the packet has grown."""
        payload, before = envelope.payload, self.size_bytes
        if isinstance(payload, Block) and not isinstance(payload.values, list):
            self._columns.append(envelope)
            self.size_bytes += payload.values.nbytes
        else:
            start, out = self._out.tell(), self._out
            if isinstance(payload, EncodedPayload):
                out.write(payload.view())
            else:
                _encode(payload, out)
            stop = out.tell()
            self._index.append((*envelope[1:6], start, stop))
            self.size_bytes += stop - start
        return self.size_bytes - before

    def finish(self) -> bytes:
        """Finish the packet and return its bytes."""
        for _, slices in groupby(self._columns, lambda each: id(each.payload.values.base)):
            self._write_message([*slices])
        start = self._out.tell()
        pickle.dump((self._messages, self._index), self._out, 5)
        self._out.write(start.to_bytes(_TRAILER_BYTES, "little"))
        return self._out.getvalue()

    def _write_message(self, envelopes: list[Envelope]) -> None:
        """Write blocks that are slices of the same columns as one message."""
        out, blocks = self._out, [each.payload for each in envelopes]
        slices: list[Columns] = [block.values for block in blocks]
        first = min(columns.start for columns in slices)
        end = max(columns.start + len(columns) for columns in slices)
        out.write(bytes(-out.tell() % _ALIGNMENT_BYTES))
        start, rows = out.tell(), slices[0].base[first:end]
        rows.write_into(out)
        number = len(self._messages)
        self._messages.append((start, out.tell(), rows.shape, *rows.apart))
        for envelope, block, columns in zip(envelopes, blocks, slices, strict=True):
            names = None if block.keys is None else block.keys.names
            plain = to_plain_tuple(Block(names, [], None, *block[3:]))
            at = columns.start - first
            self._index.append((*envelope[1:6], number, at, at + len(columns), plain))


def envelopes_in(content: Content, stage: int) -> Iterator[Envelope]:
    """Yield the envelopes of a packet. Decode their payloads with ``payload_of``."""
    data = content.view()
    end = len(data) - _TRAILER_BYTES
    start = int.from_bytes(data[end:], "little")
    written, index = pickle.loads(data[start:end])
    messages = [ArrowMessage(content, *each) for each in written]
    rows_in = [0] * len(messages)
    for _, _, _, _, _, *where in index if messages else ():
        if len(where) > 2:
            rows_in[where[0]] += where[2] - where[1]
    for group, target, kind, sender, seq, *where in index:
        payload: Any
        if len(where) == 2:
            payload = EncodedPayload(content, *where)
        else:
            number, first, end, plain = where
            share_bytes = messages[number].size_bytes * (end - first) // max(rows_in[number], 1)
            payload = MessageRows(messages[number], first, end, plain, share_bytes)
        yield Envelope(stage, group, target, kind, sender, seq, payload)


def make_packet(envelopes: Iterable[Envelope]) -> bytes:
    """Make one packet of some envelopes."""
    writer = PacketWriter()
    for envelope in envelopes:
        writer.add(envelope)
    return writer.finish()

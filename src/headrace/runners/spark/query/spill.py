"""Spills bytes that exceed a limit to a temporary file of the worker."""

from __future__ import annotations

import mmap
import tempfile
from collections import deque
from collections.abc import Iterator
from operator import itemgetter
from typing import BinaryIO, Generic, TypeVar

from headrace.runners.spark.query.packets import (
    Content,
    EncodedPayload,
    MemoryContent,
    envelopes_in,
    payload_bytes,
)
from headrace.runtime.block import Envelope

MAX_MEMORY_BYTES = 32 << 20
"""Bytes beyond this are spilled."""

Reader = TypeVar("Reader", int, str)
"""A key group, or the id of a sink."""

_KeptEnvelope = tuple[int, int, Envelope]


class Spill:
    """Byte strings, of which the first ones are in memory and others in a file.

    The file has no name, so it is removed when the worker ends, even if it is killed.
    """

    def __init__(self, max_bytes: int = MAX_MEMORY_BYTES) -> None:
        self._max_bytes = max_bytes
        self._in_memory_bytes = 0
        self._file: BinaryIO | None = None
        self._end = 0

    def put(self, data: bytes) -> Content:
        """Store bytes, in memory or in the file."""
        if self._in_memory_bytes + len(data) <= self._max_bytes:
            self._in_memory_bytes += len(data)
            return MemoryContent(data)
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="headrace-spill-")  # noqa: SIM115
        self._file.seek(self._end)
        self._file.write(data)
        start, self._end = self._end, self._end + len(data)
        return _FileContent(self._file, start, self._end)

    def close(self) -> None:
        """Remove everything."""
        if self._file is not None:
            self._file.close()
        self._file, self._end, self._in_memory_bytes = None, 0, 0


class _FileContent:
    """Bytes in a file, mapped into memory when they are read."""

    __slots__ = ("_file", "_start", "_stop")

    def __init__(self, file: BinaryIO, start: int, stop: int) -> None:
        self._file, self._start, self._stop = file, start, stop

    def view(self) -> memoryview:
        self._file.flush()
        before = self._start % mmap.ALLOCATIONGRANULARITY
        length = self._stop - self._start + before
        mapped = mmap.mmap(
            self._file.fileno(), length, access=mmap.ACCESS_READ, offset=self._start - before
        )
        return memoryview(mapped)[before:]


def _spill_payload(envelope: Envelope, spill: Spill) -> Envelope:
    data = payload_bytes(envelope)
    return envelope._replace(payload=EncodedPayload(spill.put(data), 0, len(data)))


class SpilledOverflow:
    """Output that a task emits in the middle of a call, encoded (see ``Overflow``)."""

    def __init__(self) -> None:
        self._spill = Spill()
        self._waiting: deque[Envelope] = deque()

    def put(self, envelope: Envelope) -> None:
        """Store an envelope; later changes of its records have no effect."""
        self._waiting.append(_spill_payload(envelope, self._spill))

    def drain(self) -> Iterator[Envelope]:
        """Remove and yield all envelopes.

        An envelope's payload is valid until the next one is yielded.
        """
        while self._waiting:
            yield self._waiting.popleft()
        self._spill.close()

    def clear(self) -> None:
        """Remove all envelopes."""
        self._waiting.clear()
        self._spill.close()

    def __bool__(self) -> bool:
        return bool(self._waiting)


class SpilledEnvelopes(Generic[Reader]):
    """Received envelopes by reader, sorted by (sender, seq)."""

    def __init__(self) -> None:
        self._spill = Spill()
        self._by_reader: dict[Reader, list[_KeptEnvelope]] = {}

    def open(self, packet: bytes, stage: int) -> Iterator[Envelope]:
        """Store a packet, and yield its envelopes."""
        return envelopes_in(self._spill.put(packet), stage)

    def add(self, reader: Reader, envelope: Envelope) -> None:
        """Encode an envelope, and store it for a reader."""
        self.store_opened(reader, _spill_payload(envelope, self._spill))

    def store_opened(self, reader: Reader, envelope: Envelope) -> None:
        """Store an envelope of an opened packet for a reader."""
        self._by_reader.setdefault(reader, []).append((envelope.sender, envelope.seq, envelope))

    def __bool__(self) -> bool:
        return bool(self._by_reader)

    def readers(self) -> list[Reader]:
        """Return the readers that have envelopes, sorted."""
        return sorted(self._by_reader)

    def targets(self) -> Iterator[str]:
        """Return the target of each envelope."""
        return (envelope.target for each in self._by_reader.values() for *_, envelope in each)

    def pop(self, reader: Reader) -> Iterator[Envelope]:
        """Remove and yield a reader's envelopes."""
        waiting = self._by_reader.pop(reader, [])
        waiting.sort(key=itemgetter(0, 1))
        for *_, envelope in waiting:
            yield envelope

    def close(self) -> None:
        """Remove everything."""
        self._by_reader.clear()
        self._spill.close()

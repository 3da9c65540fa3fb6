"""Bytes beyond what memory should hold, in a temporary file of the worker."""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Iterator
from typing import BinaryIO, Generic, TypeVar

from headrace.runners.spark.query.wire import payload_bytes
from headrace.runtime.block import Envelope
from headrace.runtime.columns.shared import Part

MOST_BYTES = 32 << 20
"""So many bytes stay in memory; what comes then lies in the file."""

Reader = TypeVar("Reader", int, str)
"""A key group, or a sink by its id."""

Place = tuple[int, int]
"""Where bytes lie in the file: offset, length."""


_Kept = tuple[int, int, Envelope, "bytes | Part | Place"]


class Spill:
    """Byte strings that are read again, in any order: the first of them in memory.

    The file has no name, so it is gone with the worker, however that ends.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._held_bytes = 0
        self._file: BinaryIO | None = None
        self._end = 0

    def put(self, data: bytes | Part) -> bytes | Part | Place:
        """The bytes themselves, or where they lie.

        In memory, the part of a message stays together with the others of the message. In the file
        it is written alone.
        """
        if isinstance(data, Part):
            if self._held_bytes + data.nbytes <= self._most_bytes:
                self._held_bytes += data.nbytes
                return data
            data = data.alone()
        if self._held_bytes + len(data) <= self._most_bytes:
            self._held_bytes += len(data)
            return data
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="headrace-spill-")  # noqa: SIM115
        place = self._end, len(data)
        self._file.seek(self._end)
        self._file.write(data)
        self._end += len(data)
        return place

    def get(self, found: bytes | Part | Place) -> bytes | Part:
        """The bytes that ``put`` was given, from its result."""
        if isinstance(found, bytes | Part):
            return found
        assert self._file is not None
        offset, length = found
        self._file.seek(offset)
        return self._file.read(length)

    def close(self) -> None:
        """Forget everything."""
        if self._file is not None:
            self._file.close()
        self._file, self._end, self._held_bytes = None, 0, 0


class SpilledOverflow:
    """What a task emits in the middle of a call, as bytes (see ``Overflow``)."""

    def __init__(self) -> None:
        self._spill = Spill()
        self._waiting: deque[tuple[Envelope, bytes | Part | Place]] = deque()

    def put(self, envelope: Envelope) -> None:
        """Put an envelope aside as it is now."""
        found = self._spill.put(payload_bytes(envelope))
        self._waiting.append((envelope._replace(payload=None), found))

    def take(self) -> Iterator[Envelope]:
        """All that was put aside; nothing is left afterwards."""
        while self._waiting:
            envelope, found = self._waiting.popleft()
            yield envelope._replace(payload=self._spill.get(found))
        self._spill.close()

    def clear(self) -> None:
        """Forget what was put aside."""
        self._waiting.clear()
        self._spill.close()

    def __bool__(self) -> bool:
        return bool(self._waiting)


class SpilledEnvelopes(Generic[Reader]):
    """Envelopes by their reader, in the order of (sender, seq). Their payloads become bytes."""

    def __init__(self) -> None:
        self._spill = Spill()
        self._by_reader: dict[Reader, list[_Kept]] = {}

    def add(self, reader: Reader, envelope: Envelope) -> None:
        """Keep an envelope for a reader (a group, or a sink)."""
        payload = envelope.payload
        found = self._spill.put(payload if isinstance(payload, Part) else payload_bytes(envelope))
        kept = envelope.sender, envelope.seq, envelope._replace(payload=None), found
        self._by_reader.setdefault(reader, []).append(kept)

    def __bool__(self) -> bool:
        return bool(self._by_reader)

    def readers(self) -> list[Reader]:
        """The readers that have envelopes, in order."""
        return sorted(self._by_reader)

    def targets(self) -> Iterator[str]:
        """The target of each envelope."""
        return (kept[2].target for each in self._by_reader.values() for kept in each)

    def take(self, reader: Reader) -> Iterator[Envelope]:
        """A reader's envelopes, one after another; they are forgotten."""
        waiting = self._by_reader.pop(reader, [])
        waiting.sort(key=_sender_and_seq)
        for _, _, envelope, found in waiting:
            yield envelope._replace(payload=self._spill.get(found))

    def close(self) -> None:
        """Forget everything."""
        self._by_reader.clear()
        self._spill.close()


def _sender_and_seq(kept: _Kept) -> tuple[int, int]:
    return kept[0], kept[1]

"""The journal of a file sink's committer, and the snapshot of its pending files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import IO, Any

from headrace.common._storage.sealed import ObjectFormat, json_bytes, seal, unseal
from headrace.errors import CheckpointError

_FORMAT = ObjectFormat("file sink journal")
_CHUNK_VERSION = 1
_CHUNK_BYTES = 8 << 20


@dataclass(frozen=True)
class Piece:
    """A committed staged file that will become part of a visible file."""

    file: str
    bucket: str
    size_bytes: int
    batch: int
    since_ms: int


@dataclass(frozen=True)
class Journal:
    """The last commit: the renames that it needs, and the pieces that are still pending.

    ``moves`` are (staged name, path below the base). ``parts``: how many files were concatenated.
    """

    batch: int = -1
    moves: tuple[tuple[str, str], ...] = ()
    pieces: tuple[Piece, ...] = ()
    parts: int = 0

    def to_bytes(self) -> bytes:
        """Return the bytes to store, which ``from_bytes`` reads."""
        return seal(_FORMAT, json_bytes(asdict(self)))

    @staticmethod
    def from_bytes(data: bytes, location: str) -> Journal:
        """Return the journal that was stored.

        Raises:
            CheckpointError: the journal is damaged, or of another version.
        """
        found = json.loads(unseal(_FORMAT, data, location).payload)
        return Journal(
            found["batch"],
            tuple((staged, target) for staged, target in found["moves"]),
            tuple(Piece(**piece) for piece in found["pieces"]),
            found["parts"],
        )


@dataclass(frozen=True)
class PendingChunk:
    """A part of a pending piece's content. The first chunk has no piece, only ``parts``."""

    parts: int
    piece: Piece | None = None
    data: bytes = b""

    def to_bytes(self) -> bytes:
        """Return one line of JSON, and the bytes."""
        head = {"version": _CHUNK_VERSION, **asdict(replace(self, data=b""))}
        del head["data"]
        return json.dumps(head).encode() + b"\n" + self.data

    @staticmethod
    def from_bytes(data: bytes) -> PendingChunk:
        """Return the value of ``to_bytes``'s result.

        Raises:
            CheckpointError: the bytes are of another version.
        """
        line, _, content = data.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        if found["version"] != _CHUNK_VERSION:
            raise CheckpointError(
                f"the pending files of a file sink have format {found['version']}, this version"
                f" reads {_CHUNK_VERSION}",
                hint="read it with the version that wrote it, or a later one",
            )
        piece = found["piece"]
        return PendingChunk(found["parts"], None if piece is None else Piece(**piece), content)


def pending_chunks(journal: Journal, pieces: Iterable[tuple[Piece, IO[bytes]]]) -> Iterator[bytes]:
    """Yield the pending pieces of a journal with their content, in chunks of some megabytes."""
    if not journal.pieces and not journal.parts:
        return
    yield PendingChunk(journal.parts).to_bytes()
    for piece, file in pieces:
        data = file.read(_CHUNK_BYTES)
        while True:
            yield PendingChunk(journal.parts, piece, data).to_bytes()
            data = file.read(_CHUNK_BYTES)
            if not data:
                break

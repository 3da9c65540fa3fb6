"""What a file sink's committer writes down, and how what it holds back is carried elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import IO, Any

from headrace.common._storage.sealed import ObjectFormat, json_bytes, seal, unseal
from headrace.errors import CheckpointError

_FORMAT = ObjectFormat("file sink journal")
_HELD_VERSION = 1
_CHUNK_BYTES = 8 << 20


@dataclass(frozen=True)
class Piece:
    """A committed staged file that is still to become part of a visible one."""

    file: str
    bucket: str
    size_bytes: int
    batch: int
    since_ms: int


@dataclass(frozen=True)
class Journal:
    """What was last committed: the renames it needs, and the pieces that are held back.

    ``moves`` are (staged name, path below the base). ``parts`` counts the files put together.
    """

    batch: int = -1
    moves: tuple[tuple[str, str], ...] = ()
    pieces: tuple[Piece, ...] = ()
    parts: int = 0

    def to_bytes(self) -> bytes:
        """The journal as it is stored."""
        return seal(_FORMAT, json_bytes(asdict(self)))

    @staticmethod
    def from_bytes(data: bytes, location: str) -> Journal:
        """The journal that was stored.

        Raises:
            CheckpointError: it is damaged, or of another version.
        """
        found = json.loads(unseal(_FORMAT, data, location).payload)
        return Journal(
            found["batch"],
            tuple((staged, target) for staged, target in found["moves"]),
            tuple(Piece(**piece) for piece in found["pieces"]),
            found["parts"],
        )


@dataclass(frozen=True)
class HeldChunk:
    """Some bytes of a piece (or, without one, how many files were put together so far)."""

    parts: int
    piece: Piece | None = None
    data: bytes = b""

    def to_bytes(self) -> bytes:
        """One line of JSON, and the bytes."""
        head = {"version": _HELD_VERSION, **asdict(replace(self, data=b""))}
        del head["data"]
        return json.dumps(head).encode() + b"\n" + self.data

    @staticmethod
    def from_bytes(held: bytes) -> HeldChunk:
        """The value of ``to_bytes``'s result.

        Raises:
            CheckpointError: it is of another version.
        """
        line, _, data = held.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        if found["version"] != _HELD_VERSION:
            raise CheckpointError(
                f"what a file sink held back has format {found['version']}, this version reads"
                f" {_HELD_VERSION}",
                hint="read it with the version that wrote it, or a later one",
            )
        piece = found["piece"]
        return HeldChunk(found["parts"], None if piece is None else Piece(**piece), data)


def held_back(journal: Journal, pieces: Iterable[tuple[Piece, IO[bytes]]]) -> Iterator[bytes]:
    """What a journal holds back, with the bytes of its pieces, in records of some megabytes."""
    if not journal.pieces and not journal.parts:
        return
    yield HeldChunk(journal.parts).to_bytes()
    for piece, file in pieces:
        data = file.read(_CHUNK_BYTES)
        while True:
            yield HeldChunk(journal.parts, piece, data).to_bytes()
            data = file.read(_CHUNK_BYTES)
            if not data:
                break

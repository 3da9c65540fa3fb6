"""The records of a cached stream in files: written by one job, read by later ones.

A file is a sequence of pickles, each of a chunk: its values, and its timestamps or None. The
committer records in ``<batch>.json`` which files a micro-batch has. At the end of the input it
merges these into ``complete.json``; before that file exists, nothing can be read.
"""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

from headrace.common._storage.local_files import LocalFiles
from headrace.common.changelog_mode import ChangelogMode
from headrace.connector import (
    Budget,
    Chunk,
    Committer,
    CommitterContext,
    JsonValue,
    Pending,
    Progress,
    Sink,
    SinkWriter,
    Source,
    SplitEnumerator,
    SplitRange,
    SplitReader,
    WriterContext,
)

COMPLETE = "complete.json"
CHUNK_RECORDS = 4096
_FILES = LocalFiles(durable=False)

Note = tuple[str, list[tuple[int, int]]]
"""A file's name, and for each of its chunks: its end (in bytes) and its number of records."""


@dataclass(frozen=True)
class CacheSink(Sink):
    """Writes records to files of a folder, which can be read after the end of the input."""

    folder: str

    @property
    def accepts(self) -> ChangelogMode | None:
        """Any row kinds: records are cached unchanged."""
        return None

    @property
    def kind(self) -> str:
        return "cache"

    @property
    def locator(self) -> str:
        """The folder."""
        return self.folder

    @property
    def name(self) -> str:
        return "Cache"

    def writer(self, context: WriterContext) -> SinkWriter:
        name = f"{context.batch_id}-{context.partition}-{context.attempt}.records"
        return _Writer(os.path.join(self.folder, name))

    def committer(self, context: CommitterContext) -> Committer:
        return _Committer(self.folder)


class _Writer(SinkWriter):
    def __init__(self, path: str) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._chunks: list[tuple[int, int]] = []

    def write(self, values: Sequence[Any], timestamps: Sequence[int | None]) -> None:
        if self._file is None:
            self._file = _FILES.create(self._path)
        for at in range(0, len(values), CHUNK_RECORDS):
            run, times = [*values[at : at + CHUNK_RECORDS]], [*timestamps[at : at + CHUNK_RECORDS]]
            timed = any(time is not None for time in times)
            pickle.dump((run, times if timed else None), self._file, 5)
            self._chunks.append((self._file.tell(), len(run)))

    def prepare_commit(self) -> Note | None:
        if self._file is None:
            return None
        self._file.close()
        return os.path.basename(self._path), self._chunks

    def abort(self) -> None:
        if self._file is not None:
            self._file.close()
        _FILES.remove(self._path)


@dataclass
class _Committer(Committer):
    folder: str

    def commit(self, batch_id: int, committables: Sequence[Note]) -> None:
        """List the files of the micro-batch; if a list exists already, they are removed."""
        path = os.path.join(self.folder, f"{batch_id}.json")
        stored = _FILES.read(path)
        if stored is None:
            _FILES.replace(path, json.dumps(committables).encode())
            return
        names = {name for name, _ in json.loads(stored)}
        self._remove(note for note in committables if note[0] not in names)

    def abort(self, batch_id: int, committables: Sequence[Note]) -> None:
        self._remove(committables)

    def finish(self) -> None:
        """Make the files readable."""
        batches = [name for name in _FILES.names(self.folder) if name.partition(".")[0].isdigit()]
        notes = [
            note
            for name in sorted(batches, key=lambda name: int(name.partition(".")[0]))
            for note in json.loads(_FILES.read(os.path.join(self.folder, name)) or b"[]")
        ]
        _FILES.replace(os.path.join(self.folder, COMPLETE), json.dumps(notes).encode())

    def _remove(self, notes: Any) -> None:
        for name, _ in notes:
            _FILES.remove(os.path.join(self.folder, name))


@dataclass(frozen=True)
class CacheSource(Source):
    """Reads what a ``CacheSink`` wrote. A file is a split, its position the number of a chunk."""

    folder: str

    @property
    def gives(self) -> ChangelogMode | None:
        """Any row kinds: records are read as they were cached."""
        return None

    @property
    def kind(self) -> str:
        return "cache"

    @property
    def locator(self) -> str:
        """The folder."""
        return self.folder

    @property
    def name(self) -> str:
        return "Cache"

    @property
    def bounded(self) -> bool:
        """True: the files are complete."""
        return True

    @property
    def is_complete(self) -> bool:
        """Whether the job that writes has ended."""
        return _FILES.exists(os.path.join(self.folder, COMPLETE))

    def enumerator(self, directory: str) -> SplitEnumerator:
        """Return a new enumerator; it writes nothing."""
        notes = json.loads(_FILES.read(os.path.join(self.folder, COMPLETE)) or b"[]")
        return _Enumerator(self.folder, dict(notes))

    def reader(self) -> SplitReader:
        """Return a new reader."""
        return _Reader()


@dataclass
class _Enumerator(SplitEnumerator):
    folder: str
    files: dict[str, list[tuple[int, int]]]

    def initial(self, now_ms: int) -> Mapping[str, JsonValue]:
        """Return every file, at its first chunk."""
        return dict.fromkeys(self.files, 0)

    def advance(
        self,
        positions: Mapping[str, JsonValue],
        budget: Budget,
        now_ms: int,
        paused: frozenset[str],
    ) -> Progress:
        """Plan file by file, as many chunks as the budget allows, but at least one."""
        left, going, finished = budget.max_records, dict(positions), {}
        for name, at in positions.items():
            chunks = self.files[name]
            while name not in paused and at < len(chunks) and left > 0:
                left -= chunks[at][1]
                at += 1
            going[name] = at
            if at == len(chunks):
                finished[name] = going.pop(name)
        return Progress(going, finished, ended=not going)

    def ranges(
        self, start: Mapping[str, JsonValue], end: Mapping[str, JsonValue], finished: frozenset[str]
    ) -> Sequence[SplitRange]:
        """Return one range per chunk."""
        return [
            SplitRange(name, at, at + 1, self._locate_chunk(name, at), self.files[name][at][1])
            for name, first in start.items()
            for at in range(first, end.get(name, first))
        ]

    def pending(self, positions: Mapping[str, JsonValue]) -> Pending:
        """Return the records of the remaining chunks."""
        left = [each for name, at in positions.items() for each in self.files[name][at:]]
        return Pending(sum(records for _, records in left))

    def _locate_chunk(self, name: str, at: int) -> tuple[str, int]:
        begin = self.files[name][at - 1][0] if at else 0
        return os.path.join(self.folder, name), begin


class _Reader(SplitReader):
    def read(self, split_range: SplitRange) -> Iterator[Chunk]:
        """Yield the chunk of the range."""
        path, begin = split_range.payload
        with open(path, "rb") as file:
            file.seek(begin)
            yield Chunk(*pickle.load(file))

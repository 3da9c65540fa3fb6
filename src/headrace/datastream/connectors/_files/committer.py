"""Publishing staged files exactly once: a journal names what is to be done before it is done.

    tasks       write staged files to a hidden folder, and sync them
    commit(b)   concatenates small ones (still hidden), writes the journal, renames, cleans up

The commit is the one atomic replacement of the journal. The renames that it lists can be repeated:
one whose source is missing was done before. So each source is checked before the journal lists it.
A crash at any step neither loses nor duplicates a record, even if the repeated micro-batch is cut
into other tasks: its new files are then not needed.

No rename replaces a file. Names contain the sink's scope, so two sinks never use the same name. If
another program has taken a name, the journal is rewritten with the next free one.
"""

from __future__ import annotations

import os
import posixpath
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import IO, Any

from headrace.common._storage.file_system import FileSystem
from headrace.common._storage.local_files import LocalFiles
from headrace.common._storage.sealed import START_FRESH
from headrace.connector import Committer
from headrace.datastream.connectors._files.journal import (
    Journal,
    PendingChunk,
    Piece,
    pending_chunks,
)
from headrace.datastream.connectors._files.rolling import (
    BucketAssigner,
    DefaultRollingPolicy,
    OutputFileConfig,
)
from headrace.errors import CheckpointError, JobError

JOURNAL = "journal"
COPY_BYTES = 1 << 20
_AFTER_ALL = 1 << 62
_LISTED_FROM = 4
"""The sizes of so many files are taken from a listing: on S3, a request for each takes longer."""


@dataclass(frozen=True)
class StagedFile:
    """A complete file of one task, not yet visible. ``bucket`` None: chosen at the commit."""

    file: str
    bucket: str | None
    size_bytes: int
    records: int
    batch: int
    partition: int
    number: int


@dataclass
class FileCommitter(Committer):
    """Publishes the files of one sink; with ``rolling`` None, each as it is.

    ``scope``: a part of every file name, unique to the sink and the checkpoint.

    Only one committer at a time may use a staging folder. ``clock`` returns seconds since the
    epoch: for the age of files, and for the folder by time of records that have no timestamp.
    """

    base_path: str
    staging: str
    rolling: DefaultRollingPolicy | None
    buckets: BucketAssigner
    names: OutputFileConfig = field(default_factory=OutputFileConfig)
    scope: str = ""
    head: bytes = b""
    delimiter: bytes = b""
    files: FileSystem = field(default_factory=LocalFiles)
    clock: Callable[[], float] = time.time
    _journal: Journal | None = None

    def commit(self, batch_id: int, committables: Sequence[Any]) -> None:
        """Publish a micro-batch's staged files; incomplete ones stay pending.

        Raises:
            JobError: the journal is of a later micro-batch, so this is not the job that wrote it;
                or a staged file is not as its task wrote it.
            CheckpointError: a pending file is missing or damaged.
        """
        journal = self._recover_journal()
        self._check_journal(batch_id, journal)
        staged = [file for committable in committables for file in committable]
        if batch_id < journal.batch:
            raise JobError(
                f"micro-batch {batch_id} is to be committed into files that already hold "
                f"micro-batch {journal.batch}",
                where={"journal": os.path.join(self.staging, JOURNAL)},
                hint="another job, or an earlier run with another checkpoint, uses the same sink "
                "id and path: give this run a path of its own, or remove the journal",
            )
        if batch_id == journal.batch:
            self._discard_staged(journal, staged)
            return
        self._check_staged(staged)
        now_ms = int(self.clock() * 1000)
        staged.sort(key=lambda file: (file.partition, file.number, file.file))
        if self.rolling is None:
            published = [
                (file.file, self._resolve_bucket(file.bucket, now_ms), _name_of(file))
                for file in staged
            ]
            # Pieces are pending if an earlier run had a rolling policy that this one has not.
            self._roll(journal, batch_id, [], None, published)
        else:
            new = [
                Piece(
                    file.file,
                    self._resolve_bucket(file.bucket, now_ms),
                    file.size_bytes,
                    batch_id,
                    now_ms,
                )
                for file in staged
            ]
            self._roll(journal, batch_id, new, now_ms)
        self._sweep(batch_id)

    def abort(self, batch_id: int, committables: Sequence[Any]) -> None:
        """Remove the staged files of a failed micro-batch."""
        staged = [file for committable in committables for file in committable]
        self._discard_staged(self._recover_journal(), staged)

    def finish(self) -> None:
        """Publish the pending files."""
        journal = self._recover_journal()
        self._check_journal(_AFTER_ALL, journal)
        if journal.pieces:
            self._roll(journal, journal.batch, [], None)
        self._sweep(None)

    @property
    def last_batch(self) -> int:
        """The micro-batch of the journal, or -1. Reading it publishes nothing."""
        return self._read_journal().batch

    def snapshot(self, last_batch: int | None = None) -> Iterator[bytes]:
        """Return the pending pieces with their content, as ``PendingChunk`` bytes."""
        journal = self._recover_journal()
        if last_batch is not None:
            pieces = tuple(piece for piece in journal.pieces if piece.batch <= last_batch)
            journal = replace(journal, pieces=pieces)
        self._check_pieces(journal.pieces)
        return pending_chunks(journal, self._open_pieces(journal.pieces))

    def _open_pieces(self, pieces: Iterable[Piece]) -> Iterator[tuple[Piece, IO[bytes]]]:
        for piece in pieces:
            with self.files.open(os.path.join(self.staging, piece.file)) as file:
                yield piece, file

    def restore(self, snapshot: Iterable[bytes]) -> None:
        """Stage the pieces again, and write a journal that lists them but no micro-batch."""
        journal, before, file = Journal(), None, None
        pieces: list[Piece] = []
        try:
            for chunk in map(PendingChunk.from_bytes, snapshot):
                journal = replace(journal, parts=chunk.parts)
                if chunk.piece is None:
                    continue
                if chunk.piece != before:
                    self._complete(file)
                    before = chunk.piece
                    pieces.append(replace(before, file=f"held-{len(pieces)}"))
                    file = self.files.create(os.path.join(self.staging, pieces[-1].file))
                assert file is not None, "the first chunk of a piece has opened it"
                file.write(chunk.data)
        finally:
            self._complete(file)
        if journal.parts or pieces:
            self._apply(replace(journal, pieces=tuple(pieces)))

    def _complete(self, file: IO[bytes] | None) -> None:
        if file is not None:
            with file:
                self.files.sync(file)

    def _recover_journal(self) -> Journal:
        """Return the journal, after its renames were repeated where necessary."""
        if self._journal is None:
            journal = self._read_journal()
            self._check_pieces(journal.pieces)
            self._journal = self._rename_files(journal)
        return self._journal

    def _read_journal(self) -> Journal:
        """Return the stored journal, without repeating its renames."""
        path = os.path.join(self.staging, JOURNAL)
        data = self.files.read(path)
        return Journal() if data is None else Journal.from_bytes(data, path)

    def _check_staged(self, staged: Sequence[StagedFile]) -> None:
        """Raise JobError if a staged file is missing, or its size differs from the size written."""
        sizes = self._sizes_of([file.file for file in staged])
        for file in staged:
            problem = _find_damage(sizes[file.file], file.size_bytes)
            if problem is not None:
                path = os.path.join(self.staging, file.file)
                raise JobError(
                    f"a file that a file sink has staged {problem}",
                    where={"file": path, "micro-batch": str(file.batch)},
                    hint="nothing of the micro-batch is published; the next start writes it again. "
                    "Nothing but the job may remove or change files in this folder",
                )

    def _check_pieces(self, pieces: Sequence[Piece]) -> None:
        """Raise CheckpointError if the file of a pending piece is missing, or its size differs."""
        sizes = self._sizes_of([piece.file for piece in pieces])
        for piece in pieces:
            problem = _find_damage(sizes[piece.file], piece.size_bytes)
            if problem is not None:
                path = os.path.join(self.staging, piece.file)
                raise _incomplete_error(f"a pending file of a file sink {problem}", path)

    def _sizes_of(self, names: Collection[str]) -> dict[str, int | None]:
        """Return the sizes of staged files by name; None: the file is missing."""
        if len(names) < _LISTED_FROM:
            return {name: self.files.size(os.path.join(self.staging, name)) for name in names}
        listed = self.files.all_files(self.staging)
        sizes = {posixpath.basename(file.path): file.size_bytes for file in listed}
        return {name: sizes.get(name) for name in names}

    def _check_journal(self, batch_id: int, journal: Journal) -> None:
        """Raise CheckpointError if staged files of earlier micro-batches have no journal."""
        if journal.batch >= 0 or journal.pieces or journal.parts:
            return
        for name in self.files.names(self.staging):
            number = name.partition("-")[0]
            if number.isdigit() and int(number) < batch_id:
                path = os.path.join(self.staging, JOURNAL)
                raise _incomplete_error("the journal of a file sink is missing", path)

    def _apply(self, journal: Journal) -> None:
        # If this fails halfway, the next call reads the journal again.
        self._journal = None
        self.files.replace(os.path.join(self.staging, JOURNAL), journal.to_bytes())
        self._journal = self._rename_files(journal)

    def _rename_files(self, journal: Journal) -> Journal:
        """Rename the files of the journal; return the journal as it was last written."""
        left = set(self.files.names(self.staging)) if journal.moves else set()
        while refused := self._publish(journal, left):
            moves = tuple(
                (
                    staged,
                    self._choose_free_path(*posixpath.split(target))
                    if staged in refused
                    else target,
                )
                for staged, target in journal.moves
            )
            journal = replace(journal, moves=moves)
            self.files.replace(os.path.join(self.staging, JOURNAL), journal.to_bytes())
        changed = {
            os.path.dirname(os.path.join(self.base_path, target)): None
            for _, target in journal.moves
        }
        # These renames must be on the disk before the next journal drops them. That includes those
        # found done: the process that did them may have ended before the sync.
        for folder in changed:
            self.files.sync_directory(folder)
        return journal

    def _publish(self, journal: Journal, left: set[str]) -> set[str]:
        """Publish the staged files; returns the names of those whose target name is taken."""
        refused = set()
        for staged, target in journal.moves:
            if staged not in left:
                continue
            path = os.path.join(self.base_path, target)
            if self.files.publish(os.path.join(self.staging, staged), path):
                left.discard(staged)
            else:
                refused.add(staged)
        return refused

    def _roll(
        self,
        journal: Journal,
        batch_id: int,
        new: Sequence[Piece],
        now_ms: int | None,
        published: Sequence[tuple[str, str, str]] = (),
    ) -> None:
        """Concatenate the pieces of complete files, and commit; the other pieces stay pending.

        ``now_ms`` None: all files are complete. ``published``: other files (staged name, bucket,
        number) that become visible with them.
        """
        rule = self.rolling
        pending: list[Piece] = []
        complete: list[list[Piece]] = []
        by_bucket: dict[str, list[Piece]] = {}
        for piece in (*journal.pieces, *new):
            by_bucket.setdefault(piece.bucket, []).append(piece)
        for pieces in by_bucket.values():
            run: list[Piece] = []
            for piece in pieces:
                run.append(piece)
                if (
                    rule is not None
                    and sum(each.size_bytes for each in run) >= rule.part_size_bytes
                ):
                    complete.append(run)
                    run = []
            if run and (rule is None or now_ms is None or _is_over(run, rule, batch_id, now_ms)):
                complete.append(run)
            else:
                pending += run
        if not new and not complete and not published:
            return
        parts, requests = journal.parts, [*published]
        for run in complete:
            self._check_pieces(run)
            name = run[0].file
            if len(run) > 1 or self.head:
                name = f"roll-{parts}"
                self._concatenate([piece.file for piece in run], name)
            requests.append((name, run[0].bucket, str(parts)))
            parts += 1
        self._apply(Journal(batch_id, self._choose_targets(requests), tuple(pending), parts))

    def _concatenate(self, names: Sequence[str], target: str) -> None:
        with self.files.create(os.path.join(self.staging, target)) as out:
            out.write(self.head)
            for index, name in enumerate(names):
                if index:
                    out.write(self.delimiter)
                with self.files.open(os.path.join(self.staging, name)) as file:
                    _copy(file, out)
            self.files.sync(out)

    def _choose_targets(self, requests: Any) -> tuple[tuple[str, str], ...]:
        """Choose (staged name, path below the base) for (staged name, bucket, number)."""
        moves: list[tuple[str, str]] = []
        reserved: set[str] = set()
        for staged, bucket, number in requests:
            parts = filter(None, (self.names.part_prefix, self.scope, number))
            target = self._choose_free_path(
                bucket, "-".join(parts) + self.names.part_suffix, reserved
            )
            reserved.add(target)
            moves.append((staged, target))
        return tuple(moves)

    def _choose_free_path(self, bucket: str, name: str, reserved: Collection[str] = ()) -> str:
        """Return a path below the base that no file has.

        A number is added to the name if necessary.
        """
        stem, copies = name.removesuffix(self.names.part_suffix), 0
        while True:
            mark = f"-{copies}" if copies else ""
            target = posixpath.join(bucket, f"{stem}{mark}{self.names.part_suffix}")
            path = os.path.join(self.base_path, target)
            if target not in reserved and self.files.size(path) is None:
                return target
            copies += 1

    def _resolve_bucket(self, bucket: str | None, now_ms: int) -> str:
        found = self.buckets.bucket_at(now_ms) if bucket is None else bucket
        parts = found.split("/")
        if os.path.isabs(found) or ".." in parts:
            raise JobError(
                f"the bucket {found!r} lies outside of the sink's base path",
                where={"base path": self.base_path},
            )
        path = posixpath.normpath(found)
        hidden = os.path.relpath(self.staging, self.base_path).split(os.sep)[0]
        if path.split("/")[0] == hidden:
            raise JobError(
                f"the bucket {found!r} lies in the folder for files that are not yet published",
                where={"base path": self.base_path},
                hint=f"let the bucket assigner give another name than {hidden}",
            )
        return path if found else ""

    def _discard_staged(self, journal: Journal, staged: Sequence[StagedFile]) -> None:
        kept = {piece.file for piece in journal.pieces}
        for file in staged:
            if file.file not in kept:
                self.files.remove(os.path.join(self.staging, file.file))

    def _sweep(self, batch_id: int | None) -> None:
        """Remove files of failed attempts, and pieces that are part of a visible file now."""
        journal = self._recover_journal()
        kept = {JOURNAL, *(piece.file for piece in journal.pieces)}
        for name in self.files.names(self.staging):
            number = name.partition("-")[0]
            # Tasks of a later micro-batch may already write.
            later = batch_id is not None and number.isdigit() and int(number) > batch_id
            if name not in kept and not later:
                self.files.remove(os.path.join(self.staging, name))


def _incomplete_error(problem: str, path: str) -> CheckpointError:
    return CheckpointError(
        problem,
        where={"file": path},
        hint=f"bring this file back from a copy; to give up what is not published, {START_FRESH}",
    )


def _find_damage(found_bytes: int | None, size_bytes: int) -> str | None:
    """Describe the damage of a staged file, as the end of a sentence; None if it is intact."""
    if found_bytes is None:
        return "is missing"
    if found_bytes != size_bytes:
        return f"has {found_bytes} bytes, not the {size_bytes} that were written"
    return None


def _name_of(file: StagedFile) -> str:
    return f"{file.batch}-{file.partition}-{file.number}"


def _is_over(run: Sequence[Piece], rule: DefaultRollingPolicy, batch_id: int, now_ms: int) -> bool:
    first, last = run[0], run[-1]
    age, pause = rule.rollover_interval_ms, rule.inactivity_interval_ms
    # A piece from the future is complete: the clock was wrong, so its age is unknown.
    return (
        (age is not None and not 0 <= now_ms - first.since_ms < age)
        or (pause is not None and not 0 <= now_ms - last.since_ms < pause)
        or (rule.batches is not None and batch_id - first.batch + 1 >= rule.batches)
    )


def _copy(source: IO[bytes], target: IO[bytes]) -> None:
    while data := source.read(COPY_BYTES):
        target.write(data)

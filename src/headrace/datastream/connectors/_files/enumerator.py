"""Which files are read, and how far: a fixed set of files, or folders watched for new ones."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from zlib import crc32

from headrace.common._storage.file_system import FileSystem, ListedFile
from headrace.common._storage.locations import absolute, file_system_of
from headrace.connector import (
    Budget,
    JsonValue,
    Pending,
    Progress,
    SplitEnumerator,
    SplitRange,
)
from headrace.datastream.formats._file_format import FileFormat, FileStats
from headrace.errors import CheckpointError, DecodeError, JobError

_LOG_VERSION = 1

UNFINISHED_SUFFIXES = (".tmp", ".part", "._COPYING_")
"""Suffixes that copying tools give to files that are not complete."""


def find_files(paths: Sequence[str], files: FileSystem | None = None) -> list[ListedFile]:
    """Return the files that paths, folders (recursively) and glob patterns match.

    Each file is listed once, in sorted order. ``files``: their file system; None: each path's own.

    Raises:
        JobError: a path that is no pattern does not exist.
    """
    found: dict[str, ListedFile] = {}
    for path in paths:
        system = files or file_system_of(path)
        if system.exists(path):
            matches = [path]
        elif glob.has_magic(path):
            matches = system.matches(path)
        else:
            raise JobError(
                f"there is no file or folder {path!r} to read",
                where={"path": absolute(path)},
            )
        for match in matches:
            listed = system.walk(match) if system.is_folder(match) else system.stat(match)
            found.update((file.path, file) for file in listed)
    return [found[path] for path in sorted(found)]


@dataclass
class FilePlanner:
    """Splits files of one format into ranges; caches their stats.

    ``absolute_paths``: whether ranges have absolute paths, also of files that an earlier run has
    listed by relative ones. ``takes``: whether a file that is found is read.
    """

    format: FileFormat
    max_range_bytes: int | None
    absolute_paths: bool = False
    takes: Callable[[ListedFile], bool] = lambda _: True
    _stats_by_path: dict[str, FileStats] = field(default_factory=dict)

    def file_stats(self, path: str, extent: int | None = None) -> FileStats:
        """Return the cached stats of a file; a file that cannot be decoded is not split.

        ``extent``: where the file ended when it was listed; None if it is listed now.

        Raises:
            JobError: the file is not there.
        """
        known = self._stats_by_path.get(path)
        if known is None:
            try:
                known = self.format.measure(path, extent)
            except FileNotFoundError:
                raise vanished(path) from None
            except DecodeError:
                # The reader finds the same error, and reports it as the source is configured.
                known = FileStats(1, splittable=False)
            self._stats_by_path[path] = known
        return known

    def remove_stats(self, path: str) -> None:
        """Remove the cached stats of a finished file."""
        self._stats_by_path.pop(path, None)

    def end_within_budget(
        self, path: str, start: int, extent: int, records: float, size_bytes: float
    ) -> int:
        """Return the position up to which the budget suffices, after at least one record."""
        stats = self.file_stats(path, extent)
        if not stats.splittable:
            return extent
        units = min(records * stats.units_per_record, size_bytes / stats.bytes_per_unit)
        try:
            end = min(start + max(int(units), 1), extent)
            return self.format.align(path, end, extent, start)
        except FileNotFoundError:
            raise vanished(path) from None

    def estimate_cost(self, path: str, units: int, extent: int) -> tuple[float, float]:
        """Estimate the records and bytes in a number of units of the file's positions."""
        stats = self.file_stats(path, extent)
        return units / stats.units_per_record, units * stats.bytes_per_unit

    def estimate_remaining(self, files: Iterable[tuple[str, int, int]]) -> Pending:
        """Estimate the remaining bytes of files; unknown if the stats of one are not read yet.

        ``files``: path, remaining units and extent of each.
        """
        of_each = [*files]
        if any(path not in self._stats_by_path for path, *_ in of_each):
            return Pending()
        return Pending(size_bytes=round(sum(self.estimate_cost(*file)[1] for file in of_each)))

    def split_ranges(
        self,
        split: str,
        path: str,
        start: int,
        end: int,
        extent: int,
        position_prefix: list[JsonValue],
    ) -> Iterator[SplitRange]:
        """Yield the ranges between two positions of a file.

        ``position_prefix``: values before the offset in each position of the split.
        """
        if start >= end:
            return
        inner: Sequence[int] = ()
        if self.max_range_bytes is not None:
            try:
                inner = self.format.cuts(path, start, end, self.max_range_bytes)
            except FileNotFoundError:
                raise vanished(path) from None
        path = absolute(path) if self.absolute_paths else path
        bounds = [start, *inner, end]
        for at, to in pairwise(bounds):
            records = max(int(self.estimate_cost(path, to - at, extent)[0]), 1)
            payload = (path, at, to, extent)
            yield SplitRange(
                split, [*position_prefix, at], [*position_prefix, to], payload, records
            )


def vanished(path: str) -> JobError:
    """Return the error for a file that was listed and no longer exists."""
    return JobError(
        f"the file {path!r} was listed as input and no longer exists",
        hint="keep input files until the job has read them",
    )


@dataclass
class StaticFiles(SplitEnumerator):
    """A fixed set of files: each is a split, and all are read in parallel.

    The position of a file is ``[next position, extent when listed]``: data appended later is not
    read.
    """

    paths: tuple[str, ...]
    planner: FilePlanner
    files: FileSystem | None = None

    def resume(self, positions: Mapping[str, JsonValue], now_ms: int) -> Mapping[str, JsonValue]:
        """Return the same positions.

        Raises:
            CheckpointError: the positions are those of a watched folder.
        """
        if MonitoredFolder.SPLIT in positions:
            raise CheckpointError(
                "a watched folder cannot be continued as a list of files",
                hint="start anew with --fresh, or watch the folder as before",
            )
        return positions

    def initial(self, now_ms: int) -> Mapping[str, JsonValue]:
        """Return every file, at its beginning."""
        listed = find_files(self.paths, self.files)
        found = [file for file in listed if self.planner.takes(file)]
        digits = max(4, len(str(len(found))))
        return {
            f"{index:0{digits}d}:{file.path}": [0, self.planner.file_stats(file.path).extent]
            for index, file in enumerate(found)
        }

    def advance(
        self,
        positions: Mapping[str, JsonValue],
        budget: Budget,
        now_ms: int,
        paused: frozenset[str],
    ) -> Progress:
        """Plan the next ranges; all files share the budget, so that their watermarks rise together.

        The shortest files come first: the unused part of their share goes to the longer files.
        """
        moved = dict(positions)
        finished: dict[str, JsonValue] = {}
        records, size_bytes = float(budget.max_records), float(budget.max_bytes)
        active = [split for split in positions if split not in paused]
        active.sort(key=lambda split: positions[split][1] - positions[split][0])
        for index, split in enumerate(active):
            (start, extent), path = positions[split], _path_of_split(split)
            share = len(active) - index
            end = self.planner.end_within_budget(
                path, start, extent, records / share, size_bytes / share
            )
            if end >= extent:
                finished[split] = [extent, extent]
                del moved[split]
            else:
                moved[split] = [end, extent]
            used_records, used_bytes = self.planner.estimate_cost(path, end - start, extent)
            records, size_bytes = max(records - used_records, 0), max(size_bytes - used_bytes, 0)
        return Progress(moved, finished, ended=not moved)

    def pending(self, positions: Mapping[str, JsonValue]) -> Pending:
        """Return the estimated remaining bytes of the files."""
        left = [(_path_of_split(split), *positions[split]) for split in positions]
        return self.planner.estimate_remaining(
            (path, extent - at, extent) for path, at, extent in left
        )

    def ranges(
        self, start: Mapping[str, JsonValue], end: Mapping[str, JsonValue], finished: frozenset[str]
    ) -> Sequence[SplitRange]:
        """Return the ranges between two sets of positions, file by file."""
        work: list[SplitRange] = []
        for split in sorted({*end, *finished}):
            path = _path_of_split(split)
            first, extent = start[split]
            last, _ = end[split]
            work.extend(self.planner.split_ranges(split, path, first, last, extent, []))
            if split in finished:
                self.planner.remove_stats(path)
        return work


def _encode_entry(entry: dict[str, object]) -> bytes:
    """Return an entry for the log of a watched folder, with a checksum."""
    return json.dumps({**entry, "crc32": _entry_checksum(entry)}).encode() + b"\n"


def _entry_checksum(entry: dict[str, object]) -> int:
    return crc32(json.dumps(entry, sort_keys=True).encode())


def _path_of_split(split: str) -> str:
    return split.partition(":")[2]


@dataclass
class MonitoredFolder(SplitEnumerator):
    """Folders watched for new files: one split, which reads each file once, one after the other.

    It looks for new files at most every ``interval_ms``, and takes them in the order of
    (modification time, name). The order is stored in ``discovered.jsonl`` below ``directory``
    before a position refers to it; a position is ``[number of the file, position in it]``.

    A file is identified by its absolute path, so a run whose paths are relative and one whose paths
    are absolute know the same files. It must be complete when it appears (moved into the folder, or
    written under a hidden name or one that ends in .tmp, .part or ._COPYING_): data appended later
    is not read.
    """

    paths: tuple[str, ...]
    planner: FilePlanner
    directory: str
    interval_ms: int
    files: FileSystem | None = None
    _log: list[tuple[str, int]] | None = None
    _known: set[str] = field(default_factory=set)
    _looked_ms: int | None = None

    SPLIT = "folder"

    def resume(self, positions: Mapping[str, JsonValue], now_ms: int) -> Mapping[str, JsonValue]:
        """Return the same position.

        Raises:
            CheckpointError: the positions are those of a list of files.
        """
        if positions.keys() != {self.SPLIT}:
            raise CheckpointError(
                "a list of files cannot be continued as a watched folder",
                where={"reading": ", ".join(map(_path_of_split, sorted(positions)[:3]))},
                hint="start anew with --fresh, or let the unchanged job finish its files first",
            )
        return positions

    def initial(self, now_ms: int) -> Mapping[str, JsonValue]:
        """Return the position before the first file."""
        find_files(self.paths, self.files)  # a missing path is an error at the start
        return {self.SPLIT: [0, 0]}

    def advance(
        self,
        positions: Mapping[str, JsonValue],
        budget: Budget,
        now_ms: int,
        paused: frozenset[str],
    ) -> Progress:
        """Plan as many files, or as much of one file, as the budget allows."""
        if self.SPLIT in paused:
            return Progress(dict(positions))
        number, position = positions[self.SPLIT]
        self._check_logged(number, position)
        if self._looked_ms is None or now_ms - self._looked_ms >= self.interval_ms:
            self._discover()
            self._looked_ms = now_ms
        log = self._read_entries()
        records, size_bytes = float(budget.max_records), float(budget.max_bytes)
        while number < len(log) and records > 0 and size_bytes > 0:
            path, extent = log[number]
            end = self.planner.end_within_budget(path, position, extent, records, size_bytes)
            used_records, used_bytes = self.planner.estimate_cost(path, end - position, extent)
            records, size_bytes = records - used_records, size_bytes - used_bytes
            if end < extent:
                position = end
                break
            number, position = number + 1, 0
        return Progress({self.SPLIT: [number, position]})

    def pending(self, positions: Mapping[str, JsonValue]) -> Pending:
        """Return the estimated remaining bytes of the files found so far."""
        if self.SPLIT not in positions:
            return Pending()
        number, position = positions[self.SPLIT]
        left = [(path, extent, extent) for path, extent in self._read_entries()[number:]]
        if left:
            path, extent, _ = left[0]
            left[0] = path, extent - position, extent
        return self.planner.estimate_remaining(left)

    def ranges(
        self, start: Mapping[str, JsonValue], end: Mapping[str, JsonValue], finished: frozenset[str]
    ) -> Sequence[SplitRange]:
        """Return the ranges between two positions, in the order of the log."""
        log = self._read_entries()
        if self.SPLIT not in start:
            return []
        first, offset = start[self.SPLIT]
        last, end_offset = end[self.SPLIT]
        self._check_logged(last, end_offset)
        work: list[SplitRange] = []
        for number in range(first, last + 1 if end_offset else last):
            path, extent = log[number]
            at = offset if number == first else 0
            to = end_offset if number == last else extent
            work.extend(self.planner.split_ranges(self.SPLIT, path, at, to, extent, [number]))
            if number < last:
                self.planner.remove_stats(path)
        return work

    def _check_logged(self, number: int, position: int) -> None:
        """Raise CheckpointError unless the log of files contains all files before a position."""
        if number + (position > 0) > len(self._read_entries()):
            raise self._unusable_log_error(
                f"has {len(self._read_entries())} entries, but file {number} was read"
            )

    @property
    def _log_files(self) -> FileSystem:
        return self.files or file_system_of(self.directory)

    @property
    def _log_path(self) -> str:
        return os.path.join(self.directory, "discovered.jsonl")

    def _read_entries(self) -> list[tuple[str, int]]:
        if self._log is None:
            data = self._log_files.read_log(self._log_path)
            complete = data[: data.rfind(b"\n") + 1]
            if len(complete) < len(data):
                # A crash truncated the last entry; no position can refer to it yet.
                self._log_files.cut_log(self._log_path, len(complete))
            self._log = [self._parse_entry(line) for line in complete.splitlines()]
            self._known = {absolute(path) for path, _ in self._log}
        return self._log

    def _parse_entry(self, line: bytes) -> tuple[str, int]:
        try:
            entry = json.loads(line)
            version, wanted = entry["version"], entry.pop("crc32")
            if version == _LOG_VERSION and wanted != _entry_checksum(entry):
                raise ValueError("its checksum is wrong")
            found = entry["path"], entry["extent"]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._unusable_log_error(f"is damaged: {line[:200]!r}: {error}") from error
        if version != _LOG_VERSION:
            raise self._unusable_log_error(
                f"has format {version}, this version reads {_LOG_VERSION}"
            )
        return found

    def _unusable_log_error(self, what: str) -> CheckpointError:
        return CheckpointError(
            f"the list of files read so far {what}",
            where={"file": self._log_path},
            hint="restore the checkpoint from a copy, or start anew with --fresh",
        )

    def _discover(self) -> None:
        log = self._read_entries()
        new = []
        for file in find_files(self.paths, self.files):
            path = absolute(file.path)
            if path in self._known or path.endswith(UNFINISHED_SUFFIXES):
                continue
            if self.planner.takes(file):
                new.append(file)
            else:
                self._known.add(path)
        new.sort(key=lambda file: (file.mtime_ms, file.path))
        lines, entries = [], []
        for file in new:
            try:
                extent = self.planner.file_stats(file.path).extent
            except JobError:
                continue  # removed before it was listed
            entries.append((file.path, extent))
            entry = {"path": file.path, "extent": extent, "mtime_ms": file.mtime_ms}
            lines.append(_encode_entry({"version": _LOG_VERSION, **entry}))
        if entries:
            self._log_files.append(self._log_path, b"".join(lines))
            log.extend(entries)
            self._known.update(absolute(path) for path, _ in entries)

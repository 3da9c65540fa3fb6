"""A savepoint on storage: a folder with a manifest, and Parquet files of its records.

    _savepoint                            the manifest, written last
    states/<folder>/<file>.parquet        the states of one operator, in row groups by key group
    timers/<folder>/<file>.parquet        its timers
    <table>/<file>.parquet                each other table

Two attempts of a task never write the same file. Only the files that the manifest names belong to
the savepoint.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.common._storage.locations import file_system_of, location_of
from headrace.errors import CheckpointError
from headrace.runtime.savepoint.arrow import from_batches, schema_of, to_batches
from headrace.runtime.savepoint.hashed_parquet import HashedParquet, sha256_of
from headrace.runtime.savepoint.manifest import (
    Manifest,
    PartChecksum,
    StoredFile,
    verify_records,
)
from headrace.runtime.savepoint.savepoint import Savepoint, split_part_name

MANIFEST = "_savepoint"
_KEY_GROUP = "key_group"


class RecordFile:
    """A new file of records below a savepoint's folder, created with its first record.

    ``name``: a name that no other file of the folder's table has, not even of another attempt.
    ``operator``: whose records they are, for a table that is divided by operators.
    """

    def __init__(self, folder: str, name: str, table: str, operator: str | None = None) -> None:
        self._table, self._operator = table, operator
        where = table if operator is None else f"{table}/{_operator_folder(operator)}"
        self.path = f"{where}/{name}.parquet"
        self._file = HashedParquet(posixpath.join(folder, self.path), schema_of(table))

    def write(self, records: Iterable[tuple[Any, ...]]) -> int:
        """Write records, in row groups of their own; return their number."""
        rows = 0
        for batch in to_batches(self._table, records):
            self._file.write(batch)
            rows += batch.num_rows
        return rows

    def close(self) -> dict[str, StoredFile]:
        """Store the file durably; return its description by path, empty if it has no record."""
        written = self._file.close()
        if written is None:
            return {}
        described = written.rows, written.size_bytes, written.sha256
        return {self.path: StoredFile(self._table, self._operator, *described)}

    def abort(self) -> None:
        """Close the file without storing it: the savepoint has failed."""
        self._file.abort()


def _operator_folder(operator: str) -> str:
    """Return the name of an operator's folder, which a reader can recognize."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", operator).strip("-_")[:60]
    return f"{plain or 'operator'}-{hashlib.sha256(operator.encode()).hexdigest()[:8]}"


def write_savepoint(savepoint: Savepoint, folder: str) -> Manifest:
    """Write a savepoint that is in memory to a folder, and return its manifest there.

    Raises:
        CheckpointError: there is a savepoint in the folder already.
        OSError: the storage fails.
    """
    folder = location_of(folder)
    check_is_free(folder)
    by_file: dict[tuple[str, str | None], list[str]] = {}
    for name in savepoint.manifest.parts:
        table, operator, _ = split_part_name(name)
        by_file.setdefault((table, operator), []).append(name)
    files: dict[str, StoredFile] = {}
    parts: dict[str, PartChecksum] = {}
    for (table, operator), names in by_file.items():
        file = RecordFile(folder, "part-0", table, operator)
        for name in names:
            parts[name] = PartChecksum(file.write(savepoint.read(name)))
        files |= file.close()
    manifest = replace(savepoint.manifest, parts=parts, files=files)
    write_manifest(manifest, folder)
    return manifest


def write_manifest(manifest: Manifest, folder: str) -> None:
    """Write the manifest, which completes a savepoint."""
    path = posixpath.join(folder, MANIFEST)
    file_system_of(path).replace(path, manifest.to_json().encode())


def check_is_free(folder: str) -> None:
    """Raise CheckpointError if a folder has a savepoint, or is a file."""
    check_is_folder(folder)
    path = posixpath.join(folder, MANIFEST)
    if file_system_of(path).exists(path):
        raise CheckpointError(
            "there is a savepoint in this folder already",
            where={"savepoint": folder},
            hint="choose another folder; `headrace savepoints dispose` removes a savepoint",
        )


def check_is_folder(path: str) -> None:
    """Raise CheckpointError if there is a file at the path where a folder should be."""
    files = file_system_of(path)
    if files.exists(path) and not files.is_folder(path):
        folder, name = posixpath.split(path)
        raise CheckpointError(
            "this is a file, and a savepoint is a folder",
            where={"file": path},
            hint=f"give the folder of the file, {folder or '.'}"
            if name == MANIFEST
            else "`headrace savepoints ls FOLDER` lists the savepoints in a folder",
        )


def read_manifest(folder: str) -> Manifest:
    """Return the manifest of the savepoint in a folder.

    Raises:
        CheckpointError: there is none, or it is damaged.
    """
    folder = location_of(folder)
    path = posixpath.join(folder, MANIFEST)
    try:
        data = file_system_of(path).read(path)
    except (NotADirectoryError, IsADirectoryError):
        data = None
    if data is None:
        check_is_folder(folder)
        raise CheckpointError(
            "there is no savepoint in this folder",
            where={"savepoint": folder},
            hint=f"a complete savepoint has a file {MANIFEST}; `headrace savepoints ls` lists them",
        )
    try:
        return Manifest.from_json(data.decode())
    except CheckpointError as error:
        error.where = {"file": path, **error.where}
        raise
    except UnicodeDecodeError as error:
        raise CheckpointError(
            "the manifest of the savepoint is damaged",
            where={"file": path},
            hint="restore from another savepoint",
        ) from error


class StoredSavepoint(Savepoint):
    """A savepoint in a folder; records are read when they are needed."""

    def __init__(self, folder: str) -> None:
        folder = location_of(folder)
        super().__init__(read_manifest(folder))
        self.folder = folder
        self._checked: dict[str, pq.ParquetFile] = {}

    def read(self, name: str) -> Iterator[Any]:
        """Yield the records of a part; none if the manifest does not have the part.

        Raises:
            CheckpointError: a file is missing, or is not what was written.
        """
        part = self.manifest.parts.get(name)
        if part is None:
            return iter(())
        table, operator, key_group = split_part_name(name)
        batches = (
            batch
            for path in self.files_of(table, operator)
            for batch in self._batches(path, key_group)
        )
        return verify_records(from_batches(table, batches), part, name)

    def files_of(self, table: str, operator: str | None = None) -> list[str]:
        """Return the paths, below the folder, of the files of a table, or of one operator in it."""
        return self._paths.get((table, operator), [])

    @cached_property
    def _paths(self) -> Mapping[tuple[str, str | None], list[str]]:
        found: dict[tuple[str, str | None], list[str]] = {}
        for path, file in sorted(self.manifest.files.items()):
            found.setdefault((file.table, file.operator), []).append(path)
        return found

    def _batches(self, path: str, key_group: int | None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file, of one key group only if it is given."""
        file = self._open(path)
        if key_group is None:
            yield from file.iter_batches()
            return
        for row_group in _row_groups_of(file, key_group):
            for batch in file.iter_batches(row_groups=[row_group]):
                chosen = pc.equal(batch.column(_KEY_GROUP), key_group)
                yield batch.filter(chosen)

    def _open(self, path: str) -> pq.ParquetFile:
        """Open a file, after it was compared with the manifest once."""
        file = self._checked.get(path)
        if file is None:
            full = posixpath.join(self.folder, path)
            _check_file(full, self.manifest.files[path])
            source = file_system_of(full).open(full)
            file = self._checked[path] = pq.ParquetFile(source)
        return file


def _row_groups_of(file: pq.ParquetFile, key_group: int) -> list[int]:
    """Return the row groups that may have records of a key group, by their statistics."""
    column = file.schema_arrow.get_field_index(_KEY_GROUP)

    def may_have_some(number: int) -> bool:
        known = file.metadata.row_group(number).column(column).statistics
        return known is None or not known.has_min_max or known.min <= key_group <= known.max

    return [number for number in range(file.num_row_groups) if may_have_some(number)]


def _check_file(path: str, file: StoredFile) -> None:
    """Compare a file with its description in the manifest.

    Raises:
        CheckpointError: it is missing or damaged.
    """
    found = sha256_of(path)
    if found == file.sha256:
        return
    raise CheckpointError(
        "a file of the savepoint is missing"
        if found is None
        else "a file of the savepoint is damaged: its checksum is not that of the manifest",
        where={"file": path},
        hint="restore from another savepoint",
    )

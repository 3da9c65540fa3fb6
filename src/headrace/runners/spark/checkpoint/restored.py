"""State restored from a savepoint: records for Spark's state stores, in Parquet files.

The files exist from the restore until the first micro-batch has taken over the state.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import asdict, dataclass

import pyarrow as pa

from headrace.common._storage.sealed import ObjectFormat, get_json, missing_object, put_json
from headrace.runners.spark.checkpoint.layout import RESTORED, CheckpointFolder
from headrace.runners.spark.checkpoint.spark_files import damaged_error
from headrace.runtime.savepoint.hashed_parquet import HashedParquet, sha256_of

_FORMAT = ObjectFormat("restored state")
_ABOUT = "restored/_about"
_FIRST_FORMAT = "part-0.parquet"
"""The only file, in checkpoints of builds before savepoints were stored."""

RECORDS = pa.schema(
    [("bucket", pa.int32()), ("stage", pa.int32()), ("name", pa.string()), ("data", pa.binary())]
)
"""The columns of restored state."""

_CHUNK_BYTES = 16 << 20


@dataclass(frozen=True)
class RestoredFile:
    """A file of restored state."""

    name: str
    rows: int
    size_bytes: int
    sha256: str


class RestoredWriter:
    """Writes records to a file in the folder of restored state; ``name``: a unique one."""

    def __init__(self, folder: str, name: str) -> None:
        self._name = f"{name}.parquet"
        self._file = HashedParquet(posixpath.join(folder, self._name), RECORDS)
        self._rows: list[tuple[int, int, str, bytes]] = []
        self._bytes = 0

    def add(self, bucket: int, stage: int, name: str, data: bytes) -> None:
        """Add a record."""
        self._rows.append((bucket, stage, name, data))
        self._bytes += len(data)
        if self._bytes >= _CHUNK_BYTES:
            self._write()

    def _write(self) -> None:
        columns = zip(*self._rows, strict=True)
        arrays = [
            pa.array(column, kind) for column, kind in zip(columns, RECORDS.types, strict=True)
        ]
        self._file.write(pa.record_batch(arrays, schema=RECORDS))
        self._rows, self._bytes = [], 0

    def close(self) -> list[RestoredFile]:
        """Store the file; return what was written, empty if nothing was."""
        if self._rows:
            self._write()
        written = self._file.close()
        return [] if written is None else [RestoredFile(self._name, **asdict(written))]

    def abort(self) -> None:
        """Close the file without storing it."""
        self._file.abort()


def record_files(checkpoint_folder: CheckpointFolder, files: Iterable[RestoredFile]) -> None:
    """Record which files are the restored state; without this it is not complete."""
    about = {"files": [asdict(file) for file in files]}
    put_json(checkpoint_folder.store, _ABOUT, _FORMAT, about)


def restored_files(checkpoint_folder: CheckpointFolder) -> list[RestoredFile]:
    """Return the files of the restored state.

    Raises:
        CheckpointError: it is not complete.
    """
    store = checkpoint_folder.store
    about = get_json(store, _ABOUT, _FORMAT)
    if about is None:
        raise missing_object("the list of files of the restored state", store.location(_ABOUT))
    if "files" not in about:
        return [RestoredFile(_FIRST_FORMAT, 0, 0, about["sha256"])]
    return [RestoredFile(**file) for file in about["files"]]


def check_restored(checkpoint_folder: CheckpointFolder) -> None:
    """Check that the files with the restored state have not changed since they were written.

    Raises:
        CheckpointError: a file is missing or damaged.
    """
    folder = checkpoint_folder.spark(RESTORED)
    for file in restored_files(checkpoint_folder):
        path = posixpath.join(folder, file.name)
        found = sha256_of(path)
        if found is None:
            raise missing_object("the restored state", path)
        if found != file.sha256:
            raise damaged_error("the restored state is damaged", path)

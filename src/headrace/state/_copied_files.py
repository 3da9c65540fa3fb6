"""Copies of a savepoint's files."""

from __future__ import annotations

import hashlib

from headrace.common._storage.locations import file_system_of
from headrace.errors import CheckpointError
from headrace.runtime.savepoint.manifest import StoredFile

_COPY_BYTES = 4 << 20


def copy_file(source: str, target: str, file: StoredFile) -> None:
    """Copy a file of a savepoint, in blocks.

    Raises:
        CheckpointError: it is missing, or is not what was written.
    """
    if not file_system_of(source).exists(source):
        raise _damaged_error(source, "is missing")
    files, found = file_system_of(target), hashlib.sha256()
    out = files.create(target)
    try:
        with file_system_of(source).open(source) as content:
            while block := content.read(_COPY_BYTES):
                found.update(block)
                out.write(block)
        files.sync(out)
    finally:
        out.close()
    if found.hexdigest() != file.sha256:
        raise _damaged_error(source, "is damaged: its checksum is not that of the manifest")


def _damaged_error(file: str, what: str) -> CheckpointError:
    return CheckpointError(
        f"a file of the savepoint {what}",
        where={"file": file},
        hint="begin with another savepoint",
    )

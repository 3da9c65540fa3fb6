"""The files that the enumerators of sources keep, as records."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from headrace.common._storage.locations import file_system_of
from headrace.common._storage.plain_json import read_pickles
from headrace.runtime.coordination.offset import source_key
from headrace.runtime.program import SourceProgram
from headrace.runtime.savepoint.records import EnumeratorRecord
from headrace.runtime.savepoint.savepoint import Savepoint

_HEADER_LINES = 2

FolderOf = Callable[[str], str]
"""Returns the folder of a source's enumerator, by the source's id."""


def export_enumerators(
    sources: Iterable[SourceProgram], folder_of: FolderOf
) -> Iterator[EnumeratorRecord]:
    """Yield the files of each source's enumerator."""
    for source in sources:
        folder = folder_of(source.id)
        files = file_system_of(folder)
        for file in files.all_files(folder):
            data = files.read(file.path)
            if data is not None:
                path = posixpath.relpath(file.path, folder)
                yield EnumeratorRecord(source_key(source.id), path, data)


def check_positions(savepoint: Savepoint) -> None:
    """Check that source positions can be read, before they are in a checkpoint of the job's own.

    Raises:
        CheckpointError: they have more than data, where only data is allowed.
    """
    read_pickles(savepoint.manifest.offset)
    for record in savepoint.read("enumerators"):
        for value in _json_in(record.data):
            read_pickles(value)


def _json_in(data: bytes) -> Iterator[Any]:
    """Yield the JSON in a file: line by line, or all of it after a header."""
    lines = data.splitlines(keepends=True)
    for text in (*lines, *(b"".join(lines[start:]) for start in range(_HEADER_LINES + 1))):
        with suppress(ValueError):
            yield json.loads(text)


def import_enumerators(records: Iterable[EnumeratorRecord], folder_of: FolderOf) -> None:
    """Write the files to the folders of the enumerators."""
    for record in records:
        path = posixpath.join(folder_of(record.source), record.path)
        file_system_of(path).replace(path, record.data)

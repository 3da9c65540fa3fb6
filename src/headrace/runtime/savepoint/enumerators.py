"""The files that the enumerators of sources keep, as records."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator

from headrace.common._storage.locations import file_system_of
from headrace.runtime.coordination.offset import source_key
from headrace.runtime.program import SourceProgram
from headrace.runtime.savepoint.records import EnumeratorRecord

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


def import_enumerators(records: Iterable[EnumeratorRecord], folder_of: FolderOf) -> None:
    """Write the files to the folders of the enumerators."""
    for record in records:
        path = posixpath.join(folder_of(record.source), record.path)
        file_system_of(path).replace(path, record.data)

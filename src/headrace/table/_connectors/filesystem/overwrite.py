"""Files of a table in place of those that are there: INSERT OVERWRITE."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from headrace.common._storage.locations import file_system_of
from headrace.common.changelog_mode import ChangelogMode
from headrace.connector import CommitterContext
from headrace.datastream.connectors._files.committer import FileCommitter
from headrace.datastream.connectors._files.sink import FileSink


@dataclass(frozen=True)
class TableFileSink(FileSink):
    """Files of a table."""

    mode: ChangelogMode = field(default_factory=ChangelogMode.insert_only)

    @property
    def accepts(self) -> ChangelogMode | None:
        return self.mode


@dataclass(frozen=True)
class OverwritingFileSink(TableFileSink):
    """Replaces files of a table. ``replaced``: their paths below the base path.

    ``by_folder``: only those are replaced in whose folder rows are written.
    """

    replaced: tuple[str, ...] = ()
    by_folder: bool = False

    def committer(self, context: CommitterContext) -> FileCommitter:
        made = super().committer(context)
        given = {each.name: getattr(made, each.name) for each in fields(made)}
        return OverwritingCommitter(**given, replaced=self.replaced, by_folder=self.by_folder)


@dataclass
class OverwritingCommitter(FileCommitter):
    """Publishes the new files, and then removes the old ones; both can be repeated."""

    replaced: tuple[str, ...] = ()
    by_folder: bool = False

    def commit(self, batch_id: int, committables: Sequence[Any]) -> None:
        super().commit(batch_id, committables)
        written = {file.bucket for committable in committables for file in committable}
        for path in self.replaced:
            if not self.by_folder or os.path.dirname(path) in written:
                self.files.remove(os.path.join(self.base_path, path))


def overwriting(sink: TableFileSink, *, by_folder: bool) -> OverwritingFileSink:
    """Return the sink that replaces the files that are there now."""
    base = sink.base_path
    replaced = [os.path.relpath(each.path, base) for each in file_system_of(base).walk(base)]
    given = {each.name: getattr(sink, each.name) for each in fields(sink)}
    return OverwritingFileSink(**given, replaced=tuple(replaced), by_folder=by_folder)

"""``blackhole``: takes rows and drops them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from headrace.common.changelog_mode import ChangelogMode
from headrace.connector import (
    ColumnChunk,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from headrace.table._connectors.connector import Connector, TableRequest, TableSink, refuse_to_read
from headrace.table._options import read_options


class BlackholeConnector(Connector):
    """Tables that are only written."""

    identifier = "blackhole"

    def source(self, request: TableRequest) -> NoReturn:
        """Refuse: the table can only be written."""
        refuse_to_read(request, self.identifier)

    def sink(self, request: TableRequest) -> TableSink:
        """Return a sink that drops rows."""
        read_options(request.name, request.options, ())
        return TableSink(BlackholeSink())


@dataclass(frozen=True)
class BlackholeSink(Sink):
    """Drops all records."""

    @property
    def accepts(self) -> ChangelogMode | None:
        """Any kind of row."""
        return None

    @property
    def takes_columns(self) -> bool:
        return True

    @property
    def takes_changes(self) -> bool:
        return True

    def writer(self, context: WriterContext) -> SinkWriter:
        return _Writer()

    def committer(self, context: CommitterContext) -> Committer:
        return _Committer()


class _Writer(SinkWriter):
    def write(self, values: Sequence[Any], timestamps: Sequence[int | None]) -> None:
        """Drop the records."""

    def write_columns(self, chunk: ColumnChunk) -> None:
        """Drop the records."""

    def prepare_commit(self) -> None:
        return None


class _Committer(Committer):
    def commit(self, batch_id: int, committables: Sequence[Any]) -> None:
        """Do nothing."""

"""Sinks that deliver to the user's own process: print and collect.

Tasks and committers run in other processes, so the runner brings the records to the driver.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.common.changelog_mode import ChangelogMode
from headrace.common.typeinfo import RowTypeInfo
from headrace.common.types import Row
from headrace.connector import (
    Committer,
    CommitterContext,
    ExecutedBy,
    Sink,
    SinkWriter,
    WriterContext,
)
from headrace.errors import JobError


class _DeliveredSink(Sink):
    collects = False
    """True where records are given to the program as they are, and not printed."""

    @property
    def accepts(self) -> ChangelogMode | None:
        """Any kind of row."""
        return None

    @property
    def executed_by(self) -> ExecutedBy:
        """The user's process."""
        return ExecutedBy.DRIVER

    def writer(self, context: WriterContext) -> SinkWriter:
        """Raise JobError: the runner delivers the records, so there is no writer.

        Raises:
            JobError: always.
        """
        raise _delivered_by_runner_error(self)

    def committer(self, context: CommitterContext) -> Committer:
        """Raise JobError: the runner delivers the records, so there is no committer.

        Raises:
            JobError: always.
        """
        raise _delivered_by_runner_error(self)


@dataclass(frozen=True)
class PrintSink(_DeliveredSink):
    """Prints records as lines on standard output or standard error.

    As in Flink, a line begins with the identifier, and with the number of the task (from 1) if
    there are several: ``id:2> record``.
    """

    identifier: str = ""
    to_stderr: bool = False

    @property
    def kind(self) -> str:
        return "print"

    @staticmethod
    def shown(value: Any, type_info: Any) -> str:
        """Return a record as PyFlink prints it: by its declared type, or by ``str`` without one."""
        if type_info is None:
            return str(value)
        if isinstance(type_info, RowTypeInfo) and isinstance(value, Row):
            # PyFlink converts rows to text in Python, and every other declared type in Java.
            return f"{value.get_row_kind().sign}[{','.join(map(str, value))}]"
        return str(type_info.format(value))


@dataclass(frozen=True)
class CollectSink(_DeliveredSink):
    """Delivers records unchanged, for ``execute_and_collect``."""

    collects = True

    @property
    def kind(self) -> str:
        return "collect"


def _delivered_by_runner_error(sink: Sink) -> JobError:
    return JobError(f"the runner delivers the records of {sink.name}")

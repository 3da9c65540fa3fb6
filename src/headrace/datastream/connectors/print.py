"""Sinks whose output belongs to the user's own process: print and collect.

Tasks and committers run in processes of their own, so what they gather is handed to the driver by
the runner. These classes say what is gathered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.datastream.connectors.base import (
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from headrace.errors import JobError


@dataclass(frozen=True)
class Delivery:
    """What one task gathered in one micro-batch, for the runner to hand over in task order."""

    partition: int
    values: tuple[Any, ...]


@dataclass(frozen=True)
class PrintSink(Sink):
    """Records as lines on standard output, or on standard error.

    As in Flink, a line begins with the identifier, and with the number of its task (from 1) where
    ``numbers_tasks`` says that there are several: ``id:2> record``. A record whose type is declared
    is shown as Flink shows it, others by ``str``.
    """

    identifier: str = ""
    to_stderr: bool = False
    numbers_tasks: bool = False
    type_info: Any = None

    def with_type_info(self, type_info: Any) -> PrintSink:
        """The same sink, for a stream of a declared type."""
        return replace(self, type_info=type_info)

    def writer(self, context: WriterContext) -> SinkWriter:
        """A writer that gathers lines, without their ends."""
        return _PrintWriter(context.partition, self)

    def committer(self, context: CommitterContext) -> Committer:
        """None of its own.

        Raises:
            JobError: always; the runner delivers.
        """
        raise _delivered(self)


@dataclass(frozen=True)
class CollectSink(Sink):
    """Records as they are, for ``execute_and_collect``."""

    def writer(self, context: WriterContext) -> SinkWriter:
        """A writer that gathers records."""
        return _CollectWriter(context.partition)

    def committer(self, context: CommitterContext) -> Committer:
        """None of its own.

        Raises:
            JobError: always; the runner delivers.
        """
        raise _delivered(self)


def _delivered(sink: Sink) -> JobError:
    return JobError(f"what {sink.name} gathers is delivered by the runner, not by a committer")


@dataclass
class _CollectWriter(SinkWriter):
    partition: int
    gathered: list[Any] = field(default_factory=list)

    def write(self, values: Sequence[Any], timestamps: Sequence[int | None]) -> None:
        self.gathered += values

    def prepare_commit(self) -> Delivery | None:
        return Delivery(self.partition, tuple(self.gathered)) if self.gathered else None


class _PrintWriter(_CollectWriter):
    def __init__(self, partition: int, sink: PrintSink) -> None:
        super().__init__(partition)
        number = str(partition + 1) if sink.numbers_tasks else ""
        prefix = ":".join(filter(None, (sink.identifier, number)))
        self._prefix = f"{prefix}> " if prefix else ""
        self._show = str if sink.type_info is None else sink.type_info.format

    def write(self, values: Sequence[Any], timestamps: Sequence[int | None]) -> None:
        prefix, show = self._prefix, self._show
        self.gathered += [prefix + show(value) for value in values]

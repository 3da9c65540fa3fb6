"""Writers and committers of sinks, for all runners; errors get a note that names the sink."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from headrace.connector import (
    CommitBy,
    Committer,
    CommitterContext,
    ExecutedBy,
    SinkWriter,
    WriterContext,
)
from headrace.runtime.block import Block, records_of
from headrace.runtime.columns.batch import chunk_of
from headrace.runtime.failure import sink_error_notes
from headrace.runtime.program import JobProgram, SinkProgram


def has_committer(sink: SinkProgram) -> bool:
    """Return whether a sink has a committer: not if tasks, the driver or Spark commit it."""
    connector = sink.sink
    return connector.executed_by is ExecutedBy.TASKS and connector.commits is CommitBy.DRIVER


def make_committer(program: JobProgram, sink: SinkProgram) -> Committer:
    """Make a sink's committer."""
    with sink_error_notes(sink, "making its committer"):
        committer: Committer = sink.sink.committer(
            CommitterContext(program.sink_id(sink), program.name)
        )
        return committer


def committers_of(program: JobProgram) -> dict[str, Committer]:
    """Return a committer for each sink that has one, by the sink's id."""
    return {sink.id: make_committer(program, sink) for sink in program.sinks if has_committer(sink)}


class SinkWriting:
    """Writes the records of one task to one sink: any number of writes, then ``prepare_commit``.

    In a ``with`` block the writer is aborted if the block fails before ``prepare_commit``.
    """

    def __init__(self, sink: SinkProgram, context: WriterContext) -> None:
        location = f"micro-batch {context.batch_id}, partition {context.partition}"
        self._at_sink, self._ended = sink_error_notes(sink, f"writing {location}"), False
        self._takes_columns = sink.sink.takes_columns
        self._takes_changes = sink.sink.takes_changes
        with self._at_sink:
            self._writer: SinkWriter = sink.sink.writer(context)

    def __enter__(self) -> Self:
        return self

    def write(self, block: Block) -> None:
        """Write a block's records, in order."""
        with self._at_sink:
            found: Any = block.values
            as_columns = self._takes_columns and not isinstance(found, list)
            if as_columns and (found.kinds is None or self._takes_changes):
                self._writer.write_columns(chunk_of(found))
                return
            values, times = records_of(block), block.timestamps
            self._writer.write(values, [*times] if times else [None] * len(values))

    def prepare_commit(self) -> Any:
        """Return what the committer needs, or None."""
        with self._at_sink:
            committable = self._writer.prepare_commit()
        self._ended = True
        return committable

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None or self._ended:
            return
        try:
            self._writer.abort()
        except Exception as late:
            error.add_note(f"and abort() failed: {type(late).__name__}: {late}")

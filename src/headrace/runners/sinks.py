"""A sink's writers and committers, for every runner: errors name the sink."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from headrace.connector import (
    ColumnChunk,
    CommitBy,
    Committer,
    CommitterContext,
    ExecutedBy,
    SinkWriter,
    WriterContext,
)
from headrace.runtime.block import Block, records_of
from headrace.runtime.failure import at_sink
from headrace.runtime.program import JobProgram, SinkProgram


def has_committer(sink: SinkProgram) -> bool:
    """True for sinks with a committer: not those that their tasks, the driver or Spark commit."""
    connector = sink.sink
    return connector.executed_by is ExecutedBy.TASKS and connector.commits is CommitBy.DRIVER


def make_committer(program: JobProgram, sink: SinkProgram) -> Committer:
    """A new committer of a sink."""
    with at_sink(sink, "making its committer"):
        made: Committer = sink.sink.committer(CommitterContext(program.sink_id(sink), program.name))
        return made


class SinkWriting:
    """One task's writing to one sink: any number of writes, then ``prepare_commit``.

    What the writer raises keeps its type and gets a note that names the sink. In a ``with`` block
    that fails before the end, the writer is aborted.
    """

    def __init__(self, sink: SinkProgram, context: WriterContext) -> None:
        place = f"micro-batch {context.batch_id}, partition {context.partition}"
        self._at_sink, self._ended = at_sink(sink, f"writing {place}"), False
        self._takes_columns = sink.sink.takes_columns
        with self._at_sink:
            self._writer: SinkWriter = sink.sink.writer(context)

    def __enter__(self) -> Self:
        return self

    def write(self, block: Block) -> None:
        """Write a block's records, in order."""
        with self._at_sink:
            found: Any = block.values
            if self._takes_columns and not isinstance(found, list) and found.kinds is None:
                chunk = ColumnChunk(found.batch, found.shape, timestamps=found.times)
                self._writer.write_columns(chunk)
                return
            values, times = records_of(block), block.timestamps
            self._writer.write(values, [*times] if times else [None] * len(values))

    def prepare_commit(self) -> Any:
        """What the sink's committer is to get, or None."""
        with self._at_sink:
            found = self._writer.prepare_commit()
        self._ended = True
        return found

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

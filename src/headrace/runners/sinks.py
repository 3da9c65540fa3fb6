"""A sink's writers and committers, for every runner: errors name the sink."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headrace.connector import CommitBy, Committer, CommitterContext, ServedBy, WriterContext
from headrace.runtime.failure import at_sink
from headrace.runtime.program import JobProgram, SinkProgram

Records = tuple[Sequence[Any], Sequence[int | None] | None]
"""Values and timestamps (None: no record has one), equally long."""


def served_by_committer(sink: SinkProgram) -> bool:
    """True for sinks with a committer: not those that their tasks, the driver or Spark commit."""
    connector = sink.sink
    return connector.served_by is ServedBy.TASKS and connector.commits is CommitBy.DRIVER


def committer_of(program: JobProgram, sink: SinkProgram) -> Committer:
    """A new committer of a sink."""
    with at_sink(sink, "making its committer"):
        made: Committer = sink.sink.committer(CommitterContext(program.sink_id(sink), program.name))
        return made


def write_records(sink: SinkProgram, context: WriterContext, records: Iterable[Records]) -> Any:
    """What a sink's committer is to get after one task's records were written, or None.

    Shapes:
        records: any number of pairs (values, timestamps), in order.

    Where writing fails, the writer is aborted. The exception keeps its type and gets a note that
    names the sink.
    """
    place = f"micro-batch {context.batch_id}, partition {context.partition}"
    with at_sink(sink, f"writing {place}"):
        writer = sink.sink.writer(context)
        try:
            for values, timestamps in records:
                writer.write(values, timestamps or [None] * len(values))
            return writer.prepare_commit()
        except BaseException as error:
            try:
                writer.abort()
            except Exception as late:
                error.add_note(f"and abort() failed: {type(late).__name__}: {late}")
            raise

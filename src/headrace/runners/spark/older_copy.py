"""Detects that a checkpoint is an older copy: its sinks have later micro-batches.

Sinks know the numbers of the micro-batches that they have committed. A micro-batch is in Spark's
log before its tasks run, so no sink has a later micro-batch than the log. If a sink has one, the
checkpoint was replaced by an older copy. Then the next micro-batches would have numbers that the
sink has already committed, but other records.

A sink may have committed the last micro-batch in the log: the driver may have died before Spark
completed it. The log has its end offset, so it is repeated with the same records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import SparkSession

from headrace.common._options.catalogue import RESTORE_WRITE_AGAIN
from headrace.common._storage.sealed import START_FRESH
from headrace.connector import CommitterContext, ExecutedBy
from headrace.errors import CheckpointError
from headrace.runners.sinks import make_committer
from headrace.runners.spark.checkpoint.checkpoint import Checkpoint
from headrace.runners.spark.checkpoint.metadata import new_scope
from headrace.runners.spark.checkpoint.resuming import print_notice
from headrace.runners.spark.query.dataframes import last_written
from headrace.runtime.failure import sink_error_notes
from headrace.runtime.program import JobProgram, SinkProgram

SinksAhead = Sequence[tuple[SinkProgram, int]]
"""Sinks, each with the last micro-batch that it has committed."""


def make_sinks_consistent(checkpoint: Checkpoint, spark: SparkSession, write_again: bool) -> None:
    """Check that the sinks have no later micro-batches than the checkpoint.

    ``write_again``: if they have, the checkpoint gets another scope. All sinks then have new ids,
    and take over their pending data of earlier micro-batches.

    Raises:
        CheckpointError: sinks have later ones, and ``write_again`` is False.
    """
    if not checkpoint.existed:
        return
    program = replace(checkpoint.program, scope=checkpoint.scope, partitions=checkpoint.partitions)
    done, planned = checkpoint.last_batches
    ahead = sinks_ahead(spark, program, planned)
    if not ahead:
        return
    if not write_again:
        raise older_copy_error(program, ahead, planned, checkpoint.directory)
    other = replace(program, scope=new_scope())
    for sink in program.sinks:
        if sink.keeps_state:
            with sink_error_notes(sink, "taking over its pending data"):
                pending = make_committer(program, sink).snapshot(done)
                make_committer(other, sink).restore(pending)
    checkpoint.change_scope(other.scope)
    print_notice(
        f"the checkpoint of {program.name!r} is older than the results in its sinks: it ends with"
        f" {_batch_text(planned)}, and {sink_list(ahead)}; later results are written a second time,"
        " under new sink ids"
    )


def sinks_ahead(spark: SparkSession, program: JobProgram, planned: int) -> SinksAhead:
    """Return the sinks that have a later micro-batch than the last planned one."""
    last_batches = ((sink, _last_batch(spark, program, sink)) for sink in program.sinks)
    return [(sink, last) for sink, last in last_batches if last is not None and last > planned]


def older_copy_error(
    program: JobProgram, ahead: SinksAhead, planned: int, location: str
) -> CheckpointError:
    """Return the error for a checkpoint that is older than its sinks."""
    return CheckpointError(
        f"the checkpoint of {program.name!r} is older than the results in its sinks: it ends with"
        f" {_batch_text(planned)}, and {sink_list(ahead)}. Continuing would lose records or write"
        " them twice",
        where={"checkpoint": location},
        hint="put the newest checkpoint of the job back; or set"
        f" {RESTORE_WRITE_AGAIN.key}: true, and the job continues from this copy: it writes the"
        " later results a second time (first remove them from the sinks, if readers must not see"
        f" them twice); or {START_FRESH}",
    )


def _last_batch(spark: SparkSession, program: JobProgram, sink: SinkProgram) -> int | None:
    """Return the last micro-batch that a sink has; -1 for none, None if it does not know."""
    if sink.sink.executed_by is ExecutedBy.DRIVER:
        return None
    sink_id = program.sink_id(sink)
    with sink_error_notes(sink, "reading which micro-batches it has"):
        if sink.sink.executed_by is ExecutedBy.SPARK:
            return last_written(spark, sink, sink_id)
        last: int | None = sink.sink.last_batch(CommitterContext(sink_id, program.name))
        return last


def sink_list(ahead: SinksAhead) -> str:
    """Return which micro-batch each sink has, as text."""
    return ", ".join(f"{_sink_name(sink)} has micro-batch {last}" for sink, last in ahead)


def _sink_name(sink: SinkProgram) -> str:
    return f"{sink.name!r} (uid={sink.uid})" if sink.uid else repr(sink.name)


def _batch_text(number: int) -> str:
    return f"micro-batch {number}" if number >= 0 else "no micro-batch"

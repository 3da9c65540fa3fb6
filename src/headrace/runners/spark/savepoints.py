"""Exports the savepoint of a job on Spark, and starts a checkpoint from a savepoint.

The state passes through this process, so it must fit into memory.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from headrace.connector import Committer
from headrace.errors import CheckpointError
from headrace.runners.processes import this_machine
from headrace.runners.sinks import has_committer, make_committer
from headrace.runners.spark.checkpoint import progress, restored
from headrace.runners.spark.checkpoint.generations import Generation, Origin
from headrace.runners.spark.checkpoint.layout import JOB, RESTORED, CheckpointFolder
from headrace.runners.spark.checkpoint.metadata import CheckpointMetadata
from headrace.runners.spark.checkpoint.owners import Ownership
from headrace.runners.spark.checkpoint.published import mark_published
from headrace.runners.spark.checkpoint.resuming import check_spark_files
from headrace.runners.spark.checkpoint.split_states import SplitStates
from headrace.runners.spark.older_copy import older_copy_error, sinks_ahead
from headrace.runners.spark.query.moved_state import records
from headrace.runners.spark.query.stored import backends_of, records_of
from headrace.runners.spark.startup.session import settings_of_query
from headrace.runtime.coordination.offset import source_key
from headrace.runtime.layout import OPERATOR, SOURCE, Layout, StatefulPart, check_layout_change
from headrace.runtime.program import JobProgram
from headrace.runtime.savepoint.job_state import create_savepoint, read_split_states
from headrace.runtime.savepoint.savepoint import Savepoint
from headrace.runtime.savepoint.sinks import import_sinks

_RECORDS = pa.schema(
    [("bucket", pa.int32()), ("stage", pa.int32()), ("name", pa.string()), ("data", pa.binary())]
)


def export_savepoint(spark: SparkSession, base: str, program: JobProgram) -> Savepoint:
    """Export all state of a stopped job, as it is after its last micro-batch.

    ``base``: the folder of checkpoints. ``program``: the one that the job ran last.

    Raises:
        CheckpointError: there is no checkpoint, it is damaged, or older than its sinks; or its last
            micro-batch was not completed, so sinks may have parts of it.
        CheckpointLockedError: the job is running.
    """
    checkpoint_folder = CheckpointFolder.of_job(base, program.name)
    with _ownership_of(checkpoint_folder):
        metadata = CheckpointMetadata.read(checkpoint_folder.store)
        if metadata is None:
            raise CheckpointError(
                f"there is no checkpoint of the job {program.name!r}",
                where={"checkpoint": checkpoint_folder.directory},
                hint="look at execution.checkpointing.dir and pipeline.name",
            )
        metadata = replace(
            metadata,
            generation=metadata.generation.without_origin_if(
                _has_committed(checkpoint_folder, metadata)
            ),
        )
        check_spark_files(checkpoint_folder, metadata)
        folder = checkpoint_folder.spark(metadata.generation.number)
        log = progress.log_of(folder)
        if metadata.generation.origin is not None or log.planned is not None or log.end is None:
            raise CheckpointError(
                f"the last micro-batch of {program.name!r} was not completed",
                where={"checkpoint": checkpoint_folder.directory},
                hint="start the job, and cancel it: it completes its micro-batch first",
            )
        program = replace(program, scope=metadata.scope)
        _, planned = metadata.generation.last_batches(log)
        if ahead := sinks_ahead(spark, program, planned):
            raise older_copy_error(program, ahead, planned, checkpoint_folder.directory)
        with settings_of_query(spark, 1, None, dataframes=True):
            stages = Layout.from_json(metadata.layout).stages
            backends = backends_of(program, records(spark, folder, stages, log.committed))
        return create_savepoint(
            program,
            backends,
            SplitStates(checkpoint_folder.store).load(log.end["epoch"]),
            log.end,
            metadata.generation.first_batch + log.committed + 1,
            _make_committers(program),
        )


def start_from_savepoint(
    savepoint: Savepoint, base: str, program: JobProgram, ignore_unclaimed: bool = False
) -> None:
    """Make a checkpoint from which the program resumes at a savepoint.

    The program may have another parallelism, other key groups and other stages. Its first
    micro-batch takes over the state; until that is committed, each start begins with the savepoint.

    Raises:
        CheckpointError: the job has a checkpoint already, the savepoint is damaged, or the program
            has no owner for some of its state (unless ``ignore_unclaimed``).
        CheckpointLockedError: a job is running there.
    """
    _check_claims(savepoint, program, ignore_unclaimed)
    checkpoint_folder = CheckpointFolder.of_job(base, program.name)
    with _ownership_of(checkpoint_folder):
        if checkpoint_folder.store.get(JOB) is not None:
            raise CheckpointError(
                f"the job {program.name!r} has a checkpoint already",
                where={"checkpoint": checkpoint_folder.directory},
                hint="choose another pipeline.name or another execution.checkpointing.dir",
            )
        checkpoint_folder.clear()
        program = program.as_successor_of(savepoint.manifest.offset["program"], copied=True)
        metadata = CheckpointMetadata.of(program)
        program = replace(program, scope=metadata.scope, partitions=metadata.partitions)
        restored.write(checkpoint_folder, _to_parquet(records_of(savepoint, program)))
        import_sinks(savepoint.read("sinks"), _make_committers(program), ignore_unclaimed)
        start = dict(savepoint.manifest.offset)
        SplitStates(checkpoint_folder.store).save(start["epoch"], read_split_states(savepoint))
        stages = Layout.of(program).stages
        origin = Origin(RESTORED, 0, stages, start, groups=Layout.of(program).groups())
        mark_published(checkpoint_folder)
        replace(metadata, generation=Generation(0, savepoint.manifest.batch_id, origin)).write(
            checkpoint_folder.store
        )


@contextmanager
def _ownership_of(checkpoint_folder: CheckpointFolder) -> Iterator[None]:
    """Acquire the checkpoint within a ``with`` block."""
    ownership = Ownership(checkpoint_folder.store, checkpoint_folder.signals, this_machine())
    ownership.acquire(uuid.uuid4().hex)
    try:
        ownership.keep_renewing()
        yield
    finally:
        ownership.release()


def _has_committed(checkpoint_folder: CheckpointFolder, metadata: CheckpointMetadata) -> bool:
    return progress.has_committed(checkpoint_folder.spark(metadata.generation.number))


def _make_committers(program: JobProgram) -> dict[str, Committer]:
    return {sink.id: make_committer(program, sink) for sink in program.sinks if has_committer(sink)}


def _check_claims(savepoint: Savepoint, program: JobProgram, ignore_unclaimed: bool) -> None:
    """Raise CheckpointError unless the program has an operator for all state of the savepoint.

    The number of key groups may differ.
    """
    now = Layout.of(program)
    known = {part.id: part for part in now.parts}
    before: list[StatefulPart] = []
    for entry in savepoint.manifest.operators:
        groups = known[entry.id].key_groups if entry.id in known else 0
        if entry.kinds() or entry.id in known:
            name = (entry.id, OPERATOR, entry.kind, entry.name, entry.uid)
            before.append(StatefulPart(*name, key_groups=groups))
    read = savepoint.manifest.offset["sources"]
    for source in program.sources:
        if source_key(source.id) in read:
            before.append(known[source.id])
    gone = set(read) - {source_key(source.id) for source in program.sources}
    before += [StatefulPart(key, SOURCE, "", key, None) for key in sorted(gone)]
    states = {entry.id: entry.kinds() for entry in savepoint.manifest.operators}
    check_layout_change(Layout(tuple(before), now.stages), now, ignore_unclaimed, lambda: states)


def _to_parquet(records: Iterable[Mapping[str, Any]]) -> bytes:
    out = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist([*records], _RECORDS), out)
    return bytes(out.getvalue())


__all__ = ["export_savepoint", "start_from_savepoint"]

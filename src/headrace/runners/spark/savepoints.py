"""Writes savepoints of jobs on Spark, and starts checkpoints from savepoints.

Keyed state is written and read by bucket, in Spark's tasks. What passes through this process is
small: watermarks, split states, lists of operator instances, broadcast state, and the pending data
of sinks.
"""

from __future__ import annotations

import posixpath
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pyspark.sql import SparkSession

from headrace.common._options.catalogue import RESTORE_WRITE_AGAIN
from headrace.common._storage.locations import file_system_of, location_of
from headrace.common._storage.pickles import only_data
from headrace.errors import CheckpointError, UnsupportedError
from headrace.runners.sinks import committers_of
from headrace.runners.spark.checkpoint import progress, restored
from headrace.runners.spark.checkpoint.generations import Generation, Origin
from headrace.runners.spark.checkpoint.layout import (
    DATAFRAME,
    JOB,
    RESTORED,
    CheckpointFolder,
)
from headrace.runners.spark.checkpoint.metadata import (
    CheckpointMetadata,
    has_checkpoint_error,
    streaming_dataframes,
)
from headrace.runners.spark.checkpoint.owners import owned
from headrace.runners.spark.checkpoint.pins import Pin
from headrace.runners.spark.checkpoint.published import mark_published
from headrace.runners.spark.checkpoint.resuming import print_notice
from headrace.runners.spark.checkpoint.split_states import SplitStates
from headrace.runners.spark.older_copy import SinksAhead, sink_list, sinks_ahead
from headrace.runners.spark.query.state_export import export_state
from headrace.runners.spark.query.state_import import OperatorImport, import_state
from headrace.runners.spark.query.stored import records_of
from headrace.runners.spark.query.worker import ProgramRef
from headrace.runners.spark.startup.session import activate, session_beside
from headrace.runtime.layout import Layout
from headrace.runtime.program import JobProgram, VertexProgram
from headrace.runtime.savepoint.claims import check_claims
from headrace.runtime.savepoint.enumerators import (
    check_positions,
    export_enumerators,
    import_enumerators,
)
from headrace.runtime.savepoint.folder import (
    RecordFile,
    StoredSavepoint,
    check_is_free,
    write_manifest,
)
from headrace.runtime.savepoint.job_state import (
    describe_operators,
    export_splits,
    header_of,
    make_manifest,
    mixed_states,
    read_split_states,
)
from headrace.runtime.savepoint.manifest import Manifest, PartChecksum, StoredFile
from headrace.runtime.savepoint.records import SinkRecord
from headrace.runtime.savepoint.sinks import import_sinks


def check_can_be_saved(program: JobProgram, checkpoint_folder: CheckpointFolder) -> None:
    """Raise UnsupportedError if a savepoint would lack what a source of the program needs."""
    names = checkpoint_folder.files.names(checkpoint_folder.directory)
    if any(name.startswith(DATAFRAME) for name in names):
        raise UnsupportedError(
            "a job that reads a DataFrame has no savepoints: its rows are in the checkpoint only",
            where={"checkpoint": checkpoint_folder.directory},
            hint="write the DataFrame to files, and read them with FileSource",
        )
    for id_ in streaming_dataframes(program):
        name = next(source.name for source in program.sources if source.id == id_)
        raise UnsupportedError(
            "a job with a streaming DataFrame has no savepoints: the DataFrame's position is known"
            " to Spark only",
            where={"source": name},
            hint="read it with a source of Headrace, such as KafkaSource or FileSource",
        )


def export_savepoint(
    spark: SparkSession, ref: ProgramRef, program: JobProgram, pin: Pin, target: str
) -> Manifest:
    """Write a savepoint of a pinned micro-batch to the folder ``target``, and return its manifest.

    ``program``: the one that ran it, with the scope of its sinks. Its workers know ``ref``.

    Raises:
        CheckpointError: there is a savepoint in the folder already, or the checkpoint is damaged.
        OSError: the storage fails.
    """
    target = location_of(target)
    check_is_free(target)
    metadata = pin.metadata
    log = progress.log_of(pin.folder.spark(metadata.generation.number))
    if log.end is None:
        raise CheckpointError(
            "no micro-batch is committed yet", where={"checkpoint": pin.folder.directory}
        )
    groups = {vertex.id: vertex.groups for stage in program.stages for vertex in stage}
    write = partial(
        export_state,
        session_beside(spark, metadata.partitions),
        ref,
        pin.state_folder,
        Layout.from_json(metadata.layout).stages,
        pin.batch,
        groups,
        metadata.partitions,
        target,
    )
    report = write()
    if mixed_states(report.groups):
        for path in report.files:
            file_system_of(target).remove(posixpath.join(target, path))
        report = write(convert_at_ms=log.end["now_ms"])
    files: dict[str, StoredFile] = dict(report.files)
    parts = {name: PartChecksum(count) for name, count in report.counts.items()}
    operators, watermarks, tasks = describe_operators(program, report.groups)
    states = SplitStates(pin.folder.store).load(log.end["epoch"])
    tables: Mapping[str, Any] = {
        "watermarks": watermarks,
        "tasks": tasks,
        "splits": export_splits(states),
        "sinks": _pending_of(pin),
        "enumerators": export_enumerators(program.sources, pin.folder.of_source),
    }
    for table, records in tables.items():
        file = RecordFile(target, "part-0", table)
        count = file.write(records)
        if count:
            parts[table] = PartChecksum(count)
        files |= file.close()
    first = metadata.generation.first_batch + pin.batch + 1
    manifest = make_manifest(program, operators, log.end, first)
    manifest = replace(manifest, parts=parts, files=files, created_ms=pin.made_ms)
    write_manifest(manifest, target)
    return manifest


def _pending_of(pin: Pin) -> Iterator[SinkRecord]:
    positions: dict[str, int] = {}
    for sink, piece in pin.pending():
        position = positions.get(sink, 0)
        positions[sink] = position + 1
        yield SinkRecord(sink, position, piece)


@dataclass(frozen=True)
class Restore:
    """How a job begins from a savepoint.

    ``ignore_unclaimed``: state that the program has no owner for is dropped. ``write_again``: sinks
    may have later micro-batches than the savepoint, which are then written a second time.
    ``fresh``: a checkpoint of the job is removed.
    """

    savepoint: StoredSavepoint
    ignore_unclaimed: bool = False
    write_again: bool = False
    fresh: bool = False


def start_from_savepoint(
    spark: SparkSession,
    ref: ProgramRef,
    restore: Restore,
    base: str,
    program: JobProgram,
) -> None:
    """Make a checkpoint from which the program resumes at a savepoint.

    The program may have another parallelism, other key groups and other stages. Its first
    micro-batch takes over the state; until that is committed, each start begins with the savepoint.
    ``ref``: the program, for workers.

    Raises:
        CheckpointError: the job has a checkpoint already, the savepoint is damaged, the program
            has no owner for some of its state (unless ``ignore_unclaimed``), or a sink has later
            micro-batches (unless ``write_again``).
        CheckpointLockedError: a job is running there.
    """
    with only_data(not program.settings.allow_pickles):
        _start_from_savepoint(spark, ref, restore, base, program)


def _start_from_savepoint(
    spark: SparkSession, ref: ProgramRef, restore: Restore, base: str, program: JobProgram
) -> None:
    savepoint = restore.savepoint
    check_claims(savepoint, program, restore.ignore_unclaimed)
    check_positions(savepoint)
    checkpoint_folder = CheckpointFolder.of_job(base, program.name)
    checkpoint_folder.check_name()
    with owned(checkpoint_folder):
        if checkpoint_folder.store.get(JOB) is not None and not restore.fresh:
            raise has_checkpoint_error(program.name, checkpoint_folder.directory)
        _check_sinks(spark, restore, program)
        checkpoint_folder.clear()
        program = program.as_successor_of(savepoint.manifest.offset["program"], copied=True)
        metadata = CheckpointMetadata.of(program)
        program = replace(program, scope=metadata.scope, partitions=metadata.partitions)
        _write_state(spark, ref, savepoint, program, checkpoint_folder)
        import_enumerators(savepoint.read("enumerators"), checkpoint_folder.of_source)
        import_sinks(savepoint.read("sinks"), committers_of(program), restore.ignore_unclaimed)
        start = dict(savepoint.manifest.offset)
        SplitStates(checkpoint_folder.store).save(start["epoch"], read_split_states(savepoint))
        layout = Layout.of(program)
        origin = Origin(RESTORED, 0, layout.stages, start, groups=layout.groups())
        mark_published(checkpoint_folder)
        generation = Generation(0, savepoint.manifest.batch_id, origin)
        replace(metadata, generation=generation, restored_from=savepoint.folder).write(
            checkpoint_folder.store
        )


def _check_sinks(spark: SparkSession, restore: Restore, program: JobProgram) -> None:
    """Check that no sink has micro-batches after the savepoint.

    Raises:
        CheckpointError: one has, and ``write_again`` is False.
    """
    manifest = restore.savepoint.manifest
    writer = replace(program, scope=manifest.scope, name=manifest.job)
    last = manifest.batch_id - 1
    ahead = sinks_ahead(spark, writer, last)
    if not ahead:
        return
    if not restore.write_again:
        raise _sinks_ahead_error(restore, ahead, last)
    print_notice(
        f"the savepoint ends with micro-batch {last}, and {sink_list(ahead)}: later results stay in"
        " these sinks, and are written a second time"
    )


def _sinks_ahead_error(restore: Restore, ahead: SinksAhead, last: int) -> CheckpointError:
    return CheckpointError(
        f"the savepoint ends with micro-batch {last}, and {sink_list(ahead)}: results after the"
        " savepoint would be written a second time",
        where={"savepoint": restore.savepoint.folder},
        hint="remove the results after the savepoint from the sinks, or give the sinks another"
        f" place; or set {RESTORE_WRITE_AGAIN.key}: true to write these results a second time",
    )


def _write_state(
    spark: SparkSession,
    ref: ProgramRef,
    savepoint: StoredSavepoint,
    program: JobProgram,
    checkpoint_folder: CheckpointFolder,
) -> None:
    """Write the state of all operators as restored state."""
    target = checkpoint_folder.spark(RESTORED)
    vertices = [vertex for stage in program.stages for vertex in stage]
    known = [vertex for vertex in vertices if savepoint.manifest.operator(vertex.id) is not None]
    in_tasks = [vertex for vertex in known if vertex.keyed]
    operators = [_operator_import(savepoint, vertex, program) for vertex in in_tasks]
    beside = session_beside(spark, program.partitions)
    report = import_state(beside, ref, savepoint, operators, program.partitions, target)
    activate(spark)
    writer = restored.RestoredWriter(target, f"driver-{uuid.uuid4().hex[:8]}")
    for record in records_of(savepoint, program, [v for v in known if not v.keyed]):
        writer.add(*record)
    shared = [vertex for vertex in in_tasks if vertex.broadcast]
    for record in records_of(savepoint, program, shared, broadcast_only=True):
        writer.add(*record)
    restored.record_files(checkpoint_folder, [*report.files, *writer.close()])


def _operator_import(
    savepoint: StoredSavepoint, vertex: VertexProgram, program: JobProgram
) -> OperatorImport:
    entry = savepoint.manifest.operator(vertex.id)
    assert entry is not None, "an operator that the savepoint does not know"
    header = header_of(savepoint, vertex, entry)
    at = vertex.id, vertex.stage, vertex.groups
    return OperatorImport(*at, header, entry, program.settings.page_bytes)

"""Checks whether a program may resume from a checkpoint, and updates the checkpoint's metadata."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from headrace.common._storage.object_store import ObjectStore
from headrace.common._storage.sealed import missing_object
from headrace.errors import CheckpointError
from headrace.planner.kept_subtasks import with_kept_subtasks
from headrace.runners.clock import BEHIND_MS, behind_message, wall_clock_ms
from headrace.runners.spark.checkpoint import progress, restored, spark_files
from headrace.runners.spark.checkpoint.generations import Stages
from headrace.runners.spark.checkpoint.layout import JOB, RESTORED, CheckpointFolder
from headrace.runners.spark.checkpoint.metadata import (
    CheckpointMetadata,
    check_program,
    check_repeatable,
    streaming_dataframes,
)
from headrace.runners.spark.checkpoint.published import may_have_published
from headrace.runners.spark.checkpoint.split_states import SplitStates
from headrace.runtime.coordination.offset import Offset
from headrace.runtime.coordination.replay_fingerprints import replay_fingerprints
from headrace.runtime.coordination.stops import check_not_drained
from headrace.runtime.layout import Layout, States, redistributes_instances
from headrace.runtime.program import JobProgram

ReadStates = Callable[[str, Stages, int], States]
"""Reads the names of states: takes a folder of Spark's, its stages, and a micro-batch."""


def metadata_for(
    checkpoint_folder: CheckpointFolder,
    program: JobProgram,
    ignore_unclaimed: bool,
    read_states: ReadStates | None,
) -> CheckpointMetadata:
    """Check that the program may resume, and return the checkpoint's new metadata.

    Before the first micro-batch is published, any program may start; then the folder is cleared.
    """
    store = checkpoint_folder.store
    if may_have_published(checkpoint_folder):
        metadata = CheckpointMetadata.read(store)
        if metadata is None:
            raise missing_object("the description of the job", store.location(JOB))
        resumed = _resumed_metadata(
            metadata, checkpoint_folder, program, ignore_unclaimed, read_states
        )
        return write_if_changed(metadata, resumed, store)
    try:
        metadata = CheckpointMetadata.read(store)
        if metadata is not None:
            check_program(metadata, program, checkpoint_folder.directory, ignore_unclaimed=False)
            if not metadata.needs_new_generation(program):
                return write_if_changed(metadata, metadata.resumed_by(program), store)
            _print_restart(checkpoint_folder, "the program has other stages or partitions")
    except CheckpointError as error:
        _print_restart(checkpoint_folder, error.message)
    checkpoint_folder.clear()
    metadata = CheckpointMetadata.of(program, with_contents=not checkpoint_folder.temporary)
    metadata.write(store)
    return metadata


def with_checkpoint_subtasks(
    checkpoint_folder: CheckpointFolder, program: JobProgram
) -> JobProgram:
    """Return the program, with the old numbers of partitions and instances where they must stay.

    A micro-batch that sinks may have published must be repeated with the same ones. And a streaming
    DataFrame's position is bound to Spark's folder, so state cannot move to a new one.
    """
    metadata = CheckpointMetadata.read(checkpoint_folder.store)
    if metadata is None:
        return program
    before = Layout.from_json(metadata.layout)
    redistributes = redistributes_instances(before, Layout.of(program))
    if not redistributes and metadata.partitions == program.partitions:
        return program
    if has_uncommitted_batch(checkpoint_folder, metadata) or streaming_dataframes(program):
        if redistributes:
            print_notice(
                "operators with state without keys keep their number of subtasks in this run"
            )
            program = with_kept_subtasks(program, before.groups())
        return replace(program, partitions=metadata.partitions)
    return program


def has_uncommitted_batch(
    checkpoint_folder: CheckpointFolder, metadata: CheckpointMetadata
) -> bool:
    """Return whether a micro-batch was planned and not completed."""
    folder = checkpoint_folder.spark(metadata.generation.number)
    origin = metadata.generation.without_origin_if(progress.has_committed(folder)).origin
    planned = progress.log_of(folder).planned is not None
    return planned or (origin is not None and origin.planned is not None)


def _resumed_metadata(
    metadata: CheckpointMetadata,
    checkpoint_folder: CheckpointFolder,
    program: JobProgram,
    ignore_unclaimed: bool,
    read_states: ReadStates | None,
) -> CheckpointMetadata:
    """Return the metadata after the program resumed, with a new generation if state must move."""
    folder = checkpoint_folder.spark(metadata.generation.number)
    metadata = replace(
        metadata,
        generation=metadata.generation.without_origin_if(progress.has_committed(folder)),
    )
    origin = metadata.generation.origin
    check_spark_files(checkpoint_folder, metadata)
    states = None
    if read_states is not None:
        states = partial(_stored_states, checkpoint_folder, metadata, read_states)
    check_program(metadata, program, checkpoint_folder.directory, ignore_unclaimed, states)
    _check_sources_and_clock(folder, metadata, program, checkpoint_folder.directory)
    log = progress.log_of(folder)
    planned = log.planned or (origin.planned if origin is not None else None)
    repeats = planned is not None
    # A later program than the one that planned it has changed no state. Older builds stored only
    # there which program ran last.
    last = planned or (None if metadata.identity else log.end)
    if last is not None:
        metadata = replace(metadata, identity=last["program"])
    if metadata.routes or replay_fingerprints(program) or metadata.needs_new_generation(program):
        if repeats:
            check_repeatable(metadata, program, checkpoint_folder.directory)
        if metadata.needs_new_generation(program):
            metadata = metadata.with_new_generation(log)
            print_notice(_move_text(checkpoint_folder, metadata.partitions, program))
    return metadata.resumed_by(program, repeats)


def _move_text(checkpoint_folder: CheckpointFolder, before: int, program: JobProgram) -> str:
    text = f"the state in {checkpoint_folder.directory} moves to other"
    if before == program.partitions:
        return f"{text} stages of {program.name!r}"
    return f"{text} partitions of {program.name!r}: from {before} to {program.partitions}"


def _check_sources_and_clock(
    folder: str, metadata: CheckpointMetadata, program: JobProgram, location: str
) -> None:
    """Raise CheckpointError if a source was drained: the new run would end at once.

    Print a notice if the clock is behind the time that the job has reached.
    """
    log, origin = progress.log_of(folder), metadata.generation.origin
    last = log.planned or log.end
    if last is None and origin is not None:
        last = origin.planned or origin.start
    if last is None:
        return
    try:
        reached = Offset.from_json(last)
        check_not_drained(program.sources, reached)
    except CheckpointError as error:
        error.where = {"checkpoint": location, **error.where}
        raise
    behind_ms = reached.now_ms - wall_clock_ms()
    if behind_ms >= BEHIND_MS:
        print_notice(behind_message(behind_ms))


def _stored_states(
    checkpoint_folder: CheckpointFolder, metadata: CheckpointMetadata, read_states: ReadStates
) -> States:
    """Return the states of the last committed micro-batch."""
    number, origin = metadata.generation.number, metadata.generation.origin
    if origin is not None:
        number, stages, batch = origin.number, origin.stages, origin.batch
    else:
        stages = Layout.from_json(metadata.layout).stages
        batch = progress.log_of(checkpoint_folder.spark(number)).committed
    return read_states(checkpoint_folder.spark(number), stages, batch) if batch >= 0 else {}


def check_spark_files(checkpoint_folder: CheckpointFolder, metadata: CheckpointMetadata) -> None:
    """Check the small files of Spark's checkpoint; Spark checks its state by itself.

    Raises:
        CheckpointError: a file is missing or damaged.
    """
    generation = metadata.generation
    folder, origin = checkpoint_folder.spark(generation.number), generation.origin
    if origin is None:
        if not progress.has_planned(folder):
            raise missing_object("Spark's log of offsets", folder)
        committed = progress.check_logs(folder, SplitStates(checkpoint_folder.store).last)
        _relocate_and_check(folder, committed, len(Layout.from_json(metadata.layout).stages))
    elif origin.number == RESTORED:
        restored.check_restored(checkpoint_folder)
    elif origin.batch >= 0:
        older = checkpoint_folder.spark(origin.number)
        if not progress.is_committed(older, origin.batch):
            raise missing_object("the state that is to be taken over", older)
        _relocate_and_check(older, origin.batch, len(origin.stages))


def _relocate_and_check(folder: str, committed: int, stages: int) -> None:
    if spark_files.relocate(folder):
        print_notice(f"the checkpoint was moved to {folder}: Spark's paths in it were updated")
    spark_files.check_files(folder, committed, stages)


def write_if_changed(
    before: CheckpointMetadata, now: CheckpointMetadata, store: ObjectStore
) -> CheckpointMetadata:
    """Store the metadata ``now`` if it differs from ``before``, and return it."""
    if now != before:
        now.write(store)
    return now


def _print_restart(checkpoint_folder: CheckpointFolder, reason: str) -> None:
    print_notice(
        f"{checkpoint_folder.directory} starts anew, because nothing was committed in it: {reason}"
    )


def print_notice(text: str) -> None:
    """Print a notice for the user on standard error."""
    print(f"headrace: {text}", file=sys.stderr)

"""Whether a program may go on from a checkpoint, and what is written down of it then."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from headrace.common._storage.object_store import ObjectStore
from headrace.common._storage.sealed import missing_object
from headrace.errors import CheckpointError
from headrace.planner.kept_subtasks import with_kept_subtasks
from headrace.runners.clock import BEHIND_MS, behind, wall_clock_ms
from headrace.runners.spark.checkpoint import progress, restored, spark_files
from headrace.runners.spark.checkpoint.begun import has_published
from headrace.runners.spark.checkpoint.facts import (
    Facts,
    check,
    check_repetition,
    streaming_dataframes,
)
from headrace.runners.spark.checkpoint.generations import Stages
from headrace.runners.spark.checkpoint.layout import JOB, RESTORED, Place
from headrace.runners.spark.checkpoint.split_states import SplitStates
from headrace.runtime.coordination.offset import Offset
from headrace.runtime.coordination.replay_fingerprints import replay_fingerprints
from headrace.runtime.coordination.stops import check_not_drained
from headrace.runtime.layout import Layout, States, shares_out
from headrace.runtime.program import JobProgram

ReadStates = Callable[[str, Stages, int], States]
"""Gives the states in a folder of Spark's with such stages, after a micro-batch."""


def facts_of(
    place: Place, program: JobProgram, ignore_unclaimed: bool, read_states: ReadStates | None
) -> Facts:
    """What is written down of the program, after a look whether it may go on here.

    Until a first micro-batch was published nothing was promised, so another program may begin.
    """
    store = place.store
    if has_published(place):
        facts = Facts.read(store)
        if facts is None:
            raise missing_object("what says whose this checkpoint is", store.location(JOB))
        going_on = _going_on(facts, place, program, ignore_unclaimed, read_states)
        return written(facts, going_on, store)
    try:
        facts = Facts.read(store)
        if facts is not None:
            check(facts, program, place.directory, ignore_unclaimed=False)
            if not facts.moves(program):
                return written(facts, facts.following(program), store)
            _tell_anew(place, "the program has other stages")
    except CheckpointError as error:
        _tell_anew(place, error.message)
    place.clear()
    facts = Facts.of(program, with_contents=not place.temporary)
    facts.write(store)
    return facts


def with_subtasks_of(place: Place, program: JobProgram) -> JobProgram:
    """The program, with as many instances as there were where their state cannot be shared out.

    A micro-batch that sinks may have published must be repeated by the same instances. And the
    position of a streaming DataFrame stays in its folder, so no state moves out of that.
    """
    facts = Facts.read(place.store)
    if facts is None:
        return program
    before = Layout.from_json(facts.layout)
    if not shares_out(before, Layout.of(program)):
        return program
    if _is_to_repeat(place, facts) or streaming_dataframes(program):
        tell("operators with state without keys keep their number of subtasks in this run")
        return with_kept_subtasks(program, before.groups())
    return program


def _is_to_repeat(place: Place, facts: Facts) -> bool:
    """True where a micro-batch was planned and not completed."""
    folder = place.spark(facts.generation.number)
    origin = facts.generation.settled(progress.has_committed(folder)).origin
    planned = progress.log_of(folder).planned is not None
    return planned or (origin is not None and origin.planned is not None)


def _going_on(
    facts: Facts,
    place: Place,
    program: JobProgram,
    ignore_unclaimed: bool,
    read_states: ReadStates | None,
) -> Facts:
    """Those of a program that goes on, in a new generation where state must move."""
    folder = place.spark(facts.generation.number)
    facts = replace(facts, generation=facts.generation.settled(progress.has_committed(folder)))
    origin = facts.generation.origin
    check_spark(place, facts)
    states = None
    if read_states is not None:
        states = partial(_kept_states, place, facts, read_states)
    check(facts, program, place.directory, ignore_unclaimed, states)
    _check_reached(folder, facts, program, place.directory)
    log = progress.log_of(folder)
    planned = log.planned or (origin.planned if origin is not None else None)
    repeats = planned is not None
    # Who came after the program that planned it has changed no state. Older builds wrote down
    # nowhere else which program ran last.
    last = planned or (None if facts.identity else log.end)
    if last is not None:
        facts = replace(facts, identity=last["program"])
    if facts.routes or replay_fingerprints(program) or facts.moves(program):
        if repeats:
            check_repetition(facts, program, place.directory)
        if facts.moves(program):
            facts = facts.moved(log)
            tell(f"the state in {place.directory} moves to other stages of {program.name!r}")
    return facts.following(program, repeats)


def _check_reached(folder: str, facts: Facts, program: JobProgram, location: str) -> None:
    """Raise if a source is to read on that was drained; else the run would end at once.

    Warn where the clock is behind the time that was reached.
    """
    log, origin = progress.log_of(folder), facts.generation.origin
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
        tell(behind(behind_ms))


def _kept_states(place: Place, facts: Facts, read_states: ReadStates) -> States:
    """The states of the last committed micro-batch, wherever they lie."""
    number, origin = facts.generation.number, facts.generation.origin
    if origin is not None:
        number, stages, batch = origin.number, origin.stages, origin.batch
    else:
        stages = Layout.from_json(facts.layout).stages
        batch = progress.log_of(place.spark(number)).committed
    return read_states(place.spark(number), stages, batch) if batch >= 0 else {}


def check_spark(place: Place, facts: Facts) -> None:
    """Check the small files of Spark's part. Its state is checked by Spark.

    Raises:
        CheckpointError: a file is missing or damaged.
    """
    generation = facts.generation
    folder, origin = place.spark(generation.number), generation.origin
    if origin is None:
        if not progress.has_planned(folder):
            raise missing_object("Spark's log of offsets", folder)
        committed = progress.check_logs(folder, SplitStates(place.store).last)
        _check_files(folder, committed, len(Layout.from_json(facts.layout).stages))
    elif origin.number == RESTORED:
        restored.check(place)
    elif origin.batch >= 0:
        older = place.spark(origin.number)
        if not progress.is_committed(older, origin.batch):
            raise missing_object("the state that is to be taken over", older)
        _check_files(older, origin.batch, len(origin.stages))


def _check_files(folder: str, committed: int, stages: int) -> None:
    if spark_files.move_in(folder):
        tell(f"the checkpoint was moved to {folder}: Spark's paths in it are set right")
    spark_files.check_files(folder, committed, stages)


def written(before: Facts, now: Facts, store: ObjectStore) -> Facts:
    """The facts as they are now, which are written down where they have changed."""
    if now != before:
        now.write(store)
    return now


def _tell_anew(place: Place, reason: str) -> None:
    tell(f"{place.directory} is begun anew, as nothing was committed in it: {reason}")


def tell(text: str) -> None:
    """Say something to who started the job."""
    print(f"headrace: {text}", file=sys.stderr)

"""A job's checkpoint in the driver: taken, checked, and given back. ``layout.py`` draws it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import TracebackType

from headrace.common.objects.object_store import ObjectStore
from headrace.common.objects.sealed import ObjectFormat, get_json, json_bytes, missing, seal
from headrace.errors import CheckpointError
from headrace.planner.kept_subtasks import with_kept_subtasks
from headrace.runners.processes import Machine, this_machine
from headrace.runners.spark.checkpoint import owners, progress, restored, spark_files
from headrace.runners.spark.checkpoint.facts import (
    Facts,
    check,
    check_repetition,
    streaming_dataframes,
)
from headrace.runners.spark.checkpoint.generations import Generation, Stages
from headrace.runners.spark.checkpoint.layout import BEGUN, JOB, RESTORED, Place
from headrace.runners.spark.checkpoint.owners import Ownership
from headrace.runners.spark.checkpoint.split_states import SplitStates
from headrace.runtime.layout import Layout, States, shares_out
from headrace.runtime.offset import Offset
from headrace.runtime.program import JobProgram
from headrace.runtime.routes import routes
from headrace.runtime.stops import check_going_on

_BEGUN = ObjectFormat("begun")

ReadStates = Callable[[str, Stages, int], States]
"""Gives the states in a folder of Spark's with such stages, after a micro-batch."""


class Checkpoint:
    """The checkpoint of one run, owned from ``open`` to ``close``."""

    def __init__(
        self, place: Place, ownership: Ownership, facts: Facts, program: JobProgram
    ) -> None:
        self._place, self._ownership, self._facts = place, ownership, facts
        self.program = program
        """The program that goes on from it, with instances as they are there."""
        self._sources = frozenset(source.id for source in program.sources)
        self._closed = False

    @classmethod
    def open(
        cls,
        base: str | None,
        program: JobProgram,
        fresh: bool,
        ignore_unclaimed: bool = False,
        machine: Machine | None = None,
        read_states: ReadStates | None = None,
    ) -> Checkpoint:
        """Take the job's checkpoint, a temporary one where no base is configured.

        ``read_states`` is called where the program has lost an operator, to name its states.

        Raises:
            CheckpointLockedError: another driver runs on it.
            CheckpointError: the program cannot go on from it (``facts.check``), or it is damaged.
        """
        place = Place.of_job(base, program.name)
        ownership = Ownership(place.store, place.signals, machine or this_machine(), _tell)
        try:
            ownership.take(program.run_id)
            if not place.temporary:
                place.store.tidy()
                ownership.keep_renewing()
            if fresh:
                place.clear()
            program = _with_kept_subtasks(place, program)
            facts = _facts(place, program, ignore_unclaimed, read_states)
            _remove_left(place, facts.generation)
            progress.remove_unplanned(place.spark(facts.generation.number))
        except BaseException:
            ownership.release()
            place.remove()
            raise
        return cls(place, ownership, facts, program)

    @property
    def directory(self) -> str:
        """The folder that holds it."""
        return self._place.directory

    @property
    def temporary(self) -> bool:
        """True when it goes with the run."""
        return self._place.temporary

    @property
    def place(self) -> Place:
        """Where it lies."""
        return self._place

    @property
    def spark(self) -> str:
        """The folder for Spark's own checkpoint."""
        return self._place.spark(self.generation.number)

    @property
    def generation(self) -> Generation:
        """Which of Spark's folders that is, and what state it has to take over."""
        return self._facts.generation

    @property
    def resumed(self) -> bool:
        """True when an earlier run has planned micro-batches here."""
        return self.generation.origin is not None or progress.has_planned(self.spark)

    @property
    def begun_sources(self) -> frozenset[str]:
        """The ids of the sources that some micro-batch was planned to read."""
        origin = self.generation.origin
        before = frozenset(origin.start["sources"]) if origin is not None else frozenset()
        return before | progress.sources_of(self.spark)

    @property
    def finished(self) -> bool:
        """True when an earlier run has read all sources to their end.

        A source that was added since has not been read.
        """
        origin = self.generation.origin
        if origin is not None and origin.planned is None and not progress.has_planned(self.spark):
            if origin.number == RESTORED:
                return progress.have_been_read(origin.start, self._sources)
            return progress.is_finished(self._place.spark(origin.number), self._sources)
        return progress.is_finished(self.spark, self._sources)

    @property
    def suspended(self) -> bool:
        """True when a source has only stopped: what sinks hold back is for the run that goes on."""
        return progress.is_suspended(self.spark)

    def settle(self) -> None:
        """Leave the older generation, if this one has taken its state over."""
        if self.generation.origin is None:
            return
        before = self._facts
        settled = before.generation.settled(progress.has_committed(self.spark))
        self._facts = _written(before, replace(before, generation=settled), self._place.store)
        _remove_left(self._place, settled)

    @property
    def partitions(self) -> int:
        """The number of shuffle partitions, fixed when the checkpoint was made."""
        return self._facts.partitions

    @property
    def dataframes(self) -> list[str]:
        """The ids of the streaming DataFrames in the order of Spark's query."""
        return self._facts.dataframes or []

    @property
    def scope(self) -> str:
        """What distinguishes this checkpoint's sinks from those of any other."""
        return self._facts.scope

    @property
    def owner(self) -> int:
        """The owner epoch whose commits count."""
        return self._ownership.epoch

    def give_to(self, run_id: str) -> None:
        """From now on only the commits of this run count, not those of the one before.

        Raises:
            CheckpointLockedError: another driver has taken over.
        """
        self._ownership.take_again(run_id)

    def begin(self) -> None:
        """Say that a sink may publish from now on: the job's shape is fixed.

        Raises:
            CheckpointLockedError: another driver has taken over.
        """
        owners.check_owner(self._place.store, self.owner)
        begin_here(self._place)

    def claim(self, jvm_pid: int | None) -> None:
        """Write down in which process Spark runs on the checkpoint."""
        self._ownership.run_with(jvm_pid)

    def close(self) -> None:
        """Give the checkpoint back; a temporary one is removed."""
        if self._closed:
            return
        self._closed = True
        try:
            self._ownership.release()
        finally:
            self._place.remove()

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


@contextmanager
def commit_of(place: Place, owner: int, batch: int) -> Iterator[None]:
    """Publish a micro-batch inside; mostly called beside the driver, in a process of its own.

    Raises:
        CheckpointLockedError: another driver has taken over.
    """
    store = place.store
    with owners.committing(store, place.signals, owner, this_machine()):
        if batch == 0:
            begin_here(place)
        yield


def begin_here(place: Place) -> None:
    """Say that something may be published from here: no other program may begin here."""
    if place.store.get(BEGUN) is None:
        place.store.put_if_absent(BEGUN, seal(_BEGUN, json_bytes({})))


def _facts(
    place: Place, program: JobProgram, ignore_unclaimed: bool, read_states: ReadStates | None
) -> Facts:
    """What is written down of the program, after a look whether it may go on here.

    Until a first micro-batch was published nothing was promised, so another program may begin.
    """
    store = place.store
    if _has_published(place):
        facts = Facts.read(store)
        if facts is None:
            raise missing("what says whose this checkpoint is", store.location(JOB))
        going_on = _going_on(facts, place, program, ignore_unclaimed, read_states)
        return _written(facts, going_on, store)
    try:
        facts = Facts.read(store)
        if facts is not None:
            check(facts, program, place.directory, ignore_unclaimed=False)
            if not facts.moves(program):
                return _written(facts, facts.following(program), store)
            _tell_anew(place, "the program has other stages")
    except CheckpointError as error:
        _tell_anew(place, error.message)
    place.clear()
    facts = Facts.of(program, with_contents=not place.temporary)
    facts.write(store)
    return facts


def _with_kept_subtasks(place: Place, program: JobProgram) -> JobProgram:
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
        _tell("operators with state without keys keep their number of subtasks in this run")
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
    _check_stops(folder, facts, program, place.directory)
    repeats = False
    if facts.routes or routes(program) or facts.moves(program):
        log = progress.log_of(folder)
        repeats = log.planned is not None or (origin is not None and origin.planned is not None)
        if repeats:
            check_repetition(facts, program, place.directory)
        if facts.moves(program):
            facts = facts.moved(log)
            _tell(f"the state in {place.directory} moves to other stages of {program.name!r}")
    return facts.following(program, repeats)


def _check_stops(folder: str, facts: Facts, program: JobProgram, location: str) -> None:
    """Raise if a source is to read on that was drained; else the run would end at once."""
    log, origin = progress.log_of(folder), facts.generation.origin
    last = log.planned or log.end
    if last is None and origin is not None:
        last = origin.planned or origin.start
    if last is None:
        return
    try:
        check_going_on(program.sources, Offset.from_json(last))
    except CheckpointError as error:
        error.where = {"checkpoint": location, **error.where}
        raise


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
            raise missing("Spark's log of offsets", folder)
        committed = progress.check_logs(folder, SplitStates(place.store).last)
        _check_files(folder, committed, len(Layout.from_json(facts.layout).stages))
    elif origin.number == RESTORED:
        restored.check(place)
    elif origin.batch >= 0:
        older = place.spark(origin.number)
        if not progress.is_committed(older, origin.batch):
            raise missing("the state that is to be taken over", older)
        _check_files(older, origin.batch, len(origin.stages))


def _check_files(folder: str, committed: int, stages: int) -> None:
    if spark_files.move_in(folder):
        _tell(f"the checkpoint was moved to {folder}: Spark's paths in it are set right")
    spark_files.check_files(folder, committed, stages)


def _remove_left(place: Place, generation: Generation) -> None:
    """Remove the generations that are not needed any more."""
    for number in place.generations():
        if number not in generation.needed:
            shutil.rmtree(place.spark(number))


def _written(before: Facts, now: Facts, store: ObjectStore) -> Facts:
    if now != before:
        now.write(store)
    return now


def _has_published(place: Place) -> bool:
    return (
        get_json(place.store, BEGUN, _BEGUN) is not None
        or SplitStates(place.store).last > 0
        or any(progress.has_committed(place.spark(n)) for n in place.generations())
        or _tasks_may_have_committed(place)
    )


def _tasks_may_have_committed(place: Place) -> bool:
    """True when a sink that commits by task was at work: such commits are not reported."""
    if not any(progress.has_planned(place.spark(n)) for n in place.generations()):
        return False
    try:
        facts = Facts.read(place.store)
    except CheckpointError:
        return False  # reported where the facts are needed
    return facts is not None and facts.tasks_commit


def _tell_anew(place: Place, reason: str) -> None:
    _tell(f"{place.directory} is begun anew, as nothing was committed in it: {reason}")


def _tell(text: str) -> None:
    print(f"headrace: {text}", file=sys.stderr)


def own_jvm_pid() -> int | None:
    """The process id of this driver's JVM, where this process started it."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    return None if process is None else int(process.pid)

"""The metadata of a checkpoint: which job and program it belongs to."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from headrace.common._options.catalogue import (
    FRESH_VARIABLE,
    IGNORE_UNCLAIMED_STATE,
    START_VARIABLE,
)
from headrace.common._storage.locations import file_system_of, is_url, location_of
from headrace.common._storage.object_store import ObjectStore
from headrace.common._storage.sealed import ObjectFormat, get_json, put_json
from headrace.connector import ExecutedBy
from headrace.errors import CheckpointError, UnsupportedError
from headrace.runners.spark.checkpoint.generations import Generation, QueryLog
from headrace.runners.spark.checkpoint.layout import JOB
from headrace.runtime.coordination.replay_fingerprints import FOR_WATERMARKS, replay_fingerprints
from headrace.runtime.layout import SOURCE, Layout, States, needs_state_move
from headrace.runtime.layout import check_layout_change as check_claims
from headrace.runtime.program import JobProgram

_FORMAT = ObjectFormat("job")


@dataclass(frozen=True)
class CheckpointMetadata:
    """What is stored of the program that a checkpoint belongs to.

    ``layout``: the operators with state. ``partitions``: Spark's shuffle partitions. ``scope``:
    part of the sink ids. ``contents``: (source, name, ``Source.fingerprint``) of the sources that
    have a fingerprint. ``generation``: the current generation of Spark's checkpoint. ``routes``:
    the replay fingerprints, which must be equal to repeat a micro-batch. ``dataframes``: the
    streaming DataFrames in the order of Spark's query, which numbers them; None in checkpoints of
    older builds. ``places``: by the id of a sink that may hold records back, where it writes.
    ``identity``: ``JobProgram.identity``; empty in checkpoints of older builds.
    ``restored_from``: the folder of the savepoint that it began from; empty for none.
    ``configured_parallelism``: that of the program's configuration when ``partitions`` was last
    set; None if it had none, or in checkpoints of older builds. ``start``: names the start that
    made the checkpoint, if it is one that a supervisor repeats.
    """

    name: str
    layout: dict[str, Any]
    partitions: int
    scope: str
    contents: list[list[Any]]
    generation: Generation = field(default_factory=Generation)
    routes: dict[str, str] = field(default_factory=dict)
    dataframes: list[str] | None = None
    places: dict[str, str] = field(default_factory=dict)
    identity: str = ""
    restored_from: str = ""
    configured_parallelism: int | None = None
    start: str = ""

    @classmethod
    def of(cls, program: JobProgram, with_contents: bool = True) -> CheckpointMetadata:
        """Return the metadata of a new checkpoint; ``with_contents``: a later run may use it."""
        return cls(
            program.name,
            Layout.of(program).to_json(),
            program.parallelism,
            new_scope(),
            _list_fingerprints(program) if with_contents else [],
            routes=replay_fingerprints(program),
            dataframes=streaming_dataframes(program),
            places=_sink_locations(program),
            identity=program.identity,
            start=os.environ.get(START_VARIABLE, ""),
        )

    def resumed_by(self, program: JobProgram, repeats: bool = False) -> CheckpointMetadata:
        """Return the metadata after ``program`` resumed from this checkpoint; check it before.

        ``repeats``: it starts with a micro-batch that another run planned.
        """
        layout = Layout.of(program).as_successor_of(Layout.from_json(self.layout))
        known = {
            source: [source, *rest]
            for source, *rest in (*self.contents, *_list_fingerprints(program))
        }
        # A sink that was removed and is back may have some partitions of the repeated micro-batch.
        fingerprints = {**(self.routes if repeats else {}), **replay_fingerprints(program)}
        return replace(
            self,
            layout=layout.to_json(),
            contents=[*known.values()],
            routes=fingerprints,
            places={**self.places, **_sink_locations(program)},
            identity=program.as_successor_of(self.identity).identity,
            dataframes=streaming_dataframes(program)
            if self._reads_other_dataframes(program)
            else self.dataframes,
            partitions=program.partitions,
        )

    @property
    def has_task_commits(self) -> bool:
        """Whether a sink commits by task: such commits are not reported to the driver."""
        return any(sink != FOR_WATERMARKS for sink in self.routes)

    def needs_new_generation(self, program: JobProgram) -> bool:
        """Return whether the program needs a new query of Spark's, which takes over the state.

        That is so if state moves to other stages or partitions, if the number of instances of its
        operator changes, or if other streaming DataFrames are read.
        """
        if self.partitions != program.partitions:
            return True
        if needs_state_move(Layout.from_json(self.layout), Layout.of(program)):
            return True
        return self.dataframes is not None and self._reads_other_dataframes(program)

    def _reads_other_dataframes(self, program: JobProgram) -> bool:
        return {*(self.dataframes or ())} != {*streaming_dataframes(program)}

    def with_new_generation(self, log: QueryLog) -> CheckpointMetadata:
        """Return the metadata with a new generation after the current one, whose log is ``log``."""
        layout = Layout.from_json(self.layout)
        following = self.generation.next_generation(
            log, layout.stages, layout.groups(), self.partitions
        )
        return replace(self, generation=following)

    @classmethod
    def read(cls, store: ObjectStore) -> CheckpointMetadata | None:
        """Read the metadata; None if there is none.

        Raises:
            CheckpointError: the metadata is damaged.
        """
        fields = get_json(store, JOB, _FORMAT)
        if fields is None:
            return None
        generation = fields.pop("generation", None)
        metadata = cls(**fields)
        if generation is None:
            return metadata
        return replace(metadata, generation=Generation.from_json(generation))

    def write(self, store: ObjectStore) -> None:
        """Store the metadata."""
        put_json(store, JOB, _FORMAT, asdict(self))


def new_scope() -> str:
    """Return a unique scope."""
    return uuid.uuid4().hex[:12]


def check_program(
    metadata: CheckpointMetadata,
    program: JobProgram,
    location: str,
    ignore_unclaimed: bool,
    states: Callable[[], States] | None = None,
) -> None:
    """Check that a program may resume from a checkpoint.

    ``states``: see ``runtime.layout.check_layout_change``.

    Raises:
        CheckpointError: the checkpoint belongs to another job, the program has no operator for some
            of its state (see ``runtime.layout``), or the values of a collection have changed.
    """
    if metadata.name != program.name:
        raise CheckpointError(
            f"the checkpoint belongs to the job {metadata.name!r}, not to {program.name!r}",
            where={"checkpoint": location},
            hint="choose another pipeline.name or another execution.checkpointing.dir",
        )
    before, now = Layout.from_json(metadata.layout), Layout.of(program)
    try:
        settings = program.settings
        check_claims(
            before,
            now,
            ignore_unclaimed,
            states,
            settings.accept_bounds,
            settings.drop_partial_matches,
        )
    except CheckpointError as error:
        raise CheckpointError(
            f"{program.name!r} cannot continue from its checkpoint: {error.message}",
            where={"checkpoint": location, **error.where},
            hint=f"{error.hint}; {_start_fresh_hint('choose another pipeline.name')}",
        ) from None
    if metadata.needs_new_generation(program):
        _check_movable(before, program, location)
    _check_fingerprints(metadata, program, location)
    _check_sink_locations(metadata, program, location)


def check_repeatable(metadata: CheckpointMetadata, program: JobProgram, location: str) -> None:
    """Check that the program would repeat an uncompleted micro-batch as it was planned.

    Sinks may already have published parts of the micro-batch (see
    ``runtime.coordination.replay_fingerprints``).

    Raises:
        CheckpointError: the program is changed so that a sink that commits by task would get the
            records in different partitions, or timers would fire in a different micro-batch.
    """
    known = {part.id for part in Layout.from_json(metadata.layout).parts if part.role == SOURCE}
    now = replay_fingerprints(program, known)
    if metadata.routes.get(FOR_WATERMARKS) != now.get(FOR_WATERMARKS):
        raise _unrepeatable_error(
            program,
            "sinks may have published it, and in this program watermarks are made in other tasks,"
            " so that timers could fire twice or never",
            {"checkpoint": location},
        )
    for sink in program.sinks:
        if metadata.routes.get(sink.id, now.get(sink.id)) != now.get(sink.id):
            raise _unrepeatable_error(
                program,
                f"the tasks of the sink {sink.name!r} may have committed a part of it, and in"
                " this program the records reach the sink in other partitions",
                {"checkpoint": location, "sink": f"{sink.name!r} (uid={sink.uid or 'none'})"},
            )


def _unrepeatable_error(program: JobProgram, why: str, where: dict[str, Any]) -> CheckpointError:
    return CheckpointError(
        f"{program.name!r} cannot continue from its checkpoint yet: the last micro-batch was not"
        f" completed, {why}",
        where=where,
        hint="start the old program, let it complete a micro-batch, cancel it, then start this one."
        " The old program may have other functions, but needs the same exchanges, the same"
        " parallelism after a rebalance, the same steps before a rebalance, and the same order of"
        f" sources; or {_start_fresh_hint('choose another pipeline.name')}",
    )


def has_checkpoint_error(name: str, directory: str) -> CheckpointError:
    """Return the error for a restore where the job has a checkpoint."""
    return CheckpointError(
        f"the job {name!r} has a checkpoint already, so it does not begin from a savepoint",
        where={"checkpoint": directory},
        hint="leave out --from-savepoint to continue from the checkpoint; give --fresh as well to"
        " remove it; or choose another pipeline.name",
    )


def streaming_dataframes(program: JobProgram) -> list[str]:
    """Return the ids of the streaming DataFrames that a program reads, in its order."""
    return [
        source.id
        for source in program.sources
        if source.source is not None
        and source.source.executed_by is ExecutedBy.SPARK
        and not source.source.ends
    ]


def _check_movable(before: Layout, program: JobProgram, location: str) -> None:
    """Raise CheckpointError if a streaming DataFrame of the checkpoint would lose its position.

    Called if the state must move to other stages. A DataFrame that is new has no position to lose.
    """
    known, streaming = {part.id for part in before.parts}, streaming_dataframes(program)
    for source in program.sources:
        if source.id not in streaming or source.id not in known:
            continue
        raise CheckpointError(
            f"{program.name!r} cannot continue from its checkpoint: its state would have to move to"
            " other stages, or another streaming DataFrame was added or removed, and the streaming"
            f" DataFrame {source.name!r} would be read from its beginning",
            where={"checkpoint": location, "source": source.name},
            hint="keep the number of exchanges (key_by, rebalance, …) before each operator, and the"
            f" streaming DataFrames; {_start_fresh_hint('choose another pipeline.name')}",
        )


def _check_fingerprints(metadata: CheckpointMetadata, program: JobProgram, location: str) -> None:
    """Raise CheckpointError if the values of a collection differ from those in the checkpoint."""
    before = {source: digest for source, _, digest in metadata.contents}
    for source, name, digest in _list_fingerprints(program):
        if before.get(source, digest) != digest:
            raise CheckpointError(
                f"the values of {name!r} differ from those when this checkpoint was made",
                where={"checkpoint": location, "source": name},
                hint="a job continues with the values that it began with; to read others,"
                f" {_start_fresh_hint('give the job another name')}",
            )


def _check_sink_locations(metadata: CheckpointMetadata, program: JobProgram, location: str) -> None:
    """Raise CheckpointError if a sink with pending data in one location now writes to another.

    It is accepted if the old location no longer exists: then the files were moved.
    """
    for sink_id, now in _sink_locations(program).items():
        was = metadata.places.get(sink_id, now)
        if was == now or not _is_there(was):
            continue
        raise CheckpointError(
            f"the sink {program.sink(sink_id).name!r} writes to another place than when it last ran"
            " on this checkpoint, and its pending data would stay in the old one",
            where={"checkpoint": location, "was": was, "is now": now},
            hint="set it back, or give the sink another uid and give up this pending data"
            f" ({IGNORE_UNCLAIMED_STATE.key}: true)",
        )


def _sink_locations(program: JobProgram) -> dict[str, str]:
    """Return the location of each sink that may hold records back, by sink id."""
    sinks = (sink for sink in program.sinks if sink.keeps_state and sink.sink.locator)
    return {sink.id: _sink_location(sink.sink.locator) for sink in sinks}


def _sink_location(locator: str) -> str:
    try:
        place = location_of(locator)
    except UnsupportedError:  # no path
        return locator
    return place if is_url(place) else os.path.realpath(place)


def _is_there(place: str) -> bool:
    try:
        return file_system_of(place).exists(place)
    except UnsupportedError:  # no path
        return False


def _list_fingerprints(program: JobProgram) -> list[list[Any]]:
    """Return the id, name and fingerprint of each source that has a fingerprint."""
    fingerprints = [
        [source.id, source.name, source.source.fingerprint]
        for source in program.sources
        if source.source is not None
    ]
    return [each for each in fingerprints if each[2] is not None]


def _start_fresh_hint(otherwise: str) -> str:
    return (
        f"start anew (`headrace run --fresh`, or {FRESH_VARIABLE}=1 in the environment),"
        f" or {otherwise}"
    )

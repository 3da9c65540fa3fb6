"""Whose a checkpoint is: what is written down of the program that it was made by."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any

from headrace.common.objects.object_store import ObjectStore
from headrace.common.objects.sealed import ObjectFormat, get_json, put_json
from headrace.common.options.catalogue import FRESH_VARIABLE
from headrace.errors import CheckpointError
from headrace.runners.spark.checkpoint.layout import JOB
from headrace.runtime.program import JobProgram

_FORMAT = ObjectFormat("job")


@dataclass(frozen=True)
class Facts:
    """The job's name and shape, its shuffle partitions, the scope of its sinks.

    ``contents``: (source, its name, ``Source.fingerprint``) of the sources that have one.
    """

    name: str
    fingerprint: str
    shape: list[str]
    partitions: int
    scope: str
    contents: list[list[Any]]

    @classmethod
    def of(cls, program: JobProgram, with_contents: bool = True) -> Facts:
        """Those of a program, for a new checkpoint; ``with_contents``: it is to be used again."""
        return cls(
            program.name,
            program.fingerprint,
            list(program.shape),
            program.parallelism,
            uuid.uuid4().hex[:12],
            _contents(program) if with_contents else [],
        )

    @classmethod
    def read(cls, store: ObjectStore) -> Facts | None:
        """Those of a checkpoint; None where none are written down.

        Raises:
            CheckpointError: they are damaged.
        """
        found = get_json(store, JOB, _FORMAT)
        return None if found is None else cls(**found)

    def write(self, store: ObjectStore) -> None:
        """Write them down."""
        put_json(store, JOB, _FORMAT, asdict(self))


def check(facts: Facts, program: JobProgram, location: str) -> None:
    """Whether a program may go on from a checkpoint.

    Raises:
        CheckpointError: the checkpoint is another job's, or of a program of another shape, or one
            of its collections holds other values now.
    """
    if facts.name != program.name:
        raise CheckpointError(
            f"the checkpoint belongs to the job {facts.name!r}, not to {program.name!r}",
            where={"checkpoint": location},
            hint="choose another pipeline.name or another execution.checkpointing.dir",
        )
    if facts.fingerprint != program.fingerprint:
        raise _other_shape(facts, program, location)
    before = {source: digest for source, _, digest in facts.contents}
    for source, name, digest in _contents(program):
        if before.get(source, digest) != digest:
            raise CheckpointError(
                f"the values of {name!r} are others than when this checkpoint was made",
                where={"checkpoint": location, "source": name},
                hint="a job goes on within the values that it began with; to read others,"
                f" {_anew('give the job another name')}",
            )


def _contents(program: JobProgram) -> list[list[Any]]:
    found = [
        [source.id, source.name, source.source.fingerprint]
        for source in program.sources
        if source.source is not None
    ]
    return [each for each in found if each[2] is not None]


def _other_shape(facts: Facts, program: JobProgram, location: str) -> CheckpointError:
    hint = (
        f"{_anew('choose another pipeline.name')};"
        " operators, their order and their key groups must stay as they were"
    )
    before, now = facts.partitions, program.parallelism
    if before != now:
        # Not set, it is the number of the driver's cores.
        hint = f"set parallelism.default to {before}, as it was: it is {now} now; or {hint}"
    return CheckpointError(
        f"the checkpoint of {program.name!r} was made by a program of another shape",
        where={"checkpoint": location, **_first_difference(facts.shape, program.shape)},
        hint=hint,
    )


def _anew(otherwise: str) -> str:
    return (
        f"start anew (`headrace run --fresh`, or {FRESH_VARIABLE}=1 in the environment),"
        f" or {otherwise}"
    )


def _first_difference(before: Sequence[str], now: Sequence[str]) -> dict[str, str]:
    """The first line in which two shapes differ."""
    lines = zip_longest(before, now, fillvalue="nothing more")
    return next(({"was": was, "is now": is_now} for was, is_now in lines if was != is_now), {})

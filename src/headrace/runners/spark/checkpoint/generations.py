"""Generations of Spark's checkpoint, for state that must move between stages. Pure.

Spark identifies a stage by its number and cannot move state between stages. If state must move, a
job starts a new folder of Spark's, its next **generation**. The first micro-batch takes over the
state of the last generation. Until it is committed, the new generation has an **origin**, which
says what to take over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from headrace.runtime.coordination.offset import Offset

Stages = tuple[tuple[str, ...], ...]
"""For each stage, the ids of its vertices."""


@dataclass(frozen=True)
class QueryLog:
    """The last micro-batches in a folder of Spark's.

    ``committed``: the number of the last committed one; -1: none. ``end``: its end offset.
    ``planned``: the end offset of one that was planned after it; sinks may have committed it
    already.
    """

    committed: int = -1
    end: Mapping[str, Any] | None = None
    planned: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Origin:
    """The state with which a generation starts.

    ``number``: the older generation. ``batch``: Spark's number of the micro-batch whose state is
    taken over; -1: none. ``stages``: the stages of that state. ``start``: the offset to start at.
    ``planned``: the end offset of the first micro-batch, if it was planned before. ``groups``: by
    operator, the number of groups that its state is divided into. ``partitions``: Spark's number of
    partitions of that state; 0: that of the generation that takes it over.
    """

    number: int
    batch: int
    stages: Stages
    start: Mapping[str, Any]
    planned: Mapping[str, Any] | None = None
    groups: Mapping[str, int] = field(default_factory=dict)
    partitions: int = 0


@dataclass(frozen=True)
class Generation:
    """A generation of Spark's checkpoint.

    ``first_batch``: the job's number of its micro-batch 0.
    """

    number: int = 0
    first_batch: int = 0
    origin: Origin | None = None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the inverse of ``dataclasses.asdict``."""
        origin = data["origin"]
        if origin is not None:
            origin = Origin(**{**origin, "stages": tuple(map(tuple, origin["stages"]))})
        return cls(data["number"], data["first_batch"], origin)

    def without_origin_if(self, committed: bool) -> Generation:
        """Return this generation, without its origin if its first micro-batch was ``committed``."""
        return replace(self, origin=None) if committed else self

    def next_generation(
        self,
        log: QueryLog,
        stages: Stages,
        groups: Mapping[str, int] | None = None,
        partitions: int = 0,
    ) -> Generation:
        """Return the next generation, given the log, stages and partitions of this one.

        If this one has not taken over its state yet, the next one gets its origin.
        """
        origin, first_batch = self.origin, self.first_batch
        if origin is None:
            start = log.end if log.end is not None else _offset_before(log.planned)
            state = self.number, log.committed, stages
            origin = Origin(*state, start, groups=groups or {}, partitions=partitions)
            first_batch += log.committed + 1
        planned = log.planned if log.planned is not None else origin.planned
        if planned is not None and planned["epoch"] == origin.start["epoch"]:
            # A micro-batch without records, which sinks may have committed. Spark would not plan
            # it again if no state moves, so its number is skipped.
            planned, first_batch = None, first_batch + 1
        return Generation(self.number + 1, first_batch, replace(origin, planned=planned))

    def last_batches(self, log: QueryLog) -> tuple[int, int]:
        """Return the job's numbers of the last completed and last planned micro-batch; -1: none.

        No sink has a later one than the last planned, if this generation, with ``log``, is the
        newest.
        """
        done = self.first_batch + log.committed
        planned = log.planned
        if planned is None and log.committed < 0 and self.origin is not None:
            planned = self.origin.planned
        return done, done + (planned is not None)

    @property
    def needed(self) -> frozenset[int]:
        """The generations whose folders must be kept."""
        return frozenset({self.number} | ({self.origin.number} if self.origin else set()))


def _offset_before(planned: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the offset before the first micro-batch, which Spark does not log."""
    if planned is None:
        raise ValueError("nothing was planned: the job begins anew")
    first = Offset.from_json(planned)
    return replace(first, epoch=0, sources={}).to_json()

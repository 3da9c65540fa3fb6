"""Which of Spark's folders counts, and how a new one goes on from the last. Pure.

Spark knows a stage by its number and moves no state between them. Where state must move, a job
begins a new folder of Spark's, the next **generation**, whose first micro-batch takes the state of
the last one over. Its **origin** says what to take, until that micro-batch is committed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from headrace.runtime.coordination.offset import Offset

Stages = tuple[tuple[str, ...], ...]
"""The ids of the vertices of each stage."""


@dataclass(frozen=True)
class QueryLog:
    """What lies in Spark's folder: its last micro-batches.

    ``committed``: the number of the last one that Spark calls done, -1: none. ``end``: the offset
    at its end. ``planned``: the end of one after it, which sinks may have committed already.
    """

    committed: int = -1
    end: Mapping[str, Any] | None = None
    planned: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Origin:
    """What a generation begins with.

    ``batch``: Spark's number, in the generation ``number``, of the micro-batch whose state is
    taken; -1: there is none. ``stages``: where that state lies. ``start``: the offset to begin at.
    ``planned``: the offset at which the first micro-batch must end, as it was planned before.
    ``groups``: over how many groups the state of each operator lies spread there.
    """

    number: int
    batch: int
    stages: Stages
    start: Mapping[str, Any]
    planned: Mapping[str, Any] | None = None
    groups: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Generation:
    """One of Spark's folders. ``first_batch``: the job's number of its micro-batch 0."""

    number: int = 0
    first_batch: int = 0
    origin: Origin | None = None

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        """The value of the plain data that ``dataclasses.asdict`` gives."""
        origin = found["origin"]
        if origin is not None:
            origin = Origin(**{**origin, "stages": tuple(map(tuple, origin["stages"]))})
        return cls(found["number"], found["first_batch"], origin)

    def without_origin_if(self, committed: bool) -> Generation:
        """The same, without an origin once it has taken the state over: once it has committed."""
        return replace(self, origin=None) if committed else self

    def following(
        self, log: QueryLog, stages: Stages, groups: Mapping[str, int] | None = None
    ) -> Generation:
        """The next generation of a settled one, whose folder holds ``log`` and state ``stages``.

        A generation that has not taken the state over is left out: the next one has its origin.
        """
        origin, first_batch = self.origin, self.first_batch
        if origin is None:
            start = log.end if log.end is not None else _offset_before(log.planned)
            origin = Origin(self.number, log.committed, stages, start, groups=groups or {})
            first_batch += log.committed + 1
        planned = log.planned if log.planned is not None else origin.planned
        if planned is not None and planned["epoch"] == origin.start["epoch"]:
            # A micro-batch without records, which the sinks may have under this number. Spark
            # would not plan it again where no state moves, so its number is passed over.
            planned, first_batch = None, first_batch + 1
        return Generation(self.number + 1, first_batch, replace(origin, planned=planned))

    def last_batches(self, log: QueryLog) -> tuple[int, int]:
        """The job's numbers of the last micro-batch that is done, and of the last planned one.

        No sink has a later one than that, if this generation, whose folder holds ``log``, is the
        newest. -1: none.
        """
        done = self.first_batch + log.committed
        planned = log.planned
        if planned is None and log.committed < 0 and self.origin is not None:
            planned = self.origin.planned
        return done, done + (planned is not None)

    @property
    def needed(self) -> frozenset[int]:
        """The generations whose folders must stay."""
        return frozenset({self.number} | ({self.origin.number} if self.origin else set()))


def _offset_before(planned: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The offset before the first micro-batch: Spark does not log it."""
    if planned is None:
        raise ValueError("nothing was planned: the job begins anew")
    first = Offset.from_json(planned)
    return replace(first, epoch=0, sources={}).to_json()

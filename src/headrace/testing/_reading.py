"""A source, read through the engine's own coordinator."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.connector import (
    Budget,
    Source,
    SplitEnumerator,
    SplitRange,
)
from headrace.runtime.coordination.alignment import WatermarkAlignment
from headrace.runtime.coordination.coordinator import Coordinator
from headrace.runtime.coordination.offset import Offset, SourceProgress
from headrace.runtime.job_time import JobTime
from headrace.runtime.tasks.source_task import SourceTaskInput
from headrace.testing._pipeline import _planner

NO_LIMIT = Budget(1_000_000_000, 1 << 50)
MAX_STEPS = 20_000
START_MS = 1_700_000_000_000


@dataclass
class Reading:
    """What a source gave, split by split: ``values`` and ``bad``, in order; and the ranges read."""

    values: dict[str, list[Any]] = field(default_factory=dict)
    bad: list[Any] = field(default_factory=list)
    ranges: list[SplitRange] = field(default_factory=list)
    steps: int = 0

    def all(self) -> list[Any]:
        """The values of all splits."""
        return [value for values in self.values.values() for value in values]

    def read(self, source: Source, tasks: Sequence[SourceTaskInput]) -> None:
        """Read what source tasks are to read."""
        reader = source.reader()
        for split_range in (r for task in tasks for work in task.work for r in work.ranges):
            self.ranges.append(split_range)
            values = self.values.setdefault(split_range.split, [])
            for chunk in reader.read(pickle.loads(pickle.dumps(split_range))):
                assert chunk.timestamps is None or len(chunk.timestamps) == len(chunk.values)
                values += chunk.values
                self.bad += [bad for _, bad in chunk.bad]
        reader.close()


class Planner:
    """The engine's coordinator over one source: plans micro-batch after micro-batch.

    ``offset`` is where it stands. ``micro_batches`` are the micro-batches so far, as (start, end).
    ``pause`` holds a split back for a step. ``wrap`` puts something around the enumerator.
    """

    def __init__(
        self,
        source: Source,
        directory: Path,
        offset: Offset | None = None,
        pause: Callable[[str], bool] = lambda split: False,
        wrap: Callable[[SplitEnumerator], SplitEnumerator] = lambda enumerator: enumerator,
    ) -> None:
        plan, _ = _planner(
            lambda env: env.from_source(source, WatermarkStrategy.no_watermarks(), source.name),
            batch=False,
        )
        job = plan(None, 2)
        self._id = job.sources[0].id
        self._pauses = _ForcedPauses(self._id, pause)
        enumerator = wrap(source.enumerator(str(directory)))
        self._coordinator = Coordinator(job, {self._id: enumerator}, lambda epoch: {}, self._pauses)
        self.offset = offset or through_json(self._coordinator.initial(START_MS))
        self.micro_batches: list[tuple[Offset, Offset]] = []

    @property
    def progress(self) -> SourceProgress:
        """How far the source is read."""
        return self.offset.source(self._id)

    @property
    def paused(self) -> bool:
        """Whether the last step held a split back."""
        return self._pauses.any_paused

    def step(self, budget: Budget, now_ms: int) -> list[SourceTaskInput] | None:
        """Plan the next micro-batch, which is then over; None where nothing is new."""
        start = self.offset
        end = self._coordinator.latest(start, JobTime(now_ms, now_ms), budget)
        if end is start:
            return None
        self.offset = through_json(end)
        self.micro_batches.append((start, self.offset))
        tasks = self._coordinator.plan(start, self.offset)
        self._coordinator.committed(self.offset)
        return tasks

    def plan(self, start: Offset, end: Offset) -> list[SourceTaskInput]:
        """The tasks of a micro-batch that was planned before."""
        return self._coordinator.plan(start, end)

    def close(self) -> None:
        """Close the enumerator."""
        self._coordinator.close()


class _ForcedPauses(WatermarkAlignment):
    """Pauses splits as a test wants it."""

    def __init__(self, source_id: Any, pause: Callable[[str], bool]) -> None:
        super().__init__((), lambda epoch: {})
        self._id, self._pause = source_id, pause
        self.any_paused = False

    def paused(self, offset: Offset) -> Mapping[Any, frozenset[str]]:
        paused = frozenset(filter(self._pause, offset.source(self._id).positions))
        self.any_paused = bool(paused)
        return {self._id: paused}


def read_source(
    source: Source,
    directory: Path,
    budget: Callable[[], Budget] = lambda: NO_LIMIT,
    *,
    step_ms: int = 1000,
    restart: bool = False,
    pause: Callable[[str], bool] = lambda split: False,
) -> Reading:
    """Read a source until it has ended or, if it never does, gives nothing new.

    ``restart`` takes a new enumerator at every step, as after a crash. ``pause`` holds a split back
    for a step.
    """
    planner, now_ms = Planner(source, directory, pause=pause), START_MS
    reading = Reading()
    empty_steps = 0
    while reading.steps < MAX_STEPS:
        reading.steps += 1
        now_ms += step_ms
        if restart:
            planner.close()
            planner = Planner(source, directory, planner.offset, pause)
        tasks = planner.step(budget(), now_ms)
        reading.read(source, tasks or [])
        empty_steps = 0 if tasks is not None or planner.paused else empty_steps + 1
        if planner.progress.ended or (not source.bounded and empty_steps > 2):
            planner.close()
            return reading
    raise AssertionError(f"the source did not end within {MAX_STEPS} steps")


def through_json(offset: Offset) -> Offset:
    """The offset as a checkpoint gives it back; it must be the same."""
    text = json.dumps(offset.to_json())
    decoded = Offset.from_json(json.loads(text))
    assert decoded == offset
    assert json.dumps(decoded.to_json()) == text
    return decoded


def counts(values: Sequence[Any]) -> Counter[str]:
    """How often each value is there, by its ``repr``."""
    return Counter(map(repr, values))

"""Reads a source in a test through the engine's own coordinator."""

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
from headrace.testing._pipeline import _make_planner

NO_LIMIT = Budget(1_000_000_000, 1 << 50)
MAX_STEPS = 20_000
START_MS = 1_700_000_000_000


@dataclass
class Reading:
    """What was read of a source: values by split, bad records, and the ranges of splits."""

    values: dict[str, list[Any]] = field(default_factory=dict)
    bad: list[Any] = field(default_factory=list)
    ranges: list[SplitRange] = field(default_factory=list)
    steps: int = 0

    def all(self) -> list[Any]:
        """Return the values of all splits, split by split."""
        return [value for values in self.values.values() for value in values]

    def read(self, source: Source, tasks: Sequence[SourceTaskInput]) -> None:
        """Read all ranges of some source tasks."""
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
    """Plans micro-batches of one source with the engine's coordinator.

    ``offset`` is the current position; ``micro_batches`` are those planned so far, as pairs of
    start and end. ``pause`` says of a split whether it pauses in the next micro-batch. ``wrap``
    wraps the enumerator.
    """

    def __init__(
        self,
        source: Source,
        directory: Path,
        offset: Offset | None = None,
        pause: Callable[[str], bool] = lambda split: False,
        wrap: Callable[[SplitEnumerator], SplitEnumerator] = lambda enumerator: enumerator,
    ) -> None:
        plan, _ = _make_planner(
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
        """The current positions of the source's splits."""
        return self.offset.source(self._id)

    @property
    def paused(self) -> bool:
        """Whether a split was paused in the last step."""
        return self._pauses.any_paused

    def step(self, budget: Budget, now_ms: int) -> list[SourceTaskInput] | None:
        """Plan the next micro-batch, and commit it; None if there are no new records."""
        start = self.offset
        end = self._coordinator.latest(start, JobTime(now_ms, now_ms), budget)
        if end is start:
            return None
        self.offset = through_json(end)
        self.micro_batches.append((start, self.offset))
        tasks = self._coordinator.plan(start, self.offset)
        self._coordinator.report_committed(self.offset)
        return tasks

    def plan(self, start: Offset, end: Offset) -> list[SourceTaskInput]:
        """Plan a micro-batch between two offsets again."""
        return self._coordinator.plan(start, end)

    def close(self) -> None:
        """Close the enumerator."""
        self._coordinator.close()


class _ForcedPauses(WatermarkAlignment):
    """Pauses the splits that the test selects."""

    def __init__(self, source_id: Any, pause: Callable[[str], bool]) -> None:
        super().__init__((), lambda epoch: {})
        self._id, self._pause = source_id, pause
        self.any_paused = False

    def find_paused_splits(self, offset: Offset) -> Mapping[Any, frozenset[str]]:
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
    """Read a source to its end; an unbounded one until it has no new records.

    ``budget`` and ``pause`` are called for each micro-batch. With ``restart``, each micro-batch
    has a new enumerator, as after a crash.
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
    """Return the offset, encoded to JSON and decoded; fails unless both are equal."""
    text = json.dumps(offset.to_json())
    decoded = Offset.from_json(json.loads(text))
    assert decoded == offset
    assert json.dumps(decoded.to_json()) == text
    return decoded


def counts(values: Sequence[Any]) -> Counter[str]:
    """Return the number of occurrences of each value, by its ``repr``."""
    return Counter(map(repr, values))

"""Folders of records for the coordinator, and a harness for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.connector import Budget, Progress, SplitEnumerator, SplitRange
from headrace.runtime.coordination.coordinator import Coordinator
from headrace.runtime.coordination.offset import Offset, SourceProgress
from headrace.runtime.job_time import JobTime
from headrace.runtime.program import SourceProgram
from headrace.runtime.tasks.source_task import SourceTaskInput, SplitState, SplitWork
from tests.unit.runtime.programs import chain_of, job_of, node


@dataclass
class Folder(SplitEnumerator):
    """Splits that appear while the job runs, each with so many records; read ``piece`` a range.

    A bounded folder ends with what it holds; one that is watched never does.
    """

    splits: dict[str, int]
    bounded: bool = True
    piece: int = 10
    first: int = 0
    budgets: list[Budget] = field(default_factory=list)
    reported: list[Mapping[str, Any]] = field(default_factory=list)
    closed: bool = False
    found: set[str] = field(default_factory=set)

    def initial(self, now_ms: int) -> dict[str, Any]:
        self.found = set(self.splits)
        return {split: self.first for split in self.splits}

    def advance(
        self, positions: Mapping[str, Any], budget: Budget, now_ms: int, paused: frozenset[str]
    ) -> Progress:
        self.budgets.append(budget)
        started = dict.fromkeys(self.splits.keys() - self.found - positions.keys(), self.first)
        known = dict(positions) | started
        self.found |= known.keys()
        left, after, finished = budget.max_records, {}, {}
        for split in sorted(known):
            taken = 0 if split in paused else min(left, self.splits[split] - known[split])
            left -= taken
            position = known[split] + taken
            if self.bounded and split not in paused and position == self.splits[split]:
                finished[split] = position
            else:
                after[split] = position
        return Progress(after, finished, self.bounded and not after, started)

    def ranges(
        self, start: Mapping[str, Any], end: Mapping[str, Any], finished: frozenset[str]
    ) -> Sequence[SplitRange]:
        ranges = []
        for split in sorted(end):
            first, last = start[split], end[split]
            for at in range(first, last, self.piece):
                to = min(at + self.piece, last)
                ranges.append(SplitRange(split, at, to, records=to - at))
        return ranges

    def committed(self, positions: Mapping[str, Any]) -> None:
        self.reported.append(dict(positions))

    def close(self) -> None:
        self.closed = True


class Harness:
    """A coordinator over folders, with the split states that are reported to it."""

    def __init__(
        self,
        *folders: Folder,
        parallelism: int = 1,
        needs_ticks: bool = False,
        commit_interval_ms: int | None = None,
        dataframe: bool = False,
        **source: Any,
    ) -> None:
        """``dataframe``: the job reads one beside the folders."""
        chain = chain_of(node(1, None))
        sources = [
            SourceProgram(
                number, f"source {number}", None, None, None, chain, 1, number=number, **source
            )
            for number in range(len(folders) + dataframe)
        ]
        job = job_of(
            sources,
            parallelism=parallelism,
            needs_ticks=needs_ticks,
            max_records=1000,
            tick_ms=200,
        )
        job = replace(job, commit_interval_ms=commit_interval_ms)
        self.states: dict[tuple[int, str], SplitState] = {}
        self.coordinator = Coordinator(job, dict(enumerate(folders)), lambda epoch: self.states)
        self.offset = self.coordinator.initial(0)

    def latest(
        self,
        now_ms: int = 0,
        budget: Budget | None = None,
        monotonic_ms: int | None = None,
        task_records: int = 1,
    ) -> Offset:
        """``monotonic_ms``: where it is another time than ``now_ms``."""
        time = JobTime(now_ms, now_ms if monotonic_ms is None else monotonic_ms)
        return self.coordinator.latest(self.offset, time, budget, task_records)

    def step(
        self,
        now_ms: int = 0,
        budget: Budget | None = None,
        monotonic_ms: int | None = None,
        task_records: int = 1,
    ) -> list[SourceTaskInput]:
        """The tasks of the next micro-batch, which is then over."""
        end = self.latest(now_ms, budget, monotonic_ms, task_records)
        # an offset goes through Spark's log as JSON
        end = Offset.from_json(json.loads(json.dumps(end.to_json())))
        tasks = self.coordinator.plan(self.offset, end)
        self.offset = end
        return tasks

    def source(self, number: int = 0) -> SourceProgress:
        return self.offset.source(number)


def records(tasks: list[SourceTaskInput], source: int = 0) -> dict[str, list[tuple[int, int]]]:
    """The ranges of each split, in the order in which their blocks are read."""
    found: dict[str, list[tuple[int, int]]] = {}
    for task in sorted(tasks, key=lambda task: task.sender):
        for work in task.work:
            if work.source == source:
                ranges = [(each.start, each.end) for each in work.ranges]
                found.setdefault(work.split, []).extend(ranges)
    return found


def works(tasks: list[SourceTaskInput]) -> list[SplitWork]:
    return [work for task in tasks for work in task.work]

"""The data of a running job for reporters: current totals, and the history for rates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from headrace.common.job_status import JobStatus
from headrace.connector import Source
from headrace.metrics._merging import MetricId, MetricValue, Number
from headrace.runners.observers import BatchProgress, JobInfo, SplitsBySource
from headrace.runners.reporters.history import CountHistory
from headrace.runners.subtasks import CountKey, Subtasks
from headrace.runtime.program import JobProgram

RATE_SPAN_S = 60
"""The seconds over which Flink computes the rates of its own metrics."""

WAITED_MS = "waitedMs"
"""The name of a count: how long a source with unread records waited for other tasks.

It is not reported under this name.
"""


@dataclass
class Figures:
    """The totals of a run by operator and subtask, as Flink numbers subtasks.

    ``waited_ms``: by source and subtask, how long it waited for other tasks with unread records.
    """

    totals: Mapping[MetricId, MetricValue]
    waited_ms: Mapping[tuple[str, int], float]
    subtasks: Subtasks

    @cached_property
    def by_key(self) -> dict[CountKey, MetricValue]:
        """The values of all metrics."""
        return self.subtasks.values(self.totals)

    @cached_property
    def numbers(self) -> dict[CountKey, Number]:
        """The values of ``by_key`` as numbers, and ``WAITED_MS`` of sources."""
        numbers: dict[CountKey, Number] = {
            (source, subtask, WAITED_MS): waited
            for (source, subtask), waited in self.waited_ms.items()
        }
        numbers.update((key, value.value) for key, value in self.by_key.items())
        return numbers

    def number(self, operator: str, subtask: int, metric: str) -> Number | None:
        """Return the value of a metric, or None."""
        return self.numbers.get((operator, subtask, metric))


class ChainWatermarks(NamedTuple):
    """The operators of a vertex that make watermarks first in it, and all that have new ones."""

    makes: frozenset[str]
    gets_new: frozenset[str]


def chain_watermarks(program: JobProgram) -> dict[str, ChainWatermarks]:
    """Return the operators with new watermarks, by vertex."""
    found = {}
    for chain in program.chains:
        new = chain.nodes_with_new_watermarks()
        below = {
            link.target
            for node_id in new
            for link in chain.nodes[node_id].links
            if link.kind == "node"
        }
        found[chain.root] = ChainWatermarks(new - below, new)
    return found


@dataclass
class Run:
    """The data of one run of a job. Times are wall-clock times in ms."""

    job: JobInfo
    running_since_ms: int
    figures: Figures
    history: CountHistory[CountKey]
    chains: Mapping[str, ChainWatermarks]
    batch: BatchProgress | None = None
    known: int = 0
    """The number of metrics when the time spans of meters were last read."""
    splits: SplitsBySource = field(default_factory=dict)
    batches: int = 0
    restarts: int = 0
    failures: int = 0
    failed_ms: int | None = None
    down_ms: int = 0
    """How long the job was down between failures and restarts."""
    status: JobStatus = JobStatus.RUNNING
    waited_ms: dict[tuple[str, int], float] = field(default_factory=dict)

    @cached_property
    def has_split_metrics(self) -> bool:
        """Whether a source has metrics of its splits."""
        found = [type(each.source) for each in self.job.program.sources]
        none = (None, Source.split_metrics)
        return any(getattr(kind, "split_metrics", None) not in none for kind in found)

    def measured_ms(self, now_ms: int) -> float:
        """Return the length of the time in which the counts have grown, without restarts."""
        end_ms = self.history.end_ms(now_ms)
        if self.failed_ms is not None:
            end_ms = min(end_ms, self.failed_ms)
        return max(end_ms - self.job.started_ms - self.down_ms, 0)

    @cached_property
    def sources(self) -> frozenset[str]:
        """The ids of the job's sources."""
        return frozenset(each.id for each in self.job.program.sources)

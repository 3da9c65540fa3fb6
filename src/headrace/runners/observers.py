"""Observers of a running job: metric reporters, the display in a terminal, and the page."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, Protocol

from headrace.common.job_status import JobStatus
from headrace.connector import JsonValue
from headrace.metrics._merging import MetricId, MetricValue
from headrace.metrics._operator_counts import BatchCounts, operator_counts, source_counts
from headrace.runners.job_graph import JobGraph, job_graph
from headrace.runtime.program import JobProgram


class Slots(NamedTuple):
    """The executors of a job at one time, and the number of tasks that they can run at once."""

    executors: int
    tasks: int


@dataclass(frozen=True)
class JobInfo:
    """The description of a job at its start.

    ``runner``: ``spark`` or ``local``. ``location``: Spark's master, or the process.
    ``checkpoint``: its folder; None without one. ``started_ms``: the wall clock.
    """

    job_id: str
    name: str
    runner: str
    location: str
    cores: int
    checkpoint: str | None
    started_ms: int
    graph: JobGraph
    program: JobProgram = field(repr=False)
    find_slots: Callable[[], Slots | None] = field(default=lambda: None, repr=False)
    """Returns the executors that were seen last; None if not known."""
    has_open_batch: Callable[[], bool] = field(default=lambda: False, repr=False)
    """Returns whether a micro-batch has been planned and is not committed, as far as known."""

    def rescaled(self, program: JobProgram) -> JobInfo:
        """Return the description of a job that is run by another plan of its program."""
        return replace(self, graph=job_graph(program), program=program)

    def without_program(self) -> JobInfo:
        """Return the description of a job that has ended, without what belongs to the job."""
        slots = self.find_slots()
        return replace(
            self,
            program=_without_operators(self.program),
            find_slots=lambda: slots,
            has_open_batch=lambda: False,
        )


def _without_operators(program: JobProgram) -> JobProgram:
    """Return a program without sources, functions and sinks, which may be large."""
    return replace(program, sources=(), stages=(), sinks=())


@dataclass(frozen=True)
class Phases:
    """The parts of a micro-batch's duration, in ms; None: not known.

    ``plan``: deciding what is read. ``read``: sources, and the operators chained to them.
    ``process``: the operators after exchanges. ``commit``: the commits of sinks and of the
    checkpoint. On Spark, sinks write during ``read`` and ``process``; the duration of these two
    together is divided in proportion to the working time of their tasks.
    """

    plan_ms: float | None = None
    read_ms: float | None = None
    process_ms: float | None = None
    commit_ms: float | None = None


@dataclass(frozen=True)
class SplitStatus:
    """The position of a split, in the source's own form, and its unread records.

    ``pending_records`` and ``pending_bytes``: unread when the micro-batch was planned; None if the
    source does not know.
    """

    position: JsonValue
    pending_records: int | None = None
    pending_bytes: int | None = None
    idle: bool = False


SplitsBySource = Mapping[str, Mapping[str, SplitStatus]]
"""The splits at the end of a micro-batch, by source id and split."""


@dataclass(frozen=True)
class BatchProgress:
    """A committed micro-batch.

    ``started_ms`` and ``now_ms``: the wall clock at its start and its end. ``metrics``: of this
    micro-batch only. ``totals``: since the run began; later micro-batches do not change it.
    ``program``: the plan that ran it, of another parallelism once the job is rescaled.
    ``watermarks``: the minimum (ms) of each source, by id. ``counts`` and ``splits`` are computed
    when they are first read; ``splits`` must be read within ``on_batch``.
    """

    batch_id: int
    started_ms: int
    duration_ms: float
    now_ms: int
    phases: Phases
    metrics: Mapping[MetricId, MetricValue] = field(repr=False)
    totals: Mapping[MetricId, MetricValue] = field(repr=False)
    watermarks: Mapping[str, int]
    find_splits: Callable[[], SplitsBySource] = field(repr=False)
    program: JobProgram = field(repr=False)
    find_checkpoint_bytes: Callable[[], int | None] = field(default=lambda: None, repr=False)
    """Returns how many bytes the micro-batch added to the checkpoint; None if not known."""

    def without_program(self) -> BatchProgress:
        """Return the last micro-batch of a job that has ended, without its program and splits."""
        return replace(self, program=_without_operators(self.program), find_splits=dict)

    @cached_property
    def splits(self) -> SplitsBySource:
        """The splits of each source."""
        return self.find_splits()

    @cached_property
    def counts(self) -> BatchCounts:
        """The counts by operator and by source, as a job listener receives them."""
        return batch_counts(
            *(self.program, self.batch_id, self.metrics, self.totals),
            *(self.watermarks, self.now_ms),
        )


@dataclass(frozen=True)
class SavepointTaken:
    """A complete savepoint of the state after a micro-batch.

    ``size_bytes``: the size of its files. ``started_ms``: the wall clock. ``pause_ms``: how long
    the job's micro-batches waited for it; 0 if the job had stopped.
    """

    folder: str
    batch_id: int
    started_ms: int
    duration_ms: float
    size_bytes: int
    pause_ms: int = 0


@dataclass(frozen=True)
class SaveFailed:
    """A savepoint or a restore point that could not be written; the job goes on.

    ``folder``: that of the savepoint; None: a restore point. ``started_ms`` and ``failed_ms``: the
    wall clock.
    """

    error: BaseException = field(repr=False)
    folder: str | None
    started_ms: int
    failed_ms: int


def batch_counts(
    program: JobProgram,
    batch_id: int,
    metrics: Mapping[MetricId, MetricValue],
    totals: Mapping[MetricId, MetricValue],
    watermarks: Mapping[str, int],
    now_ms: int,
) -> BatchCounts:
    """Return the counts of a micro-batch; ``totals`` are those since the run began."""
    sources, operators = program.sources, program.operators
    return BatchCounts(
        batch_id,
        operator_counts(metrics, operators),
        source_counts(metrics, sources, watermarks, now_ms),
        operator_counts(totals, operators),
        source_counts(totals, sources, watermarks, now_ms),
        operator_counts(metrics, operators, by_subtask=True),
    )


class JobObserver(Protocol):
    """Watches a job, in the process that started it.

    Threads of the job call all methods except ``on_start``, one after another, and wait for each,
    so they must return quickly. If a method raises an exception, it is printed, the observer
    is not called again, and the job continues.
    """

    def on_start(self, job: JobInfo) -> None:
        """Called once, before the first micro-batch, by the thread that starts the job."""

    def on_batch(self, batch: BatchProgress) -> None:
        """Called once for each committed micro-batch, in order."""

    def on_failure(self, error: BaseException, restarts_in_ms: int | None) -> None:
        """Called when an attempt fails; ``restarts_in_ms`` None: the job has failed."""

    def on_savepoint(self, savepoint: SavepointTaken) -> None:
        """Called for each complete savepoint."""

    def on_save_failed(self, failed: SaveFailed) -> None:
        """Called for each savepoint or restore point that failed."""

    def on_end(self, status: JobStatus) -> None:
        """Called once at the end of the job, unless the process ends before."""


class Observers:
    """The observers of one job; False in a condition if there are none."""

    def __init__(self, observers: Sequence[JobObserver] = ()) -> None:
        self._observers = [*observers]
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._observers)

    def start(self, job: JobInfo) -> None:
        """Call ``on_start`` of each."""
        self._call(lambda each: each.on_start(job))

    def batch(self, batch: BatchProgress) -> None:
        """Call ``on_batch`` of each."""
        self._call(lambda each: each.on_batch(batch))

    def failure(self, error: BaseException, restarts_in_ms: int | None) -> None:
        """Call ``on_failure`` of each."""
        self._call(lambda each: each.on_failure(error, restarts_in_ms))

    def savepoint(self, savepoint: SavepointTaken) -> None:
        """Call ``on_savepoint`` of each."""
        self._call(lambda each: each.on_savepoint(savepoint))

    def save_failed(self, failed: SaveFailed) -> None:
        """Call ``on_save_failed`` of each."""
        self._call(lambda each: each.on_save_failed(failed))

    def end(self, status: JobStatus) -> None:
        """Call ``on_end`` of each."""
        self._call(lambda each: each.on_end(status))

    def _call(self, method: Callable[[JobObserver], None]) -> None:
        with self._lock:
            for observer in [*self._observers]:
                try:
                    method(observer)
                except Exception as error:
                    self._observers.remove(observer)
                    print(
                        f"headrace: {type(observer).__name__} has failed and is off for this job;"
                        f" the job continues: {type(error).__name__}: {error}",
                        file=sys.stderr,
                    )

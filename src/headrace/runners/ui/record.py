"""The recent data of a job for the display and the page: samples, micro-batches and failures.

The job's thread only appends. Counts are summed when they are read, and once a second.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.common.job_status import JobStatus
from headrace.metrics import _operator_counts
from headrace.metrics._merging import MetricId, MetricValue, Number, figures, merge_subtasks
from headrace.metrics._operator_counts import (
    RECORDS_IN,
    OperatorCounts,
    SourceCounts,
    operator_counts,
    source_counts,
)
from headrace.runners.clock import Clock, wall_clock_ms
from headrace.runners.job_graph import JobGraph
from headrace.runners.observers import (
    BatchProgress,
    JobInfo,
    Phases,
    SaveFailed,
    SavepointTaken,
    SplitsBySource,
)
from headrace.runners.reporters.flink_metrics import Loads
from headrace.runners.reporters.job_metrics import JobMetrics
from headrace.runners.reporters.samples import Sample as MetricSample
from headrace.runners.reporters.samples import as_float
from headrace.runners.ui.commands import Commands

if TYPE_CHECKING:
    from headrace.runners.ui.failures import ShownFailure

_SAMPLE_SECONDS = 1.0
_WINDOW_SECONDS = 5.0
"""Rates are averages over this time, or over the last micro-batch if it took longer."""

_SAMPLES = 64
_BATCHES = 400
_FAILURES = 50
_HISTORY_SECONDS = 120

_BUILT_IN = frozenset(value for name, value in vars(_operator_counts).items() if name.isupper())
"""The names of the metrics that every operator or source has."""


@dataclass(frozen=True)
class BatchRow:
    """A micro-batch in the timeline. ``records``: the number that the sources read."""

    batch_id: int
    started_ms: int
    duration_ms: float
    phases: Phases
    records: int


@dataclass(frozen=True)
class Failure:
    """A failed attempt. Only the texts of its exception are kept: the frames would keep objects.

    ``restarts_in_ms`` None: the job has failed. ``masked``: without values of records.
    """

    at_ms: int
    restarts_in_ms: int | None
    full: ShownFailure
    masked: ShownFailure

    def shown(self, with_values: bool) -> ShownFailure:
        """Return the exception for a reader who may, or may not, see values of records."""
        return self.full if with_values else self.masked


@dataclass(frozen=True)
class FailedSave:
    """A savepoint, or a restore point, that failed; ``message``: without values of records."""

    is_savepoint: bool
    started_ms: int
    failed_ms: int
    message: str


@dataclass(frozen=True)
class Sample:
    """The counts since the run began, at one time (``at_s``: monotonic clock, in seconds)."""

    at_s: float
    batch_id: int = -1
    operators: Mapping[str, OperatorCounts] = field(default_factory=dict)
    sources: Mapping[str, SourceCounts] = field(default_factory=dict)
    totals: Mapping[MetricId, MetricValue] = field(default_factory=dict)


@dataclass(frozen=True)
class OperatorView:
    """The current figures of an operator. Rates are per second.

    ``busy``: the share of the time in which its tasks worked (0 to 1), on the cores that they may
    use; None unless it is the first operator of a vertex. ``pending`` and ``pending_bytes``: unread
    records and bytes of a source; None if not known. ``late``: dropped late records. ``bad``:
    records that could not be decoded.
    """

    counts: OperatorCounts
    records_in: int
    in_rate: float
    out_rate: float
    busy: float | None
    watermark_ms: int | None
    pending: int | None = None
    pending_bytes: int | None = None
    late: int = 0
    bad: int = 0


@dataclass(frozen=True)
class JobView:
    """The figures of a job at one time. Times are in ms, rates are per second.

    ``batches`` and ``failures`` are only the last ones; the counts are of all.
    """

    job: JobInfo | None
    name: str
    status: JobStatus
    now_ms: int
    seconds: float
    operators: Mapping[str, OperatorView]
    records_in: int
    in_rate: float
    records_out: int
    out_rate: float
    watermark_ms: int | None
    lag_ms: int | None
    pending: int | None
    splits: SplitsBySource
    batches: Sequence[BatchRow]
    batch_count: int
    failures: Sequence[Failure]
    failure_count: int
    restarts: int
    figures: Mapping[str, float]

    @property
    def graph(self) -> JobGraph:
        """The job's graph; empty before the start."""
        return JobGraph((), (), ()) if self.job is None else self.job.graph

    @property
    def open_batches(self) -> int:
        """The number of micro-batches in progress: 0 or 1, as far as known."""
        if self.job is None or self.status is not JobStatus.RUNNING:
            return 0
        return int(self.job.has_open_batch())

    @property
    def late(self) -> int:
        """The number of late records that were dropped."""
        return sum(each.late for each in self.operators.values())

    @property
    def bad(self) -> int:
        """The number of records that could not be decoded."""
        return sum(each.bad for each in self.operators.values())

    @property
    def state_bytes(self) -> int | None:
        """The known size of the state in bytes; None if none is known."""
        known = [each.counts.state_bytes for each in self.operators.values()]
        sizes = [size for size in known if size is not None]
        return sum(sizes) if sizes else None


class JobRecord:
    """Observes one job, and keeps its data for the display and the page.

    ``monotonic`` returns seconds, ``wall_ms`` ms since the epoch. ``token``: a reader of the page
    who sends it sees values of records in failures, and may command the job. None: nobody may.
    """

    def __init__(
        self,
        name: str,
        monotonic: Callable[[], float] = time.monotonic,
        wall_ms: Clock = wall_clock_ms,
    ) -> None:
        self.name = name
        self.configuration: Mapping[str, str] = {}
        self.token: str | None = None
        self.commands = Commands()
        self.job: JobInfo | None = None
        self.savepoint: SavepointTaken | None = None
        self.failed_save: FailedSave | None = None
        self.status = JobStatus.CREATED
        self.status_times: dict[JobStatus, int] = {JobStatus.CREATED: wall_ms()}
        self.ended_ms: int | None = None
        self._monotonic, self._wall_ms = monotonic, wall_ms
        self._lock = threading.Lock()
        self._began_s = self._ended_s = monotonic()
        self._last: BatchProgress | None = None
        self._last_s = self._began_s
        self._splits: SplitsBySource = {}
        self._splits_s = float("-inf")
        self._samples: deque[Sample] = deque(maxlen=_SAMPLES)
        self._batches: deque[BatchRow] = deque(maxlen=_BATCHES)
        self._batch_count = 0
        self._seconds: deque[list[int]] = deque(maxlen=_HISTORY_SECONDS)
        self._failures: deque[Failure] = deque(maxlen=_FAILURES)
        self._failure_count = self._restarts = 0
        self._sources: frozenset[str] = frozenset()
        self._vertices: dict[str, tuple[str, int]] = {}
        self._metrics = JobMetrics("", with_splits=False)

    # The methods of an observer.

    def on_start(self, job: JobInfo) -> None:
        """Store the job's description."""
        self._began_s = self._last_s = self._monotonic()
        self._sources = frozenset(source.id for source in job.program.sources)
        self._samples.append(Sample(self._began_s))
        self._describe(job)
        self._metrics.on_start(job)
        self._set_status(JobStatus.RUNNING)

    def _describe(self, job: JobInfo) -> None:
        self._vertices = {
            each.id: (each.operators[0], max(min(each.parallelism, job.cores), 1))
            for each in job.graph.vertices
        }
        self.job = job

    def on_batch(self, batch: BatchProgress) -> None:
        """Store a micro-batch."""
        self._metrics.on_batch(batch)
        now_s = self._monotonic()
        if now_s - self._splits_s >= _SAMPLE_SECONDS / 2:
            self._splits, self._splits_s = batch.splits, now_s
        row = BatchRow(
            *(batch.batch_id, batch.started_ms, batch.duration_ms, batch.phases),
            _count_read(batch.metrics, self._sources),
        )
        with self._lock:
            if self.job is not None and batch.program.parallelism != self.job.program.parallelism:
                self._describe(self.job.rescaled(batch.program))
            self._last, self._last_s = batch, now_s
            self._batches.append(row)
            self._batch_count += 1
            second = int(now_s)
            if not self._seconds or self._seconds[-1][0] != second:
                self._seconds.append([second, 0])
            self._seconds[-1][1] += row.records
            if self.status is JobStatus.RESTARTING:
                self._set_status(JobStatus.RUNNING)
            if not self._samples or now_s - self._samples[-1].at_s >= _SAMPLE_SECONDS:
                self._sample()

    def on_failure(self, error: BaseException, restarts_in_ms: int | None) -> None:
        """Store a failure."""
        now_ms = self._wall_ms()
        from headrace.runners.ui.failures import show_failure

        shown = (show_failure(error, True), show_failure(error, False))
        self._metrics.on_failure(error, restarts_in_ms, now_ms)
        with self._lock:
            self._failures.append(Failure(now_ms, restarts_in_ms, *shown))
            self._failure_count += 1
            if restarts_in_ms is not None:
                self._restarts += 1
                self._set_status(JobStatus.RESTARTING)

    def on_savepoint(self, savepoint: SavepointTaken) -> None:
        """Store the last savepoint."""
        self.savepoint = savepoint

    def on_save_failed(self, failed: SaveFailed) -> None:
        """Store the last savepoint or restore point that failed."""
        from headrace.runners.ui.failures import show_failure

        shown = show_failure(failed.error, False)
        message = f"{shown.name}: {shown.message}"
        is_savepoint = failed.folder is not None
        self.failed_save = FailedSave(is_savepoint, failed.started_ms, failed.failed_ms, message)

    def on_end(self, status: JobStatus) -> None:
        """Store the final status."""
        self._metrics.on_end(status)
        self._ended_s = self._monotonic()
        self.ended_ms = self._wall_ms()
        self._set_status(status)
        self._forget_program()

    def _forget_program(self) -> None:
        """Keep only what the page shows: a process may have many jobs, one after another.

        The program has the user's functions and the values of collections, and the job has its
        state.
        """
        self.commands.end()
        self._metrics.forget_program()
        with self._lock:
            self._sample()
            if len(self._samples) > 2:  # the rates of an ended job are those of the whole run
                self._samples = deque((self._samples[0], self._samples[-1]), maxlen=_SAMPLES)
            if self._last is not None:
                self._last = self._last.without_program()
        if self.job is not None:
            self.job = self.job.without_program()

    def _set_status(self, status: JobStatus) -> None:
        self.status = status
        # Replaced as a whole: threads of the page go through it.
        self.status_times = {**self.status_times, status: self._wall_ms()}

    def added_bytes(self) -> int | None:
        """Return what the last micro-batch has added to the checkpoint; None: not known."""
        batch = self._last
        return None if batch is None else batch.find_checkpoint_bytes()

    def job_metrics(self) -> Mapping[str, Number]:
        """Return the metrics of the job itself, as ``JobMetrics.of_job``."""
        return self._metrics.of_job(self.ended_ms or self._wall_ms())

    def samples(self) -> Sequence[MetricSample]:
        """Return all metrics, as ``JobMetrics.samples``."""
        return self._metrics.samples(self.ended_ms or self._wall_ms())

    def loads(self) -> Loads:
        """Return how tasks spend their time, as ``JobMetrics.loads``."""
        return self._metrics.loads(self.ended_ms or self._wall_ms())

    @property
    def failures(self) -> Sequence[Failure]:
        """The last failures, the oldest first."""
        with self._lock:
            return [*self._failures]

    @property
    def started_ms(self) -> int:
        """The start time of the job (ms since the epoch)."""
        return self.status_times[JobStatus.CREATED]

    @property
    def ended(self) -> bool:
        """Whether the job has ended."""
        return self.status.is_terminal_state()

    # What others look at.

    def read_by_second(self) -> list[int]:
        """Return the records read in each of the last seconds, without the current second.

        A micro-batch counts in the second in which it ended.
        """
        with self._lock:
            found: dict[int, int] = {second: count for second, count in self._seconds}
        now = int(self._ended_s if self.ended else self._monotonic())
        first = max(now - _HISTORY_SECONDS, min(found, default=now))
        return [found.get(second, 0) for second in range(first, now)]

    def _sample(self) -> None:
        """Add a sample of the last micro-batch, unless there is one."""
        batch = self._last
        if batch is None or (self._samples and self._samples[-1].batch_id == batch.batch_id):
            return
        program = batch.program
        operators = operator_counts(batch.totals, program.operators)
        sources = source_counts(batch.totals, program.sources, batch.watermarks, batch.now_ms)
        self._samples.append(
            Sample(
                self._last_s,
                batch.batch_id,
                {each.operator_id: each for each in operators},
                {each.source_id: each for each in sources},
                batch.totals,
            )
        )

    def view(self) -> JobView:
        """Return the current figures of the job."""
        with self._lock:
            self._sample()
            samples, batches = [*self._samples], [*self._batches]
            failures, last = [*self._failures], self._last
            batch_count, restarts = self._batch_count, self._restarts
            failure_count = self._failure_count
        now_s, now_ms = self._monotonic(), self.ended_ms or self._wall_ms()
        end_s = self._ended_s if self.ended else now_s
        latest = samples[-1] if samples else Sample(self._began_s)
        base = _base_of(samples, latest)
        if self.ended:
            base, seconds = samples[0] if samples else latest, max(end_s - self._began_s, 1e-3)
        else:
            # The next micro-batch may be running: the rate is that up to the last one. After a
            # while without a micro-batch no records arrive, and the rate falls.
            patience_s = 1.0 + 2 * (batches[-1].duration_ms / 1000 if batches else 0)
            quiet = now_s - latest.at_s > patience_s
            seconds = max((now_s if quiet else latest.at_s) - base.at_s, 1e-3)
        operators = self._operators(latest, base, seconds)
        reading = [each for key, each in operators.items() if key in self._sources]
        known = () if self.job is None else self.job.graph.operators
        writing = [operators[each.id] for each in known if each.kind == "sink"]
        marks = [] if last is None else [*last.watermarks.values()]
        watermark = min((at for at in marks if at > -(1 << 62)), default=None)
        pending = [each.pending for each in reading]
        return JobView(
            job=self.job,
            name=self.name,
            status=self.status,
            now_ms=now_ms,
            seconds=end_s - self._began_s,
            operators=operators,
            records_in=sum(each.records_in for each in reading),
            in_rate=sum(each.in_rate for each in reading),
            records_out=sum(each.records_in for each in writing),
            out_rate=sum(each.in_rate for each in writing),
            watermark_ms=watermark,
            lag_ms=_lag(watermark, now_ms),
            pending=sum(n or 0 for n in pending) if any(n is not None for n in pending) else None,
            splits=self._splits,
            batches=batches,
            batch_count=batch_count,
            failures=failures,
            failure_count=failure_count,
            restarts=restarts,
            figures=_user_figures(latest.totals),
        )

    def _operators(self, latest: Sample, base: Sample, seconds: float) -> dict[str, OperatorView]:
        if self.job is None:
            return {}
        found: dict[str, OperatorView] = {}
        watermarks = {
            each.id: counts.watermark_ms
            for each in self.job.graph.vertices
            if (counts := latest.operators.get(each.operators[0])) is not None
        }
        watermarks |= {key: each.watermark_ms for key, each in latest.sources.items()}
        for info in self.job.graph.operators:
            counts = latest.operators.get(info.id) or OperatorCounts(info.id, info.name, info.uid)
            before = base.operators.get(info.id) or OperatorCounts(info.id, info.name)
            source, source_before = latest.sources.get(info.id), base.sources.get(info.id)
            read = counts.records_in if source is None else source.records
            read_before = before.records_in if source_before is None else source_before.records
            first, cores = self._vertices[info.vertex]
            busy = None
            if first == info.id and info.kind != "sink":
                busy = min((counts.busy_ms - before.busy_ms) / (seconds * 1000 * cores), 1.0)
            found[info.id] = OperatorView(
                counts,
                read,
                (read - read_before) / seconds,
                (counts.records_out - before.records_out) / seconds,
                busy,
                watermarks.get(info.vertex) if source is None else source.watermark_ms,
                None if source is None else source.pending_records,
                None if source is None else source.pending_bytes,
                counts.late_records_dropped,
                0 if source is None else source.bad_records,
            )
        return found


def _count_read(metrics: Mapping[MetricId, MetricValue], sources: frozenset[str]) -> int:
    return int(
        sum(
            entry.value
            for key, entry in metrics.items()
            if key.metric == RECORDS_IN and key.operator in sources
        )
    )


def _base_of(samples: Sequence[Sample], latest: Sample) -> Sample:
    """Return the sample at the beginning of the window for rates."""
    for sample in reversed(samples[:-1]):
        if latest.at_s - sample.at_s >= _WINDOW_SECONDS:
            return sample
    return samples[0] if samples else latest


def _lag(watermark_ms: int | None, now_ms: int) -> int | None:
    """Return how far a watermark is behind the wall clock (ms); None if unknown or at the end."""
    if watermark_ms is None or watermark_ms >= 1 << 62:
        return None
    return now_ms - watermark_ms


def _user_figures(totals: Mapping[MetricId, MetricValue]) -> dict[str, float]:
    """Return the metrics that functions registered, by dotted name, combined over all operators."""
    merged: dict[str, MetricValue] = {}
    for key, entry in totals.items():
        if key.metric not in _BUILT_IN:
            merged[key.metric] = merge_subtasks(merged.get(key.metric), entry)
    named = figures({MetricId("", "", metric): entry for metric, entry in merged.items()})
    return {name: as_float(value) for name, value in named.items()}

"""Observes a running job, and returns its current metrics.

Only committed micro-batches are counted.
"""

from __future__ import annotations

import threading
from dataclasses import replace

from headrace.common.job_status import JobStatus
from headrace.metrics import _operator_counts as names
from headrace.metrics._merging import MetricValue, Number
from headrace.runners.observers import BatchProgress, JobInfo
from headrace.runners.reporters.flink_metrics import Loads, Snapshot
from headrace.runners.reporters.history import CountHistory
from headrace.runners.reporters.run import RATE_SPAN_S, Figures, Run, chain_watermarks
from headrace.runners.reporters.samples import Sample
from headrace.runners.subtasks import CountKey, Subtasks


class JobMetrics:
    """Observes a job, and returns its current metrics; ``samples`` may be called in any thread.

    ``host``: the name of the driver's machine, for the label ``host``. ``with_splits``: whether
    metrics of splits are wanted, which cost time in each micro-batch.
    """

    def __init__(self, host: str, *, with_splits: bool = True) -> None:
        self._host, self._with_splits = host, with_splits
        self._run: Run | None = None
        self._lock = threading.Lock()

    def on_start(self, job: JobInfo) -> None:
        """Start with counts of 0."""
        self._subtasks = Subtasks(job.graph, job.program.partitions)
        figures = Figures({}, {}, self._subtasks)
        history = CountHistory[CountKey](job.started_ms, RATE_SPAN_S)
        self._run = Run(job, job.started_ms, figures, history, chain_watermarks(job.program))

    def on_batch(self, batch: BatchProgress) -> None:
        """Add a committed micro-batch."""
        run = self._run
        if run is None:
            return
        with self._lock:
            if batch.program.parallelism != run.job.program.parallelism:
                run.job = run.job.rescaled(batch.program)
                run.chains = chain_watermarks(batch.program)
                self._subtasks = Subtasks(run.job.graph, batch.program.partitions)
            if run.failed_ms is not None:  # the first one after a restart
                run.down_ms += max(batch.started_ms - run.failed_ms, 0)
                run.failed_ms, run.running_since_ms = None, batch.started_ms
            run.waited_ms = self._add_waited(run, batch)
            run.batch, run.batches = batch, run.batches + 1
            if self._with_splits and run.has_split_metrics:
                run.splits = batch.splits  # they can be read only during ``on_batch``
            run.figures = figures = Figures(batch.totals, run.waited_ms, self._subtasks)
            if len(batch.totals) != run.known:
                run.known = len(batch.totals)
                run.history.keep(max(map(_span_s, batch.totals.values()), default=0))
            run.history.add(batch.now_ms - batch.duration_ms, batch.now_ms, lambda: figures.numbers)

    def on_failure(self, error: BaseException, restarts_in_ms: int | None, now_ms: int) -> None:
        """Record a failure at ``now_ms``; the job restarts unless ``restarts_in_ms`` is None."""
        run = self._run
        if run is None:
            return
        with self._lock:
            run.failed_ms = now_ms
            run.failures += 1
            run.restarts += restarts_in_ms is not None

    def on_end(self, status: JobStatus) -> None:
        """Record the final status."""
        if self._run is not None:
            self._run.status = status

    def forget_program(self) -> None:
        """Forget the program of a job that has ended; metrics of splits are not known any more."""
        run = self._run
        if run is None:
            return
        with self._lock:
            run.job, run.splits = run.job.without_program(), {}
            if run.batch is not None:
                run.batch = run.batch.without_program()

    def _add_waited(self, run: Run, batch: BatchProgress) -> dict[tuple[str, int], float]:
        """Add how long (ms) each source task with unread records waited for the other tasks."""
        waited, unread = dict(run.waited_ms), dict[str, bool]()
        busy_ms: dict[tuple[str, int], float] = {}
        for (operator, _, metric, number), (_, value, _) in batch.metrics.items():
            if operator not in run.sources:
                continue
            if metric in (names.PENDING_RECORDS, names.PENDING_BYTES):
                unread[operator] = unread.get(operator, False) or value > 0
            elif metric == names.BUSY_MS:
                key = (operator, self._subtasks.number_of(operator, number))
                busy_ms[key] = busy_ms.get(key, 0.0) + value
        for key, busy in busy_ms.items():
            if key[0] in unread:
                rest_ms = max(batch.duration_ms - busy, 0.0) if unread[key[0]] else 0.0
                waited[key] = waited.get(key, 0.0) + rest_ms
        return waited

    def samples(self, now_ms: int) -> list[Sample]:
        """Return all metrics at ``now_ms`` (wall clock); empty before the job starts."""
        snapshot = self._snapshot(now_ms)
        return [] if snapshot is None else [*snapshot.samples()]

    def of_job(self, now_ms: int) -> dict[str, Number]:
        """Return the metrics of the job itself; empty before it starts."""
        snapshot = self._snapshot(now_ms)
        return {} if snapshot is None else snapshot.of_job()

    def loads(self, now_ms: int) -> Loads:
        """Return a function that says of a vertex how its tasks spend their time."""
        snapshot = self._snapshot(now_ms)
        return (lambda vertex_id: {}) if snapshot is None else snapshot.loads

    def _snapshot(self, now_ms: int) -> Snapshot | None:
        run = self._run
        if run is None:
            return None
        with self._lock:  # only this part blocks the job
            run = replace(run, history=run.history.copy())
        return Snapshot(run, self._host, now_ms)


def _span_s(value: MetricValue) -> int:
    return 0 if value.origin is None else value.origin.span_s

"""Handles reports of committed micro-batches in the driver: deliveries, counters, watermark."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from headrace.metrics._merging import MetricId, MetricValue, figures
from headrace.metrics._operator_counts import BUSY_MS, JobListener
from headrace.runners.clock import wall_clock_ms
from headrace.runners.delivery import Delivery
from headrace.runners.observers import BatchProgress, Observers, Phases
from headrace.runners.reporting import Reporting
from headrace.runners.spark.link import BatchReport
from headrace.runners.spark.planned import PlannedBatch, read_planned, write_reading_ms
from headrace.runners.spark.task_output import OutputLine
from headrace.runners.subtasks import OperatorMetrics, metrics_by_subtask
from headrace.runtime.failure import sink_error_notes
from headrace.runtime.program import JobProgram

_EXECUTION = "addBatch"
"""Spark's name of the execution of a micro-batch. A trigger that found nothing new has no such
duration, and the number of the micro-batch that comes next."""


class _Unobserved(NamedTuple):
    """A reported micro-batch that waits for Spark's durations of it."""

    report: BatchReport
    totals: Mapping[MetricId, MetricValue]
    planned: PlannedBatch
    began_ms: int
    ended_ms: int


class Reports:
    """Receives the reports of a job's micro-batches, each once and in order."""

    def __init__(
        self,
        program: JobProgram,
        delivery: Delivery,
        listeners: Sequence[JobListener] = (),
        observers: Observers | None = None,
        planned_file: str = "",
        show_output: Callable[[Sequence[OutputLine]], None] = lambda lines: None,
        reading_ms_file: str | None = None,
    ) -> None:
        self.last: BatchReport | None = None
        self._program, self._delivery = program, delivery
        self._reporting = Reporting(program, listeners)
        self._observers = observers or Observers()
        self._planned_file, self._show_output = planned_file, show_output
        self.reading_ms_file = reading_ms_file
        self._unobserved: deque[_Unobserved] = deque()
        self._began_ms = wall_clock_ms()
        self._committed_epoch = 0

    def continue_with(self, program: JobProgram) -> None:
        """Take later reports as those of another plan of the program."""
        self._program = self._reporting.program = program

    def receive(self, report: BatchReport) -> None:
        """Add the metrics of a micro-batch, show its tasks' output, and deliver its records."""
        self._show_output(report.output)
        if self.reading_ms_file is not None:
            reading_ms, _ = _working_ms(self._program, report.metrics)
            write_reading_ms(self.reading_ms_file, reading_ms)
        self._reporting.add(report.metrics)
        for sink_id, parts in sorted(report.delivered.items()):
            sink = self._program.sink(sink_id)
            for group, values in parts:
                with sink_error_notes(sink, "delivering"):
                    self._delivery.deliver(sink, group, values)
        self.last = report
        now_ms, began_ms = wall_clock_ms(), self._began_ms
        self._began_ms = now_ms
        self._reporting.report(report.batch_id, report.metrics, report.watermarks, now_ms)
        if self._observers:
            planned = read_planned(self._planned_file)
            self._committed_epoch = planned.epoch
            self._unobserved.append(
                _Unobserved(report, self._reporting.totals, planned, began_ms, now_ms)
            )

    def metrics(self) -> OperatorMetrics:
        """Return the current metrics by operator and subtask."""
        return metrics_by_subtask(self._program, self._reporting.totals)

    def has_open_batch(self) -> bool:
        """Return whether the micro-batch that was planned last is not committed."""
        epoch = read_planned(self._planned_file).epoch
        return epoch not in (0, self._committed_epoch)

    @property
    def observed(self) -> bool:
        """Whether the job has observers."""
        return bool(self._observers)

    @property
    def has_unobserved(self) -> bool:
        """Whether there are micro-batches that observers have not seen yet."""
        return bool(self._unobserved)

    def observe(
        self,
        batch_id: int,
        duration_ms: Mapping[str, int],
        find_checkpoint_bytes: Callable[[], int | None] = lambda: None,
    ) -> None:
        """Call the observers for all micro-batches up to one, which Spark has completed.

        ``duration_ms``: Spark's durations of that micro-batch, by name. Spark keeps only the last
        durations, so the duration of an earlier micro-batch is the time between two reports.
        ``find_checkpoint_bytes``: returns the bytes that it has added to the checkpoint.
        """
        if duration_ms and _EXECUTION not in duration_ms:  # an idle trigger, before that one
            return
        while self._unobserved and self._unobserved[0].report.batch_id <= batch_id:
            each = self._unobserved.popleft()
            if each.report.batch_id == batch_id:
                found = _progress(self._program, each, duration_ms)
                found = replace(found, find_checkpoint_bytes=find_checkpoint_bytes)
            else:
                found = _progress(self._program, each, {})
            self._observers.batch(found)

    def observe_all(self) -> None:
        """Call the observers for all committed micro-batches, at the end of an attempt."""
        if self._unobserved:
            self.observe(self._unobserved[-1].report.batch_id, {})

    def accumulators(self) -> dict[str, Any]:
        """Return the current counters, the watermark (ms) and the number of micro-batches."""
        accumulators: dict[str, Any] = {**figures(self._reporting.totals)}
        if self.last is not None:
            accumulators["microBatches"] = self.last.batch_id + 1
            if self.last.watermark is not None:
                accumulators["currentWatermark"] = self.last.watermark
        return accumulators


def _progress(
    program: JobProgram, batch: _Unobserved, duration_ms: Mapping[str, int]
) -> BatchProgress:
    """Return what observers see of a micro-batch; ``duration_ms``: Spark's, empty if unknown."""
    report, planned = batch.report, batch.planned
    whole_ms: float = duration_ms.get("triggerExecution", batch.ended_ms - batch.began_ms)
    plan_ms = planned.plan_ms
    commit_ms = report.commit_ms + duration_ms.get("commitOffsets", 0)
    if duration_ms:
        by_spark = ("latestOffset", "getBatch", "queryPlanning", "walCommit")
        plan_ms = max(plan_ms, float(sum(duration_ms.get(each, 0) for each in by_spark)))
    tasks_ms = max(whole_ms - plan_ms - commit_ms, 0.0)
    share = _share_of_sources(program, report.metrics)
    return BatchProgress(
        report.batch_id,
        round(batch.ended_ms - whole_ms) if duration_ms else batch.began_ms,
        whole_ms,
        batch.ended_ms,
        Phases(plan_ms, tasks_ms * share, tasks_ms * (1 - share), commit_ms),
        report.metrics,
        batch.totals,
        report.watermarks,
        lambda: planned.splits,
        program,
    )


def _share_of_sources(program: JobProgram, metrics: Mapping[MetricId, MetricValue]) -> float:
    """Return the share (0 to 1) of source tasks in the working time of all tasks."""
    reading, working = _working_ms(program, metrics)
    return reading / working if working else 1.0


def _working_ms(
    program: JobProgram, metrics: Mapping[MetricId, MetricValue]
) -> tuple[float, float]:
    """Return the working time (ms) of source tasks, and of all tasks."""
    sources = {source.id for source in program.sources}
    reading = working = 0.0
    for key, entry in metrics.items():
        if key.metric == BUSY_MS:
            working += entry.value
            reading += entry.value if key.operator in sources else 0
    return reading, working

"""Handles reports of committed micro-batches in the driver: deliveries, counters, watermark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.metrics._merging import figures
from headrace.metrics._operator_counts import JobListener
from headrace.runners.clock import wall_clock_ms
from headrace.runners.delivery import Delivery
from headrace.runners.observers import BatchProgress, Observers, Phases
from headrace.runners.reporting import Reporting
from headrace.runners.spark.link import BatchReport
from headrace.runners.subtasks import OperatorMetrics, metrics_by_subtask
from headrace.runtime.failure import sink_error_notes
from headrace.runtime.program import JobProgram


class Reports:
    """Receives the reports of a job's micro-batches, each once and in order."""

    def __init__(
        self,
        program: JobProgram,
        delivery: Delivery,
        listeners: Sequence[JobListener] = (),
        observers: Observers | None = None,
    ) -> None:
        self.last: BatchReport | None = None
        self._program, self._delivery = program, delivery
        self._reporting = Reporting(program, listeners)
        self._observers = observers or Observers()
        self._began_ms = wall_clock_ms()

    def receive(self, report: BatchReport) -> None:
        """Add the metrics of a micro-batch, and deliver its printed and collected records."""
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
            self._observers.batch(
                BatchProgress(
                    *(report.batch_id, began_ms, now_ms - began_ms, now_ms, Phases()),
                    *(report.metrics, self._reporting.totals, report.watermarks, {}),
                    self._program,
                )
            )

    def metrics(self) -> OperatorMetrics:
        """Return the current metrics by operator and subtask."""
        return metrics_by_subtask(self._program, self._reporting.totals)

    def accumulators(self) -> dict[str, Any]:
        """Return the current counters, the watermark (ms) and the number of micro-batches."""
        accumulators: dict[str, Any] = {**figures(self._reporting.totals)}
        if self.last is not None:
            accumulators["microBatches"] = self.last.batch_id + 1
            if self.last.watermark is not None:
                accumulators["currentWatermark"] = self.last.watermark
        return accumulators

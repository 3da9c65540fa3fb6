"""What committed micro-batches tell the driver: records to deliver, counters, the watermark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.metrics.merging import MetricId, Part, figures, merged
from headrace.runners.delivery import Delivery
from headrace.runners.spark.link import BatchReport
from headrace.runtime.failure import at_sink
from headrace.runtime.program import JobProgram

OnReport = Callable[[BatchReport], None]


class Reports:
    """Takes the reports of a job's micro-batches, each once and in order."""

    def __init__(
        self, program: JobProgram, delivery: Delivery, on_report: OnReport | None = None
    ) -> None:
        self.last: BatchReport | None = None
        self._program, self._delivery, self._on_report = program, delivery, on_report
        self._metrics: dict[MetricId, Part] = {}

    def take(self, report: BatchReport) -> None:
        """Count what a micro-batch counted, and deliver what it printed or collected."""
        self._metrics = merged(self._metrics, report.metrics)
        for sink_id, parts in sorted(report.delivered.items()):
            sink = self._program.sink(sink_id)
            for group, values in parts:
                with at_sink(sink, "delivering"):
                    self._delivery.deliver(sink, group, values)
        self.last = report
        if self._on_report is not None:
            self._on_report(report)

    def accumulators(self) -> dict[str, Any]:
        """The job's counters so far, the watermark (ms) and the number of micro-batches."""
        found: dict[str, Any] = {**figures(self._metrics)}
        if self.last is not None:
            found["microBatches"] = self.last.batch_id + 1
            if self.last.watermark is not None:
                found["currentWatermark"] = self.last.watermark
        return found

"""Reports of committed micro-batches to job listeners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.metrics._merging import MetricId, MetricValue, merge_into_copy
from headrace.metrics._operator_counts import JobListener
from headrace.runners.observers import batch_counts
from headrace.runtime.program import JobProgram


class Reporting:
    """Adds up the metrics of a run's committed micro-batches, and calls the listeners.

    ``totals``: the metrics since the run started.
    """

    def __init__(self, program: JobProgram, listeners: Sequence[JobListener]) -> None:
        self.totals: Mapping[MetricId, MetricValue] = {}
        self.program, self._listeners = program, (*listeners,)

    def add(self, metrics: Mapping[MetricId, MetricValue]) -> None:
        """Add the metrics of a committed micro-batch."""
        self.totals = merge_into_copy(self.totals, metrics)

    def report(
        self,
        batch_id: int,
        metrics: Mapping[MetricId, MetricValue],
        watermarks: Mapping[str, int],
        now_ms: int,
    ) -> None:
        """Call the listeners for a micro-batch, after ``add``.

        ``watermarks``: the lowest watermark of each source, by id. ``now_ms``: the wall clock time,
        from which the watermark lag is computed. An exception of a listener is raised with a note.
        """
        if not self._listeners:
            return
        counts = batch_counts(self.program, batch_id, metrics, self.totals, watermarks, now_ms)
        for listener in self._listeners:
            try:
                listener.on_batch(counts)
            except Exception as error:
                error.add_note(f"in the job listener {listener!r}, for micro-batch {batch_id}")
                raise

"""Starts the metric reporters of a configuration for a job."""

from __future__ import annotations

import platform
import sys
import threading
from collections.abc import Callable, Iterable

from headrace.common._options import metric_reporters as options
from headrace.common._options.metric_reporters import (
    ReporterKind,
    ReporterSettings,
)
from headrace.common.job_status import JobStatus
from headrace.runners.clock import Clock, wall_clock_ms
from headrace.runners.observers import (
    BatchProgress,
    JobInfo,
    JobObserver,
    SaveFailed,
    SavepointTaken,
)
from headrace.runners.reporters.influxdb import InfluxdbReporter
from headrace.runners.reporters.job_metrics import JobMetrics
from headrace.runners.reporters.log import LogReporter
from headrace.runners.reporters.prometheus import PrometheusReporter, PushGatewayReporter
from headrace.runners.reporters.reporter import Reporter, ReportErrors
from headrace.runners.reporters.samples import Sample
from headrace.runners.reporters.selection import Selection

_MAKERS: dict[ReporterKind, Callable[[ReporterSettings], Reporter]] = {
    ReporterKind.PROMETHEUS: PrometheusReporter,
    ReporterKind.PUSH_GATEWAY: PushGatewayReporter,
    ReporterKind.INFLUXDB: InfluxdbReporter,
    ReporterKind.LOG: LogReporter,
}
_CLOSING_S = 15.0


class _Scheduled:
    """A reporter, with the thread that calls it at each interval."""

    def __init__(self, settings: ReporterSettings) -> None:
        self._selection = Selection(settings)
        self._reporter = _MAKERS[settings.kind](settings)
        self._errors = ReportErrors(settings.name, settings.kind.value)
        self._name, self._kind = settings.name, settings.kind
        self._interval_s = settings.read(options.INTERVAL) / 1000
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, samples: Callable[[], list[Sample]]) -> None:
        """Start reporting. If this fails, print the failure; the job continues."""
        try:
            self._reporter.start(lambda: self._selection.select(samples()))
        except Exception as error:
            print(
                f"headrace: the metric reporter {self._name!r} ({self._kind.value}) is off for"
                f" this job: {error}",
                file=sys.stderr,
            )
            return
        name = f"headrace-metrics-{self._name}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        interval_s = None if self._kind is ReporterKind.PROMETHEUS else self._interval_s
        while not self._ended.wait(interval_s):
            self._errors.run(self._reporter.report)
        self._errors.run(self._reporter.report)  # the counts of the last micro-batches
        self._errors.close(self._reporter.close)

    def end(self) -> None:
        """Begin the last report, after which the reporter stops."""
        self._ended.set()

    def wait(self) -> None:
        """Wait for the last report, but not for long."""
        if self._thread is not None:
            self._thread.join(_CLOSING_S)


class MetricReporting(JobObserver):
    """Observes a job, and reports its metrics with all configured reporters.

    Raises:
        ConfigurationError: keys of a reporter are missing or wrong.
        MissingExtraError: a reporter needs a package that is not installed.
    """

    def __init__(self, reporters: Iterable[ReporterSettings], clock: Clock = wall_clock_ms) -> None:
        self._reporters, self._clock = [_Scheduled(each) for each in reporters], clock
        self._metrics = JobMetrics(platform.node() or "localhost")

    def on_start(self, job: JobInfo) -> None:
        self._metrics.on_start(job)
        for reporter in self._reporters:
            reporter.start(lambda: self._metrics.samples(self._clock()))

    def on_batch(self, batch: BatchProgress) -> None:
        self._metrics.on_batch(batch)

    def on_failure(self, error: BaseException, restarts_in_ms: int | None) -> None:
        self._metrics.on_failure(error, restarts_in_ms, self._clock())

    def on_savepoint(self, savepoint: SavepointTaken) -> None:
        """Do nothing: no metric counts savepoints."""

    def on_save_failed(self, failed: SaveFailed) -> None:
        """Do nothing: no metric counts savepoints."""

    def on_end(self, status: JobStatus) -> None:
        self._metrics.on_end(status)
        for reporter in self._reporters:
            reporter.end()
        for reporter in self._reporters:
            reporter.wait()

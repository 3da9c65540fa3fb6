"""Metrics in the log, in the format of Flink's slf4j reporter."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from headrace.common._options import metric_reporters as options
from headrace.common._options.metric_reporters import ReporterSettings
from headrace.runners.reporters.names import Identifiers
from headrace.runners.reporters.reporter import Reporter, Samples
from headrace.runners.reporters.samples import Kind, Sample, Summary

LOGGER = "headrace.metrics"

_TITLES = {
    Kind.COUNTER: "Counters",
    Kind.GAUGE: "Gauges",
    Kind.METER: "Meters",
    Kind.HISTOGRAM: "Histograms",
}
_WIDTH = 78


class LogReporter(Reporter):
    """Logs the metrics of a job; they go to stderr if the program has not set up logging."""

    def __init__(self, settings: ReporterSettings) -> None:
        self._identifiers = Identifiers(settings.settings, settings.read(options.DELIMITER))
        self._log = logging.getLogger(LOGGER)

    def start(self, samples: Samples) -> None:
        self._samples = samples
        if not self._log.hasHandlers():
            handler = logging.StreamHandler()
            handler.setFormatter(logging.Formatter("%(message)s"))
            self._log.addHandler(handler)
        if self._log.level == logging.NOTSET and not self._log.isEnabledFor(logging.INFO):
            self._log.setLevel(logging.INFO)

    def report(self) -> None:
        self._log.info("%s", "\n".join(self._lines(self._samples())))

    def close(self) -> None:
        """Do nothing: the log belongs to the program."""

    def _lines(self, samples: Iterable[Sample]) -> Iterator[str]:
        by_kind: dict[Kind, list[Sample]] = {kind: [] for kind in _TITLES}
        for sample in samples:
            by_kind[sample.kind].append(sample)
        yield " Starting metrics report ".center(_WIDTH, "=")
        for kind, found in by_kind.items():
            yield ""
            yield f"-- {_TITLES[kind]} ".ljust(_WIDTH, "-")
            for sample in found:
                yield f"{self._identifiers.identifier(sample)}: {_text_of(sample)}"
        yield ""
        yield " Finished metrics report ".center(_WIDTH, "=")


def _text_of(sample: Sample) -> str:
    value = sample.value
    if not isinstance(value, Summary):
        return str(value)
    parts = {"count": value.count, "min": value.lowest, "max": value.highest, "mean": value.mean}
    return ", ".join(f"{name}={part}" for name, part in parts.items() if part is not None)

"""The names of metrics: names and labels for Prometheus and InfluxDB, identifiers for the log."""

from __future__ import annotations

import re

from headrace.common._options import metric_reporters as options
from headrace.common._options.catalogue import read
from headrace.common._options.metric_reporters import Settings
from headrace.runners.reporters.samples import Sample, Scope

_PROMETHEUS_PREFIX = "flink_"
_NOT_ALLOWED = re.compile(r"[^a-zA-Z0-9:_]")
_VARIABLE = re.compile(r"<([^<>]+)>")


def encodable(text: str) -> str:
    """Replace what UTF-8 cannot have: names of files may have bytes that are no text."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def filter_characters(text: str) -> str:
    """Replace each character that Prometheus does not allow in a name, as Flink does."""
    return _NOT_ALLOWED.sub("_", text)


def label_name(text: str) -> str:
    """Return a valid label name of Prometheus: one invalid name would make the page unreadable.

    Names that begin with two underscores are reserved.
    """
    name = re.sub("^__+", "_", filter_characters(text).replace(":", "_"))
    return f"_{name}" if not name or name[0].isdigit() else name


def prometheus_name(sample: Sample) -> str:
    """Return the name of a metric: ``flink_taskmanager_job_task_numRecordsIn``."""
    return _PROMETHEUS_PREFIX + filter_characters("_".join((*sample.logical_scope, sample.name)))


def measurement_name(sample: Sample) -> str:
    """Return InfluxDB's name of a metric: ``taskmanager_job_task_numRecordsIn``."""
    scope = "_".join(filter_characters(part) for part in sample.logical_scope)
    return f"{scope}_{sample.name}"


class Identifiers:
    """Makes identifiers in the formats of ``metrics.scope.*``."""

    def __init__(self, settings: Settings, delimiter: str | None = None) -> None:
        self._delimiter = delimiter or read(settings, options.SCOPE_DELIMITER)
        self._formats = {
            Scope.JOB_MANAGER: read(settings, options.SCOPE_JM),
            Scope.JOB: read(settings, options.SCOPE_JM_JOB),
            Scope.TASK: read(settings, options.SCOPE_TASK),
            Scope.OPERATOR: read(settings, options.SCOPE_OPERATOR),
        }
        self._inherit()

    def _inherit(self) -> None:
        """Replace ``*.`` at the start of a format by the parent scope's format, as in Flink."""
        for scope, above in ((Scope.JOB, Scope.JOB_MANAGER), (Scope.OPERATOR, Scope.TASK)):
            if self._formats[scope].startswith("*."):
                self._formats[scope] = self._formats[above] + self._formats[scope][1:]

    def identifier(self, sample: Sample) -> str:
        """Return the identifier of a metric."""
        parts = self._formats[sample.scope].split(".")
        filled = [
            _VARIABLE.sub(lambda found: sample.variables.get(found[1], found[0]), part)
            for part in parts
        ]
        groups = [each for group in sample.groups for each in group if each is not None]
        return self._delimiter.join((*filled, *groups, sample.name))

"""Metrics for InfluxDB 1: points in the line protocol, written over HTTP."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection, HTTPSConnection
from numbers import Integral
from urllib.parse import urlencode

from headrace.common._options import metric_reporters as options
from headrace.common._options.metric_reporters import ReporterSettings
from headrace.errors import JobError
from headrace.metrics._merging import Number
from headrace.runners.clock import Clock, wall_clock_ms
from headrace.runners.reporters.names import encodable, measurement_name
from headrace.runners.reporters.reporter import Reporter, Samples
from headrace.runners.reporters.samples import Kind, Sample, Summary, as_float

DEFAULT_PORT = 8086
_SHOWN_OF_ANSWER = 300
_INTEGERS = 1 << 63
"""InfluxDB's integers have 64 bits."""

_IN_MEASUREMENT = str.maketrans({",": r"\,", " ": r"\ ", "\n": "\\ "})
_IN_TAG = str.maketrans({",": r"\,", " ": r"\ ", "=": r"\=", "\n": "\\ "})


class InfluxdbReporter(Reporter):
    """Writes the metrics of a job to a database."""

    def __init__(self, settings: ReporterSettings, clock: Clock = wall_clock_ms) -> None:
        host = settings.require(options.HOST)
        ports = settings.read(options.PORT)
        self._port = ports[0][0] if ports else DEFAULT_PORT
        self._host, self._clock = host, clock
        self._secure = settings.read(options.SCHEME) == "https"
        self._connect_s = settings.read(options.CONNECT_TIMEOUT) / 1000
        self._write_s = settings.read(options.WRITE_TIMEOUT) / 1000
        arguments = {
            "db": settings.require(options.DB),
            "precision": "ms",
            "consistency": settings.read(options.CONSISTENCY).lower(),
        }
        policy = settings.read(options.RETENTION_POLICY)
        self._path = f"/write?{urlencode({**arguments, **({'rp': policy} if policy else {})})}"
        self._headers = {"Content-Type": "text/plain; charset=utf-8"}
        user, password = settings.read(options.USERNAME), settings.read(options.PASSWORD)
        if user is not None and password is not None:
            both = base64.b64encode(f"{user}:{password}".encode()).decode()
            self._headers["Authorization"] = f"Basic {both}"

    def start(self, samples: Samples) -> None:
        self._samples = samples

    def report(self) -> None:
        """Write all metrics in one request.

        Raises:
            JobError: the server refuses some or all of the metrics.
            OSError: the server cannot be reached.
        """
        now_ms = self._clock()
        lines = [line for sample in self._samples() if (line := line_of(sample, now_ms))]
        if not lines:
            return
        make = HTTPSConnection if self._secure else HTTPConnection
        connection = make(self._host, self._port, timeout=self._connect_s)
        try:
            connection.connect()
            connection.sock.settimeout(self._write_s)
            connection.request("POST", self._path, "\n".join(lines).encode(), self._headers)
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
        finally:
            connection.close()
        if answer.status >= 300:
            raise JobError(
                f"InfluxDB at {self._host}:{self._port} answered {answer.status}"
                f" {answer.reason}: {text[:_SHOWN_OF_ANSWER].strip()}"
            )

    def close(self) -> None:
        """Do nothing: each report has its own connection."""


def line_of(sample: Sample, now_ms: int) -> str:
    """Return a metric in the line protocol; empty if it has no finite value."""
    fields = ",".join(f"{name}={text}" for name, text in _fields_of(sample))
    if not fields:
        return ""
    measurement = _escape(measurement_name(sample), _IN_MEASUREMENT)
    return encodable(f"{measurement}{_tags_text(sample.labels)} {fields} {now_ms}")


def _tags_text(labels: Mapping[str, str]) -> str:
    return "".join(
        f",{_escape(name, _IN_TAG)}={_escape(value, _IN_TAG)}"
        for name, value in sorted(labels.items())
        if name and value
    )


def _escape(text: str, characters: Mapping[int, str]) -> str:
    """Escape a measurement's name or a part of a tag.

    A backslash at its end would escape the separator.
    """
    escaped = text.translate(characters)
    return f"{escaped[:-1]}/" if escaped.endswith("\\") else escaped


def _fields_of(sample: Sample) -> Iterator[tuple[str, str]]:
    """Yield the fields of a metric, with the types that Flink writes.

    A function's gauge is always a float: it may return 1 now and 0.5 later, but in InfluxDB the
    type of a field cannot change.
    """
    value = sample.value
    found: dict[str, Number | None]
    if isinstance(value, Summary):
        found = {
            "count": value.count,
            "min": None if value.lowest is None else as_float(value.lowest),
            "max": None if value.highest is None else as_float(value.highest),
            "mean": value.mean,
            "sum": as_float(value.total),
        }
    elif sample.kind is Kind.COUNTER:
        found = {"count": value}
    elif sample.kind is Kind.METER:
        found = {"count": sample.count, "rate": float(value)}
    else:
        found = {"value": as_float(value) if sample.is_user else value}
    for name, number in found.items():
        if isinstance(number, Integral):  # a function may count with numbers of NumPy
            if -_INTEGERS <= number < _INTEGERS:
                yield name, f"{int(number)}i"
        elif number is not None and math.isfinite(number):
            yield name, repr(float(number))

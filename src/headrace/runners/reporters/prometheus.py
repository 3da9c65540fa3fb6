"""Metrics for Prometheus: served over HTTP, or pushed to a pushgateway."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterable, Iterator
from itertools import chain
from threading import Lock
from typing import Any

from headrace.common._extras import check_installed, optional
from headrace.common._options import metric_reporters as options
from headrace.common._options.metric_reporters import ReporterSettings
from headrace.errors import ConfigurationError, JobError
from headrace.runners.reporters.flink_metrics import RUNNING_JOBS
from headrace.runners.reporters.names import (
    encodable,
    filter_characters,
    label_name,
    prometheus_name,
)
from headrace.runners.reporters.reporter import Reporter, Samples
from headrace.runners.reporters.samples import Kind, Sample, Summary, as_float
from headrace.runners.reporters.scrapes import ScrapeServer

DEFAULT_PORT = 9249
GATEWAY_PORT = 9091
LOOPBACK = "127.0.0.1"
_TIMEOUT_S = 10.0


class Collector:
    """Converts the metrics of a job to those of the library ``prometheus_client``."""

    def __init__(self, samples: Samples, filter_labels: bool) -> None:
        self._samples, self._filter_labels = samples, filter_labels

    def collect(self) -> Iterator[Any]:
        """Yield the metrics by name."""
        yield from self._families(self._samples()).values()

    def _families(self, samples: Iterable[Sample]) -> dict[str, Any]:
        library = optional("prometheus_client.core")
        families: dict[str, Any] = {}
        seen: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
        for sample in samples:
            name, labels = prometheus_name(sample), self._labels(sample)
            kind = "summary" if sample.kind is Kind.HISTOGRAM else "gauge"
            written = ("", "_count", "_sum") if kind == "summary" else ("",)
            values = tuple(sorted(labels.items()))
            series = {(f"{name}{suffix}", values) for suffix in written}
            if series & seen:  # two equal series would make the whole scrape invalid
                continue
            seen |= series
            family = families.get(name)
            if family is None:
                text = f"{sample.name} (scope: {'_'.join(sample.logical_scope)})"
                family = families[name] = library.Metric(name, encodable(text), kind)
            if family.type == kind:
                _add(family, name, labels, sample)
        return families

    def _labels(self, sample: Sample) -> dict[str, str]:
        return {
            label_name(key): filter_characters(value) if self._filter_labels else encodable(value)
            for key, value in sample.labels.items()
        }


def _add(family: Any, name: str, labels: dict[str, str], sample: Sample) -> None:
    value = sample.value
    if not isinstance(value, Summary):
        family.add_sample(name, labels, as_float(value))
        return
    family.add_sample(f"{name}_count", labels, as_float(value.count))
    family.add_sample(f"{name}_sum", labels, as_float(value.total))
    for quantile, found in (("0.0", value.lowest), ("1.0", value.highest)):
        if found is not None:
            family.add_sample(name, {**labels, "quantile": quantile}, as_float(found))


def _without_repetitions(samples: list[Any]) -> list[Any]:
    """Return samples without repeated labels: metrics without a job are reported by each job."""
    found: dict[tuple[str, tuple[tuple[str, str], ...]], Any] = {}
    for sample in samples:
        series = (sample.name, tuple(sorted(sample.labels.items())))
        known = found.setdefault(series, sample)
        if known is not sample and sample.name.endswith(RUNNING_JOBS):
            found[series] = known._replace(value=known.value + sample.value)
    return [*found.values()]


class _Server:
    """An HTTP server of this process for the metrics of one or several jobs."""

    def __init__(self, host: str, ports: tuple[range, ...]) -> None:
        library = optional("prometheus_client")
        self._collectors: list[Collector] = []
        self._registry = library.CollectorRegistry()
        self._registry.register(self)
        self._server = _listen(host, ports, library.make_wsgi_app(self._registry))
        self.port = self._server.server_port

    def collect(self) -> Iterator[Any]:
        """Yield the metrics of all jobs, like one Flink cluster."""
        families = [each for collector in [*self._collectors] for each in collector.collect()]
        merged: dict[str, Any] = {}
        for family in families:
            known = merged.setdefault(family.name, family)
            if known is not family and known.type == family.type:
                known.samples.extend(family.samples)
        for family in merged.values():
            family.samples = _without_repetitions(family.samples)
        yield from merged.values()

    def describe(self) -> list[Any]:
        """Return nothing: names are not known before there are values."""
        return []

    def add(self, collector: Collector) -> None:
        """Serve the metrics of one more job."""
        self._collectors.append(collector)

    def remove(self, collector: Collector) -> bool:
        """Stop serving a job's metrics; return whether no job is left."""
        self._collectors.remove(collector)
        return not self._collectors

    def close(self) -> None:
        """Stop listening."""
        self._server.close()


def _listen(host: str, ports: tuple[range, ...], app: Any) -> ScrapeServer:
    """Serve an application on the first free port.

    Raises:
        JobError: no port is free.
    """
    reason = ""
    for port in chain.from_iterable(ports):
        try:
            return ScrapeServer(host, port, app)
        except OSError as error:
            reason = str(error)
    wanted = ",".join(f"{each[0]}-{each[-1]}" if len(each) > 1 else str(each[0]) for each in ports)
    raise JobError(
        f"Prometheus' metrics cannot be served on {host}, port {wanted}: {reason}",
        hint="give the reporter another port, or a range such as 9250-9260",
    )


_servers: dict[tuple[str, tuple[range, ...]], _Server] = {}
_servers_lock = Lock()


class PrometheusReporter(Reporter):
    """Serves the metrics of a job; jobs of one process with the same port share the server."""

    def __init__(self, settings: ReporterSettings) -> None:
        check_installed("prometheus_client")
        host = settings.read(options.HOST) or LOOPBACK
        ports = settings.read(options.PORT) or (range(DEFAULT_PORT, DEFAULT_PORT + 1),)
        self._address = (host, ports)
        self._filter_labels = settings.read(options.FILTER_LABELS)
        self.port = 0
        self._collector: Collector | None = None

    def start(self, samples: Samples) -> None:
        self._collector = Collector(samples, self._filter_labels)
        with _servers_lock:
            server = _servers.get(self._address)
            if server is None:
                server = _servers[self._address] = _Server(*self._address)
                address = f"http://{self._address[0]}:{server.port}/metrics"
                print(f"headrace: metrics for Prometheus: {address}", file=sys.stderr)
            server.add(self._collector)
        self.port = server.port

    def report(self) -> None:
        """Do nothing: Prometheus scrapes the server."""

    def close(self) -> None:
        if self._collector is None:
            return
        with _servers_lock:
            server = _servers[self._address]
            if server.remove(self._collector):
                del _servers[self._address]
                server.close()


class PushGatewayReporter(Reporter):
    """Pushes the metrics of a job to a pushgateway."""

    def __init__(self, settings: ReporterSettings) -> None:
        check_installed("prometheus_client")
        self._url = _gateway_url(settings)
        suffix = uuid.uuid4().hex if settings.read(options.RANDOM_SUFFIX) else ""
        self._job = settings.read(options.JOB_NAME) + suffix
        if not self._job:
            raise ConfigurationError(
                f"the metric reporter {settings.name!r} has no job name to push under",
                hint=f"set {settings.key_of(options.JOB_NAME)},"
                f" or {settings.key_of(options.RANDOM_SUFFIX)} to true",
            )
        self._grouping_key = _parse_grouping_key(settings)
        self._deletes = settings.read(options.DELETE_ON_SHUTDOWN)
        self._filter_labels = settings.read(options.FILTER_LABELS)

    def start(self, samples: Samples) -> None:
        self._library = optional("prometheus_client")
        self._registry = self._library.CollectorRegistry(auto_describe=False)
        self._registry.register(Collector(samples, self._filter_labels))

    def report(self) -> None:
        self._library.push_to_gateway(
            self._url,
            job=self._job,
            registry=self._registry,
            grouping_key=self._grouping_key,
            timeout=_TIMEOUT_S,
        )

    def close(self) -> None:
        if self._deletes:
            self._library.delete_from_gateway(
                self._url, job=self._job, grouping_key=self._grouping_key, timeout=_TIMEOUT_S
            )


def _gateway_url(settings: ReporterSettings) -> str:
    """Return the gateway's URL, from ``hostUrl`` or from Flink's older keys."""
    host = settings.read(options.HOST)
    if settings.read(options.HOST_URL) is None and host is not None:
        ports = settings.read(options.PORT)
        return f"http://{host}:{ports[0][0] if ports else GATEWAY_PORT}"
    return settings.require(options.HOST_URL).rstrip("/")


def _parse_grouping_key(settings: ReporterSettings) -> dict[str, str]:
    text = settings.read(options.GROUPING_KEY)
    found: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, equals, value = part.partition("=")
        if not (equals and name.strip() and value.strip()):
            raise ConfigurationError(
                f"{settings.key_of(options.GROUPING_KEY)} is {text!r}",
                hint="it must be labels such as 'k1=v1;k2=v2'",
            )
        found[name.strip()] = value.strip()
    return found

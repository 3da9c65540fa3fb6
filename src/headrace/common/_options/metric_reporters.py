"""Flink's keys for metric reporters: ``metrics.reporters``, ``metrics.reporter.<name>.*``, scopes.

A key of one reporter has the reporter's name in it, so its options are found by the rest of the
key: ``option_of("metrics.reporter.prom.port")``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar

from headrace.common._options.option import ConfigOption
from headrace.common._options.values import ValueKind
from headrace.errors import ConfigurationError

T = TypeVar("T")

REPORTER_PREFIX = "metrics.reporter."
NAME = "<name>"
_ALL_METRICS = "*:*:*"

REPORTERS: ConfigOption[str] = ConfigOption(
    "metrics.reporters",
    ValueKind.STRING,
    "",
    "The names of the metric reporters to start, separated by commas; by default all for which"
    " there are keys.",
)
SCOPE_DELIMITER: ConfigOption[str] = ConfigOption(
    "metrics.scope.delimiter",
    ValueKind.STRING,
    ".",
    "What separates the parts of a metric's identifier, in the log reporter (slf4j).",
)
SCOPE_JM: ConfigOption[str] = ConfigOption(
    "metrics.scope.jm",
    ValueKind.STRING,
    "<host>.jobmanager",
    "The format of the scope of metrics of the driver.",
)
SCOPE_JM_JOB: ConfigOption[str] = ConfigOption(
    "metrics.scope.jm-job",
    ValueKind.STRING,
    "<host>.jobmanager.<job_name>",
    "The format of the scope of metrics of the job.",
    fallback_keys=("metrics.scope.jm.job",),
)
SCOPE_TM: ConfigOption[str] = ConfigOption(
    "metrics.scope.tm",
    ValueKind.STRING,
    "<host>.taskmanager.<tm_id>",
    "No effect: there are no metrics of a worker.",
    has_effect=False,
)
SCOPE_TM_JOB: ConfigOption[str] = ConfigOption(
    "metrics.scope.tm-job",
    ValueKind.STRING,
    "<host>.taskmanager.<tm_id>.<job_name>",
    "No effect: there are no metrics of a job on one worker.",
    fallback_keys=("metrics.scope.tm.job",),
    has_effect=False,
)
SCOPE_TASK: ConfigOption[str] = ConfigOption(
    "metrics.scope.task",
    ValueKind.STRING,
    "<host>.taskmanager.<tm_id>.<job_name>.<task_name>.<subtask_index>",
    "The format of the scope of metrics of a task.",
)
SCOPE_OPERATOR: ConfigOption[str] = ConfigOption(
    "metrics.scope.operator",
    ValueKind.STRING,
    "<host>.taskmanager.<tm_id>.<job_name>.<operator_name>.<subtask_index>",
    "The format of the scope of metrics of an operator.",
)


class ReporterKind(Enum):
    """The reporters that there are."""

    PROMETHEUS = "Prometheus"
    PUSH_GATEWAY = "PrometheusPushGateway"
    INFLUXDB = "InfluxDB"
    LOG = "Slf4j"


_PACKAGE = "org.apache.flink.metrics."
_CLASSES: Mapping[str, ReporterKind] = {
    f"{_PACKAGE}prometheus.PrometheusReporter": ReporterKind.PROMETHEUS,
    f"{_PACKAGE}prometheus.PrometheusPushGatewayReporter": ReporterKind.PUSH_GATEWAY,
    f"{_PACKAGE}influxdb.InfluxdbReporter": ReporterKind.INFLUXDB,
    f"{_PACKAGE}slf4j.Slf4jReporter": ReporterKind.LOG,
}
_FACTORY = "Factory"


def _parse_class(value: Any) -> ReporterKind:
    kind = _CLASSES.get(str(value).strip().removesuffix(_FACTORY))
    if kind is None:
        names = ", ".join(f"{name}{_FACTORY}" for name in _CLASSES)
        raise ValueError(f"a reporter that Headrace has: {names}")
    return kind


def _parse_ports(value: Any) -> tuple[range, ...]:
    """Return the ranges of ``9250-9260,9300``."""
    ranges = []
    for part in str(value).split(","):
        found = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part)
        first = int(found[1]) if found else -1
        last = int(found[2] or first) if found else -1
        if not 0 <= first <= last <= 65_535:
            raise ValueError("a port, or ports such as 9250-9260 or 9250,9260")
        ranges.append(range(first, last + 1))
    return tuple(ranges)


@dataclass(frozen=True)
class CheckedOption(ConfigOption[T], Generic[T]):
    """An option whose values are parsed by a function, which raises ``ValueError``."""

    convert: Callable[[Any], T] = field(kw_only=True)

    def parse(self, value: Any) -> T:
        try:
            return self.convert(value)
        except ValueError as error:
            raise ConfigurationError(
                f"{self.key} is {value!r}", hint=f"it must be {error}"
            ) from None


def _option(rest: str, kind: ValueKind, default: T, text: str, **more: Any) -> ConfigOption[T]:
    return ConfigOption(f"{REPORTER_PREFIX}{NAME}.{rest}", kind, default, text, **more)


FACTORY_CLASS: ConfigOption[ReporterKind | None] = CheckedOption(
    f"{REPORTER_PREFIX}{NAME}.factory.class",
    ValueKind.STRING,
    None,
    "The kind of reporter, as the name of Flink's class with its package:"
    " PrometheusReporterFactory, PrometheusPushGatewayReporterFactory, InfluxdbReporterFactory"
    " or Slf4jReporterFactory.",
    fallback_keys=(f"{REPORTER_PREFIX}{NAME}.class",),
    convert=_parse_class,
)
INTERVAL = _option(
    "interval",
    ValueKind.DURATION,
    10_000,
    "The time between two reports. It has no effect for Prometheus.",
)
DELIMITER: ConfigOption[str | None] = _option(
    "scope.delimiter",
    ValueKind.STRING,
    None,
    "The separator of the parts of an identifier. The default is `metrics.scope.delimiter`.",
)
EXCLUDED_VARIABLES: ConfigOption[list[str]] = _option(
    "scope.variables.excludes",
    ValueKind.LIST,
    [],
    "The labels that are left out: `job_id;task_attempt_num`.",
)
ADDITIONAL_VARIABLES: ConfigOption[dict[str, str]] = _option(
    "scope.variables.additional",
    ValueKind.MAP,
    {},
    "Labels that are added to all metrics: `cluster:blue,team:data`.",
)
INCLUDES: ConfigOption[list[str]] = _option(
    "filter.includes",
    ValueKind.LIST,
    [_ALL_METRICS],
    "The metrics that are reported, as `scope:name,name:type,type`. Separate several filters by"
    " semicolons. `*` matches any text: `*.operator:numRecords*:counter`.",
)
EXCLUDES: ConfigOption[list[str]] = _option(
    "filter.excludes",
    ValueKind.LIST,
    [],
    "The metrics that are not reported. The syntax is that of `filter.includes`.",
)
HOST: ConfigOption[str | None] = _option(
    "host",
    ValueKind.STRING,
    None,
    "InfluxDB, pushgateway: the server's host. Prometheus: the address to listen on; the"
    " default is 127.0.0.1, and 0.0.0.0 means all addresses.",
)
PORT: ConfigOption[tuple[range, ...] | None] = CheckedOption(
    f"{REPORTER_PREFIX}{NAME}.port",
    ValueKind.STRING,
    None,
    "InfluxDB, pushgateway: the server's port; the defaults are 8086 and 9091. Prometheus: the"
    " port to listen on; the default is 9249. Of a range (`9250-9260`) the first free port is"
    " used.",
    convert=_parse_ports,
)
FILTER_LABELS = _option(
    "filterLabelValueCharacters",
    ValueKind.BOOLEAN,
    True,
    "Prometheus, pushgateway: whether `_` replaces the characters other than `[a-zA-Z0-9:_]` in"
    " the values of labels.",
)
HOST_URL: ConfigOption[str | None] = _option(
    "hostUrl",
    ValueKind.STRING,
    None,
    "Pushgateway: the server's URL, such as http://localhost:9091.",
)
JOB_NAME = _option(
    "jobName", ValueKind.STRING, "", "Pushgateway: the job name under which metrics are pushed."
)
RANDOM_SUFFIX = _option(
    "randomJobNameSuffix",
    ValueKind.BOOLEAN,
    True,
    "Pushgateway: whether a random suffix is added to `jobName`.",
)
DELETE_ON_SHUTDOWN = _option(
    "deleteOnShutdown",
    ValueKind.BOOLEAN,
    True,
    "Pushgateway: whether the job's metrics are deleted from the server when the job ends.",
)
GROUPING_KEY = _option(
    "groupingKey",
    ValueKind.STRING,
    "",
    "Pushgateway: additional labels of the group, as `k1=v1;k2=v2`.",
)
SCHEME = _option(
    "scheme",
    ValueKind.CHOICE,
    "http",
    "InfluxDB: the protocol.",
    choices=("http", "https"),
)
DB: ConfigOption[str | None] = _option(
    "db", ValueKind.STRING, None, "InfluxDB: the database. It must exist."
)
USERNAME: ConfigOption[str | None] = _option(
    "username", ValueKind.STRING, None, "InfluxDB: the user. The default is no user."
)
PASSWORD: ConfigOption[str | None] = _option(
    "password", ValueKind.STRING, None, "InfluxDB: the user's password."
)
RETENTION_POLICY = _option(
    "retentionPolicy",
    ValueKind.STRING,
    "",
    "InfluxDB: the retention policy. The default is that of the database.",
)
CONSISTENCY = _option(
    "consistency",
    ValueKind.CHOICE,
    "ONE",
    "InfluxDB: how many nodes of a cluster must confirm a write.",
    choices=("ALL", "ANY", "ONE", "QUORUM"),
)
CONNECT_TIMEOUT = _option(
    "connectTimeout",
    ValueKind.INT,
    10_000,
    "InfluxDB: the timeout of a connection attempt, in milliseconds.",
)
WRITE_TIMEOUT = _option(
    "writeTimeout", ValueKind.INT, 10_000, "InfluxDB: the timeout of a write, in milliseconds."
)

_BEFORE_REST = f"{REPORTER_PREFIX}{NAME}."

REPORTER_OPTIONS: Mapping[str, ConfigOption[Any]] = MappingProxyType(
    {
        key.removeprefix(_BEFORE_REST): option
        for option in list(globals().values())
        if isinstance(option, ConfigOption) and option.key.startswith(_BEFORE_REST)
        for key in (option.key, *option.fallback_keys)
    }
)
"""The options of a reporter, by what follows its name in the key."""


def option_of(key: str) -> ConfigOption[Any] | None:
    """Return the option of a reporter's key, with that key; None for other keys."""
    name, dot, rest = key.removeprefix(REPORTER_PREFIX).partition(".")
    if not key.startswith(REPORTER_PREFIX) or not name or not dot:
        return None
    option = REPORTER_OPTIONS.get(rest)
    return None if option is None else replace(option, key=key, fallback_keys=())


class Settings(Protocol):
    """Settings by key: a ``Configuration``."""

    def key_set(self) -> set[str]:
        """Return all keys that are set."""

    def value_of(self, key: str) -> Any | None:
        """Return the value of ``key`` as the user set it, or None if it is not set."""


@dataclass(frozen=True)
class ReporterSettings:
    """The settings of one reporter, by option."""

    name: str
    kind: ReporterKind
    settings: Settings = field(repr=False)

    def read(self, option: ConfigOption[T]) -> T:
        """Return the parsed value of an option, or its default."""
        return _read(self.settings, self.name, option)

    def key_of(self, option: ConfigOption[Any]) -> str:
        """Return the key of an option of this reporter."""
        return option.key.replace(NAME, self.name)

    def require(self, option: ConfigOption[T | None]) -> T:
        """Return the parsed value of an option.

        Raises:
            ConfigurationError: it is not set.
        """
        value = self.read(option)
        if value is None or value == "":
            raise ConfigurationError(
                f"the metric reporter {self.name!r} ({self.kind.value}) needs {self.key_of(option)}"
            )
        return value


def _read(settings: Settings, name: str, option: ConfigOption[T]) -> T:
    for pattern in (option.key, *option.fallback_keys):
        key = pattern.replace(NAME, name)
        value = settings.value_of(key)
        if value is not None:
            return replace(option, key=key).parse(value)
    return option.default


def read_reporters(settings: Settings) -> list[ReporterSettings]:
    """Return the reporters that a configuration asks for, in the order of their names.

    Raises:
        ConfigurationError: a reporter has no class.
    """
    keys = [key for key in settings.key_set() if option_of(key) is not None]
    found = sorted({key.removeprefix(REPORTER_PREFIX).partition(".")[0] for key in keys})
    chosen = settings.value_of(REPORTERS.key)
    if chosen:
        names = re.split(r"[\s,]+", REPORTERS.parse(chosen).strip())
        found = sorted({name for name in names if name})
    reporters = []
    for name in found:
        kind = _read(settings, name, FACTORY_CLASS)
        if kind is None:
            raise ConfigurationError(
                f"the metric reporter {name!r} has no class",
                hint=f"set {FACTORY_CLASS.key.replace(NAME, name)}",
            )
        reporters.append(ReporterSettings(name, kind, settings))
    return reporters

"""The keys of metric reporters are Flink's, and what Headrace has no reporter for is refused."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.cli.check.catalogue import UNSUPPORTED, WORKS
from headrace.cli.check.keys import finding_of_key
from headrace.common import Configuration
from headrace.common._options import metric_reporters as reporters
from headrace.common._options.metric_reporters import ReporterKind, read_reporters
from headrace.errors import ConfigurationError

FLINKS = "org.apache.flink.metrics"
PROMETHEUS = f"{FLINKS}.prometheus.PrometheusReporterFactory"


def configured(**reporter: Any) -> Configuration:
    text = {rest.replace("__", "."): value for rest, value in reporter.items()}
    return Configuration.from_dict({f"metrics.reporter.{rest}": text[rest] for rest in text})


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("prometheus.PrometheusReporterFactory", ReporterKind.PROMETHEUS),
        ("prometheus.PrometheusPushGatewayReporterFactory", ReporterKind.PUSH_GATEWAY),
        ("influxdb.InfluxdbReporterFactory", ReporterKind.INFLUXDB),
        ("slf4j.Slf4jReporterFactory", ReporterKind.LOG),
    ],
)
def test_reporters_are_known_by_flinks_classes(name: str, kind: ReporterKind) -> None:
    (found,) = read_reporters(configured(mine__factory__class=f"{FLINKS}.{name}"))
    assert (found.name, found.kind) == ("mine", kind)
    (older,) = read_reporters(configured(mine__class=f"{FLINKS}.{name.removesuffix('Factory')}"))
    assert older.kind == kind


def test_another_reporter_is_refused_by_its_name() -> None:
    name = f"{FLINKS}.jmx.JMXReporterFactory"
    with pytest.raises(ConfigurationError) as raised:
        configured(mine__factory__class=name)
    assert name in str(raised.value) and "metrics.reporter.mine.factory.class" in str(raised.value)
    assert PROMETHEUS in str(raised.value.hint)


def test_values_are_parsed_and_have_flinks_defaults() -> None:
    (found,) = read_reporters(
        configured(
            prom__factory__class=PROMETHEUS,
            prom__port="9250-9252, 9300",
            prom__interval="2 s",
            prom__scope__variables__excludes="job_id;tm_id",
            prom__scope__variables__additional="cluster:blue,team:data",
            prom__filter__excludes="*.operator:num*,cur*:counter;jobmanager.job",
        )
    )
    assert found.read(reporters.PORT) == (range(9250, 9253), range(9300, 9301))
    assert found.read(reporters.INTERVAL) == 2000
    assert found.read(reporters.EXCLUDED_VARIABLES) == ["job_id", "tm_id"]
    assert found.read(reporters.ADDITIONAL_VARIABLES) == {"cluster": "blue", "team": "data"}
    assert found.read(reporters.EXCLUDES) == ["*.operator:num*,cur*:counter", "jobmanager.job"]
    assert found.read(reporters.INCLUDES) == ["*:*:*"]
    assert found.read(reporters.FILTER_LABELS) is True
    with pytest.raises(ConfigurationError, match=r"needs metrics\.reporter\.prom\.host"):
        found.require(reporters.HOST)


def test_only_the_reporters_that_are_listed_start() -> None:
    both = {"a__factory__class": PROMETHEUS, "b__factory__class": PROMETHEUS}
    assert [each.name for each in read_reporters(configured(**both))] == ["a", "b"]
    listed = configured(**both).set_string("metrics.reporters", "b, ")
    assert [each.name for each in read_reporters(listed)] == ["b"]


@pytest.mark.parametrize("unfinished", [{"a.port": "1"}, None])
def test_a_reporter_without_a_class_is_refused(unfinished: dict[str, str] | None) -> None:
    configuration = (
        configured(**unfinished)
        if unfinished
        else Configuration.from_dict({"metrics.reporters": "a"})
    )
    with pytest.raises(ConfigurationError, match="'a' has no class") as raised:
        read_reporters(configuration)
    assert raised.value.hint == "set metrics.reporter.a.factory.class"


@pytest.mark.parametrize("ports", ["", "x", "9-8", "70000", "1-", "-1"])
def test_ports_are_checked(ports: str) -> None:
    with pytest.raises(ConfigurationError, match=r"metrics\.reporter\.a\.port is"):
        configured(a__port=ports)


def test_a_misspelt_key_is_told_with_those_that_are_near() -> None:
    with pytest.raises(ConfigurationError) as raised:
        configured(a__intervall="1 s")
    assert "metrics.reporter.a.interval" in str(raised.value.hint)


def test_check_knows_the_keys() -> None:
    assert finding_of_key("metrics.reporter.a.port").status == WORKS
    assert finding_of_key("metrics.scope.operator").status == WORKS
    assert finding_of_key("metrics.reporter.a.apikey").status == UNSUPPORTED
    assert finding_of_key("metrics.reporter.a.factory.class", PROMETHEUS).status == WORKS
    refused = finding_of_key("metrics.reporter.a.factory.class", f"{FLINKS}.jmx.JMXReporterFactory")
    assert refused.status == UNSUPPORTED and "JMXReporterFactory" in str(refused.reason)

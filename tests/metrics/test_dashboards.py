"""Each panel of the dashboards shows something: a Prometheus that scrapes real jobs is asked."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headrace.cli import app
from headrace.common import Configuration, Duration, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.kafka import (
    KafkaRecord,
    KafkaRecordDeserializationSchema,
    KafkaSource,
)
from headrace.datastream.window import Time, TumblingEventTimeWindows
from headrace.demo.trades import generator
from headrace.demo.trades import job as trades
from headrace.dev.ports import free_ports
from scripts import dashboards
from tests.connectors.fake_kafka import BROKERS, Broker, FakeClients
from tests.metrics.conftest import Prometheus, wait_for
from tests.metrics.test_servers import REPORTED, prometheus_keys
from tests.servers import serving

NAMES = ("job", "kafka", "state", "trades")


EVERY_JOB = ".*"
"""The value of the variable if all jobs are selected."""

GRAFANAS = {"__rate_interval"}
"""The variables that Grafana itself sets in a query."""


def model_of(name: str) -> dict[str, Any]:
    """A dashboard, as Grafana imports it."""
    text = files("headrace").joinpath("dashboards", f"{name}.json").read_text()
    found: dict[str, Any] = json.loads(text)
    return found


def panels(name: str) -> Iterator[tuple[str, str]]:
    """Title and query of each panel of a dashboard."""
    for panel in model_of(name)["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]


def variables(name: str) -> dict[str, tuple[str, str]]:
    """The metric and the label whose values each variable of a dashboard has."""
    found = {}
    for each in model_of(name)["templating"]["list"]:
        if each["type"] == "query":
            parsed = re.fullmatch(r"label_values\((\w+), (\w+)\)", each["query"]["query"])
            assert parsed is not None, each
            found[each["name"]] = (parsed[1], parsed[2])
    return found


def reporting(port: int, name: str, **settings: str) -> StreamExecutionEnvironment:
    """An environment whose jobs report to Prometheus, in many small micro-batches."""
    reporter = {
        f"metrics.reporter.{key.replace('__', '.')}": value
        for key, value in prometheus_keys(port).items()
    }
    made = {"pipeline.name": name, **reporter, **settings}
    return StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(made))


LOCAL = {"execution.target": "local", "headrace.source.max-records-per-batch": "100"}


@contextmanager
def scraped(prometheus: Prometheus, env: StreamExecutionEnvironment, port: int) -> Iterator[None]:
    """A job that runs while it is asked about, and is cancelled then."""
    prometheus.scrape(port)
    client = env.execute_async()
    try:
        yield
    finally:
        client.cancel().result()


def shown(prometheus: Prometheus, query: str, job: str) -> list[dict[str, Any]]:
    return prometheus.query(query.replace("$job", job).replace("$__rate_interval", "20s"))


def assert_all_show(prometheus: Prometheus, name: str, job: str) -> None:
    """The job can be selected in a dashboard, and each query has an answer soon."""
    for metric, label in variables(name).values():
        wait_for(lambda asked=(label, metric): job in prometheus.label_values(*asked), 30, job)
    for title, query in panels(name):
        found = wait_for(lambda query=query: shown(prometheus, query, job), 30, title)
        assert all(each["value"][1] != "NaN" for each in found), title
        assert shown(prometheus, query, EVERY_JOB), title


class Hundred(TimestampAssigner):
    """Ten minutes ago; every hundredth is hours late."""

    def extract_timestamp(self, value: Any, record_timestamp: int | None) -> int:
        start = int(time.time() * 1000) - 600_000
        return start - 10**7 if value % 100 == 99 else start + value


@pytest.mark.spark
def test_the_dashboard_of_jobs(prometheus: Prometheus) -> None:
    (port,) = free_ports(1)
    env = reporting(port, "overview", **LOCAL)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(1))
    numbers = env.from_sequence(1, 10**8).name("numbers")
    timed = numbers.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(Hundred()))
    keyed = timed.key_by(lambda n: n % 10).window(TumblingEventTimeWindows.of(Time.seconds(1)))
    keyed.reduce(lambda a, b: a + b).name("sums").filter(lambda n: n < 0).print()
    with scraped(prometheus, env, port):
        assert_all_show(prometheus, "job", "overview")


class Text(KafkaRecordDeserializationSchema):
    def deserialize(self, record: KafkaRecord) -> Any:
        assert record.value is not None
        return int(record.value)


def clicks(env: StreamExecutionEnvironment, servers: str, topic: str, clients: Any) -> None:
    """A job that reads a topic."""
    builder = KafkaSource.builder().set_bootstrap_servers(servers).set_topics(topic)
    builder = builder.set_group_id("group").set_deserializer(Text())
    source = (builder if clients is None else builder.set_clients(clients)).build()
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    env.from_source(source, strategy, "clicks").filter(lambda n: n < 0).print()


@pytest.fixture
def broker() -> Iterator[Broker]:
    BROKERS["fake"] = Broker()
    yield BROKERS["fake"]
    BROKERS.clear()


@pytest.mark.spark
def test_the_dashboard_of_kafka(prometheus: Prometheus, broker: Broker) -> None:
    for log in broker.create("clicks", 2):
        log.add(*(str(number).encode() for number in range(20_000)))
    (port,) = free_ports(1)
    env = reporting(port, "reader", **LOCAL)
    clicks(env, "fake:9092", "clicks", FakeClients("fake"))
    with scraped(prometheus, env, port):
        assert_all_show(prometheus, "kafka", "reader")


@pytest.mark.spark
def test_the_dashboard_of_kafka_on_spark(prometheus: Prometheus, tmp_path: Path) -> None:
    pytest.importorskip("confluent_kafka", reason="missing: pip install 'headrace[kafka]'")
    from tests.connectors.topic import new_topic, produce

    (port,) = free_ports(1)
    with serving("kafka") as server:
        topic = new_topic(server.url, 2)
        produce(server.url, topic, ((str(n % 10), b"%d" % n) for n in range(20_000)))
        settings = {
            "execution.checkpointing.dir": str(tmp_path),
            "headrace.source.max-records-per-batch": "1000",
            "parallelism.default": "2",
        }
        env = reporting(port, "spark reader", **settings)
        clicks(env, server.url, topic, None)
        with scraped(prometheus, env, port):
            assert_all_show(prometheus, "kafka", "spark_reader")


@pytest.mark.spark
@pytest.mark.capability(REPORTED, runners="streaming")
def test_the_dashboard_of_state(prometheus: Prometheus, tmp_path: Path) -> None:
    """On Spark: only there is state in pages, and a checkpoint."""
    (port,) = free_ports(1)
    settings = {
        "execution.checkpointing.dir": str(tmp_path),
        "headrace.source.max-records-per-batch": "2000",
        "parallelism.default": "2",
    }
    env = reporting(port, "keeper", **settings)
    keyed = env.from_sequence(1, 10**8).name("numbers").key_by(lambda n: n % 1000)
    keyed.reduce(lambda a, b: a + b).name("sums").filter(lambda n: n < 0).print()
    with scraped(prometheus, env, port):
        assert_all_show(prometheus, "state", "keeper")
        subtasks = shown(
            prometheus, "count by (subtask_index) (flink_taskmanager_job_task_numBytesIn)", ""
        )
        assert {each["metric"]["subtask_index"] for each in subtasks} == {"0", "1"}


@pytest.mark.spark
def test_the_dashboard_of_the_trades_job(prometheus: Prometheus, tmp_path: Path) -> None:
    rates = generator.Rates(malformed=0.02, duplicate=0.02, orphan=0.02)
    generator.generate(tmp_path / "day", events=40_000, seed=1, rates=rates)
    (port,) = free_ports(1)
    env = reporting(port, "trades", **LOCAL)
    trades.write(*trades.build(env, tmp_path / "day"), tmp_path / "out")
    with scraped(prometheus, env, port):
        assert_all_show(prometheus, "trades", "trades")
        kinds = shown(
            prometheus, "sum by (kind) (flink_taskmanager_job_task_operator_kind_anomalies)", ""
        )
        assert {"MALFORMED", "DUPLICATE"} <= {each["metric"]["kind"] for each in kinds}


def test_the_files_are_in_step_and_complete() -> None:
    assert dashboards.main(["--check"]) == 0
    assert tuple(each.name for each in dashboards.DASHBOARDS) == NAMES
    assert all(len([*panels(name)]) > 5 for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_queries_have_no_other_variables_than_the_dashboard(name: str) -> None:
    (all_value,) = [
        each["allValue"] for each in model_of(name)["templating"]["list"] if each["name"] == "job"
    ]
    assert all_value == EVERY_JOB
    used = {found for _, query in panels(name) for found in re.findall(r"\$\{?(\w+)", query)}
    assert "job" in used and used <= {*variables(name), *GRAFANAS}


def test_places_do_not_overlap() -> None:
    for name in NAMES:
        model = model_of(name)
        taken: set[tuple[int, int]] = set()
        for panel in model["panels"]:
            place = panel["gridPos"]
            cells = {
                (place["x"] + x, place["y"] + y)
                for x in range(place["w"])
                for y in range(place["h"])
            }
            assert not cells & taken, panel["title"]
            assert max(x for x, _ in cells) < 24
            taken |= cells
        numbers = [panel["id"] for panel in model["panels"]]
        assert len({*numbers}) == len(numbers)


def test_the_command_copies_the_files(tmp_path: Path) -> None:
    listed = CliRunner().invoke(app, ["dev", "dashboards"]).output.split()
    assert listed == ["alerts.yml", *(f"{name}.json" for name in NAMES)]
    done = CliRunner().invoke(app, ["dev", "dashboards", "--to", str(tmp_path / "new")])
    assert done.exit_code == 0 and len(done.output.splitlines()) == len(listed)
    assert sorted(each.name for each in (tmp_path / "new").iterdir()) == listed
    assert json.loads((tmp_path / "new" / "job.json").read_text())["uid"] == "headrace-job"

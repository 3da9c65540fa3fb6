"""What real servers have of a job: Prometheus, a pushgateway, InfluxDB."""

from __future__ import annotations

import subprocess
import urllib.request
from typing import Any

import pytest

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.dev.ports import free_ports
from tests.metrics.conftest import Influxdb, Prometheus, wait_for
from tests.metrics.jobs import FLINKS, HELD_AT, RECORDS, running
from tests.servers import promtool

pytestmark = pytest.mark.spark  # it needs servers, as the tests of databases do

REPORTED = "Metrics for Prometheus and InfluxDB, under Flink's names"
OPERATOR = "flink_taskmanager_job_task_operator"
LABELS = {
    *("host", "tm_id", "job_id", "job_name", "task_id", "task_name", "subtask_index"),
    *("task_attempt_id", "task_attempt_num", "operator_id", "operator_name"),
}


def prometheus_keys(port: int) -> dict[str, str]:
    name = f"{FLINKS}.prometheus.PrometheusReporterFactory"
    return {"prom__factory__class": name, "prom__port": str(port)}


@pytest.mark.capability(REPORTED, runners="local")
def test_prometheus_scrapes_a_job(prometheus: Prometheus) -> None:
    (port,) = free_ports(1)
    prometheus.scrape(port)
    with running(**prometheus_keys(port)):
        (read,) = wait_for(
            lambda: prometheus.query(
                f'{OPERATOR}_numRecordsIn{{operator_name="reading"}} == {HELD_AT}'
            )
        )
        assert {*read["metric"]} == {*LABELS, "__name__", "instance", "job"}
        assert read["metric"]["job_name"] == "readings"
        assert read["metric"]["task_name"].startswith("Source:_readings__all____reading____")
        (room,) = prometheus.query(f"{OPERATOR}_room_hot")
        assert room["metric"]["room"] == "cellar_1" and float(room["value"][1]) > 0
        (count,) = prometheus.query(f"{OPERATOR}_sensors_readings")
        assert float(count["value"][1]) == HELD_AT
        quantiles = {
            each["metric"]["quantile"]: float(each["value"][1])
            for each in prometheus.query(f"{OPERATOR}_degrees")
        }
        assert quantiles == {"0.0": 0, "1.0": 39}
        assert float(prometheus.query(f"{OPERATOR}_degrees_count")[0]["value"][1]) == HELD_AT
        (watermark,) = prometheus.query(f'{OPERATOR}_currentInputWatermark{{operator_name="sums"}}')
        assert 0 < float(watermark["value"][1]) < HELD_AT * 1000
        (target,) = prometheus.targets()
        assert (target["health"], target["lastError"]) == ("up", "")
        (odd,) = prometheus.query(f"{OPERATOR}_1st___key_gr__e__in__")
        assert odd["metric"]["_1st___key"] == "a_b___c__"


def test_promtool_finds_nothing_wrong_with_the_page() -> None:
    checker = promtool()
    (port,) = free_ports(1)

    def fetch() -> bytes:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            found: bytes = answer.read()
        return found if b"currentInputWatermark" in found else b""

    with running(**prometheus_keys(port)):
        page = wait_for(fetch)
    done = subprocess.run(
        [checker, "check", "metrics"], input=page, capture_output=True, check=False
    )
    words = done.stderr.decode() + done.stdout.decode()
    # Flink's names are in camel case, which promtool's style does not like.
    told = [line for line in words.splitlines() if "camelCase" not in line]
    assert not told, words


def test_a_pushgateway_has_the_metrics_and_loses_them_at_the_end(
    prometheus: Prometheus, pushgateway: str
) -> None:
    prometheus.scrape(int(pushgateway.rpartition(":")[2]))
    keys = {
        "push__factory__class": f"{FLINKS}.prometheus.PrometheusPushGatewayReporterFactory",
        "push__hostUrl": pushgateway,
        "push__interval": "200 ms",
        "push__jobName": "mine-",
        "push__groupingKey": "k1=v1;k2=v2",
    }

    def held() -> list[dict[str, Any]]:
        return prometheus.query(f'{OPERATOR}_numRecordsIn{{operator_name="reading",k1="v1"}}')

    with running(**keys):
        (read,) = wait_for(held)
        assert read["metric"]["exported_job"].startswith("mine-")
        assert len(read["metric"]["exported_job"]) == len("mine-") + 32
        assert read["metric"]["k2"] == "v2"
        wait_for(lambda: float(held()[0]["value"][1]) == HELD_AT)
    with urllib.request.urlopen(f"{pushgateway}/metrics") as answer:
        assert b"flink_" not in answer.read()
    kept = {"push__deleteOnShutdown": "false", "push__randomJobNameSuffix": "false"}
    with running(**{**keys, **kept}):
        pass
    with urllib.request.urlopen(f"{pushgateway}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    (last,) = [
        line.rpartition(" ")[2]
        for line in lines
        if line.startswith(f"{OPERATOR}_sensors_readings{{") and 'job="mine-"' in line
    ]
    assert float(last) == RECORDS + 1


def to(influxdb: Influxdb) -> dict[str, str]:
    """The keys of a reporter to this server."""
    return {
        "influx__factory__class": f"{FLINKS}.influxdb.InfluxdbReporterFactory",
        "influx__host": "127.0.0.1",
        "influx__port": influxdb.url.rpartition(":")[2],
    }


def test_influxdb_has_points_with_flinks_tags_and_fields(
    influxdb: Influxdb, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = {
        **to(influxdb),
        "influx__db": "flink",
        "influx__interval": "200 ms",
        "influx__scope__variables__additional": "odd:\\",
    }
    name = "taskmanager_job_task_operator"
    with running(**keys):
        wait_for(lambda: influxdb.query(f'SELECT * FROM "{name}_room_hot" WHERE rate > 0'))
    (last,) = influxdb.query(
        f'SELECT last("count") FROM "{name}_numRecordsIn" WHERE operator_name = \'reading\''
        " GROUP BY *"
    )
    assert last["last"] == RECORDS + 1
    assert {*last} == {*LABELS, "odd", "time", "last"}
    assert last["task_name"].startswith("Source: readings, all -> reading -> ")
    fields = {
        measurement: {each["fieldKey"]: each["fieldType"] for each in found}
        for measurement in ("numRecordsIn", "numRecordsInPerSecond", "ratio", "degrees", "room_hot")
        for found in [influxdb.query(f'SHOW FIELD KEYS FROM "{name}_{measurement}"')]
    }
    assert fields == {
        "numRecordsIn": {"count": "integer"},
        "numRecordsInPerSecond": {"count": "integer", "rate": "float"},
        "ratio": {"value": "float"},
        "degrees": {
            "count": "integer",
            **dict.fromkeys(("min", "max", "mean", "sum"), "float"),
        },
        "room_hot": {"count": "integer", "rate": "float"},
    }
    rooms = influxdb.query(f'SELECT last("count") FROM "{name}_room_hot" GROUP BY "room"')
    assert [each["room"] for each in rooms] == ["cellar 1"]
    watermarks = influxdb.query('SHOW FIELD KEYS FROM "taskmanager_job_task_currentInputWatermark"')
    assert [each["fieldType"] for each in watermarks] == ["integer"]
    odd = f"{name}_1st___key_größe, in %"
    (last,) = influxdb.query(f'SELECT last("count") FROM "{odd}" GROUP BY "1st = key"')
    assert (last["last"], last["1st = key"]) == (1, 'a"b,\\ c= ')
    assert "could not report" not in capsys.readouterr().err


@pytest.mark.capability(REPORTED, runners="batch")
def test_a_batch_on_spark_is_reported_at_its_end(influxdb: Influxdb) -> None:
    configuration = Configuration.from_dict(
        {
            "execution.runtime-mode": "BATCH",
            "parallelism.default": "2",
            "metrics.reporter.influx.factory.class": f"{FLINKS}.influxdb.InfluxdbReporterFactory",
            "metrics.reporter.influx.host": "127.0.0.1",
            "metrics.reporter.influx.port": influxdb.url.rpartition(":")[2],
            "metrics.reporter.influx.db": "flink",
            "metrics.reporter.influx.interval": "1 h",
        }
    )
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    keyed = env.from_sequence(1, 100).name("numbers").key_by(lambda n: n % 5)
    keyed.reduce(lambda a, b: a + b).name("totals").filter(lambda n: n < 0).print()
    env.execute("a batch")
    rows = influxdb.query(
        'SELECT last("count") FROM "taskmanager_job_task_operator_numRecordsIn"'
        " WHERE operator_name = 'totals' GROUP BY *"
    )
    assert sum(row["last"] for row in rows) == 100
    assert {row["job_name"] for row in rows} == {"a batch"}


def test_a_database_that_is_not_there_is_told_once(
    influxdb: Influxdb, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = {
        **to(influxdb),
        "influx__db": "other",
        "influx__interval": "50 ms",
    }
    with running(**keys):
        pass
    told = capsys.readouterr().err
    assert told.count("could not report") == 1 and 'database not found: \\"other\\"' in told

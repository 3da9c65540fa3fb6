"""Reporters of a running job: what they report, and that they never fail it."""

from __future__ import annotations

import logging
import math
import re
import socket
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.functions import MapFunction, RuntimeContext
from headrace.errors import ConfigurationError, MissingExtraError
from headrace.runners.reporters import prometheus
from headrace.runners.reporters.log import LOGGER

FLINKS = "org.apache.flink.metrics"
CLASSES = {
    "prom": f"{FLINKS}.prometheus.PrometheusReporterFactory",
    "push": f"{FLINKS}.prometheus.PrometheusPushGatewayReporterFactory",
    "influx": f"{FLINKS}.influxdb.InfluxdbReporterFactory",
    "log": f"{FLINKS}.slf4j.Slf4jReporterFactory",
}


def configured(name: str, **keys: str) -> Configuration:
    text = {f"metrics.reporter.{name}.{key}": keys[key] for key in keys}
    text[f"metrics.reporter.{name}.factory.class"] = CLASSES[name]
    return Configuration.from_dict({"execution.target": "local", **text})


def run(configuration: Configuration, during: Any = None) -> None:
    """Run a job; ``during`` is called in the middle of it, if it is given."""
    configuration.set_string("headrace.source.max-records-per-batch", "5")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    called: list[int] = []

    def through(value: int) -> int:
        if value == 12 and during is not None and not called:
            called.append(value)
            during()
        return value

    env.from_collection([*range(20)]).name("numbers").map(through).print()
    env.execute("reported")
    assert during is None or called


@contextmanager
def answering(status: int, text: str = "") -> Iterator[tuple[int, list[tuple[str, Any, bytes]]]]:
    """A server that keeps requests: path, headers, body."""
    requests: list[tuple[str, Any, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            requests.append((self.path, self.headers, body))
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port, requests
        finally:
            server.shutdown()
            thread.join()


def scrape(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        text: str = answer.read().decode()
    return text


def served_port() -> int:
    (server,) = prometheus._servers.values()
    return server.port


def test_prometheus_sees_committed_records_only() -> None:
    pages: list[str] = []
    run(configured("prom", port="0"), lambda: pages.append(scrape(served_port())))
    (count,) = [
        line.rpartition(" ")[2]
        for line in pages[0].splitlines()
        if line.startswith("flink_taskmanager_job_task_operator_numRecordsIn{")
        and 'operator_name="Source:_numbers"' in line
    ]
    assert float(count) == 10
    assert not prometheus._servers


def test_label_values_are_filtered_unless_told_otherwise() -> None:
    pages: list[str] = []
    keys = {"port": "0", "filterLabelValueCharacters": "false"}
    run(configured("prom", **keys), lambda: pages.append(scrape(served_port())))
    assert 'operator_name="Source: numbers"' in pages[0]


def test_the_first_free_port_of_a_range_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        first = taken.getsockname()[1]
        found: list[int] = []
        ports = f"{first}-{min(first + 20, 65_535)}"
        run(configured("prom", port=ports), lambda: found.append(served_port()))
    assert first < found[0] <= first + 20
    assert f"headrace: metrics for Prometheus: http://127.0.0.1:{found[0]}/metrics" in (
        capsys.readouterr().err
    )


def test_a_port_that_is_taken_does_not_fail_the_job(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        run(configured("prom", port=str(port)))
    told = capsys.readouterr().err
    assert "'prom' (Prometheus) is off for this job" in told and str(port) in told


def test_jobs_with_the_same_port_share_it() -> None:
    pages: list[str] = []

    def during() -> None:
        run(configured("prom", port="0"), lambda: pages.append(scrape(served_port())))
        pages.append(scrape(served_port()))

    run(configured("prom", port="0"), during)
    jobs = [
        {line.partition('job_id="')[2][:32] for line in page.splitlines() if 'job_id="' in line}
        for page in pages
    ]
    assert [len(found) for found in jobs] == [2, 1] and jobs[1] < jobs[0]
    assert pages[0].count("# TYPE flink_jobmanager_job_uptime gauge") == 1
    running = [
        line.rpartition(" ")[2] for line in pages[0].splitlines() if "numRunningJobs{" in line
    ]
    assert running == ["2.0"]


def test_odd_metrics_of_functions_do_not_spoil_the_page() -> None:
    class Odd(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            group = runtime_context.get_metrics_group()
            group.gauge("huge", lambda: 10**400)
            group.gauge("none", lambda: math.nan)
            group.add_group("1:st key", 'a"b\n').counter("größe in %").inc()
            group.add_group("", "x").counter("n").inc()
            group.add_group("file", "caf\udce9").counter("caf\udce9").inc()
            group.add_group("__name__", "y").counter("own").inc()
            group.counter("size_count").inc(5)  # the name of a sample of the next one
            group.distribution("size").update(7)

        def map(self, value: int) -> int:
            return value

    pages: list[str] = []
    configuration = configured("prom", port="0", filterLabelValueCharacters="false")
    configuration.set_string("headrace.source.max-records-per-batch", "5")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)

    def scraped(value: int) -> int:
        if value == 19:
            pages.append(scrape(served_port()))
        return value

    env.from_collection([*range(20)]).map(Odd()).map(scraped).print()
    env.execute("odd")
    lines = [
        re.sub(r'(?<![\w"])(?!_1|quantile|file|_name__)[a-z_]+="[^"\\]*",?', "", line).removeprefix(
            "flink_taskmanager_job_task_operator_"
        )
        for line in pages[0].splitlines()
        if re.search("_huge|_none|_gr__e|_n{|_caf|_own|_size", line) and not line.startswith("#")
    ]
    assert lines == [
        "huge{} +Inf",
        "none{} NaN",
        "size_count{} 5.0",
        '1:st_key_gr__e_in__{_1_st_key="a\\"b\\n",} 1.0',
        "_n{} 1.0",
        'file_caf_{file="caf?",} 1.0',
        '__name___own{_name__="y",} 1.0',
    ]


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "prometheus_client"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(MissingExtraError) as raised:
        run(configured("prom"))
    assert 'pip install "headrace[prometheus]"' in str(raised.value)


def test_influxdb_gets_points_at_each_interval_and_at_the_end() -> None:
    keys = {"host": "127.0.0.1", "db": "flink", "interval": "20 ms", "retentionPolicy": "week"}
    with answering(204) as (port, requests):
        secret = {"username": "me", "password": "pw"}
        run(configured("influx", port=str(port), **keys, **secret), lambda: time.sleep(0.3))
    assert len(requests) > 2
    path, headers, body = requests[-1]
    assert path == "/write?db=flink&precision=ms&consistency=one&rp=week"
    assert headers["Authorization"] == "Basic bWU6cHc="
    lines = [
        line
        for line in body.decode().splitlines()
        if line.startswith("taskmanager_job_task_operator_numRecordsIn,")
    ]
    assert any(
        "operator_name=Source:\\ numbers" in each and " count=20i " in each for each in lines
    )


def test_errors_of_a_server_are_told_once_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    keys = {"host": "127.0.0.1", "db": "flink", "interval": "20 ms"}
    with answering(400, '{"error":"database not found"}') as (port, requests):
        run(configured("influx", port=str(port), **keys), lambda: time.sleep(0.3))
    told = capsys.readouterr().err
    assert told.count("could not report") == 1 and "database not found" in told
    assert f"{len(requests)} of {len(requests)} reports failed" in told


def test_a_server_that_is_away_does_not_fail_the_job(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    run(configured("influx", host="127.0.0.1", port=str(port), db="flink"))
    assert "ConnectionRefusedError" in capsys.readouterr().err
    run(configured("push", hostUrl=f"http://127.0.0.1:{port}"))
    assert "'push' (PrometheusPushGateway) could not report" in capsys.readouterr().err


def test_reporters_make_their_last_reports_at_once() -> None:
    """None answers before all have been asked for the last time."""
    names = ("influx", "second", "third")
    asked, answered = threading.Barrier(len(names)), []

    def answer(server: socket.socket, name: str) -> None:
        with server, server.accept()[0] as client:
            asked.wait(12)
            answered.append(name)
            client.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

    configuration = configured("influx", host="127.0.0.1", db="flink")
    for name in names:
        server = socket.create_server(("127.0.0.1", 0))
        waiting = {"interval": "1 h", "writeTimeout": "60000"}  # for the last report, and an answer
        keys = configured("influx", host="127.0.0.1", db="flink", **waiting).to_dict()
        keys["metrics.reporter.influx.port"] = str(server.getsockname()[1])
        for key, value in keys.items():
            configuration.set_string(key.replace(".influx.", f".{name}."), value)
        threading.Thread(target=answer, args=(server, name), daemon=True).start()
    run(configuration)
    assert sorted(answered) == sorted(names)


@pytest.mark.parametrize(
    ("name", "keys", "lacks"),
    [
        ("influx", {"host": "h"}, "metrics.reporter.influx.db"),
        ("influx", {"db": "d"}, "metrics.reporter.influx.host"),
        ("push", {}, "metrics.reporter.push.hostUrl"),
        ("push", {"hostUrl": "http://h", "groupingKey": "a"}, "metrics.reporter.push.groupingKey"),
        (
            "push",
            {"hostUrl": "http://h", "randomJobNameSuffix": "false"},
            "metrics.reporter.push.jobName",
        ),
    ],
)
def test_a_reporter_that_is_set_up_wrongly_fails_the_start(
    name: str, keys: dict[str, str], lacks: str
) -> None:
    with pytest.raises(ConfigurationError) as raised:
        run(configured(name, **keys))
    assert lacks in str(raised.value)


def test_the_log_has_all_metrics_by_identifier(caplog: pytest.LogCaptureFixture) -> None:
    configuration = configured("log", **{"filter.includes": "*:*:counter;jobmanager.job"})
    configuration.set_string("metrics.scope.operator", "<job_name>.<operator_name>")
    with caplog.at_level(logging.INFO, LOGGER):
        run(configuration)
    (record,) = [each for each in caplog.records if each.name == LOGGER]
    lines = record.getMessage().splitlines()
    assert "reported.Source: numbers.numRecordsIn: 20" in lines
    assert "reported.Source: numbers.numRecordsInPerSecond" not in record.getMessage()
    assert any(line.endswith(".jobmanager.reported.numRestarts: 0") for line in lines)
    assert lines[0].strip("=") == " Starting metrics report "

"""The page's server: what it answers, to whom, and what it hides."""

from __future__ import annotations

import http.client
import json
import math
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from headrace.common import Configuration
from headrace.common.job_status import JobStatus
from headrace.datastream import MapFunction, RuntimeContext
from headrace.errors import ConfigurationError
from headrace.runners.ui import start
from headrace.runners.ui.connections import make_protocol
from headrace.runners.ui.failures import MASK
from headrace.runners.ui.page_data import state_data
from headrace.runners.ui.record import JobRecord
from headrace.runners.ui.refusals import Refused
from headrace.runners.ui.server import UiServer
from headrace.runners.ui.vertex_ids import hex_id
from tests.unit.runners.ui import watched
from tests.unit.runners.ui.watched import watch

pytest.importorskip("uvicorn", reason='missing: pip install "headrace[ui]"')


def failing(value: int) -> int:
    if value == 50:
        raise ZeroDivisionError("of 50")
    return value


@pytest.fixture(scope="module")
def record() -> JobRecord:
    found = watch(function=failing)
    found.token = "open sesame"
    return found


@pytest.fixture(scope="module")
def server(record: JobRecord) -> Iterator[UiServer]:
    found = UiServer("127.0.0.1", 0)
    found.add(record)
    yield found
    found.close()


def ask(
    server: UiServer, path: str, method: str = "GET", body: str | None = None, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        connection.request(method, path, body, headers=headers)
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def ask_json(server: UiServer, path: str, **headers: str) -> Any:
    status, _, body = ask(server, path, **headers)
    assert status == 200, body
    return json.loads(body)


def test_the_page_and_its_files_are_served(server: UiServer) -> None:
    for path, kind in {
        "/": "text/html; charset=utf-8",
        "/page.css": "text/css; charset=utf-8",
        "/page.js": "text/javascript; charset=utf-8",
        "/icon.svg": "image/svg+xml",
    }.items():
        status, headers, body = ask(server, path)
        assert (status, headers["content-type"]) == (200, kind) and body


def test_nothing_is_asked_of_another_host(server: UiServer) -> None:
    for path in ("/", "/page.css", "/page.js"):
        text = ask(server, path)[2].decode().replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text and "https://" not in text and "//cdn" not in text
    policy = ask(server, "/")[1]["content-security-policy"]
    assert policy.startswith("default-src 'none'")


def test_tools_of_flink_find_the_job(server: UiServer, record: JobRecord) -> None:
    (job,) = ask_json(server, "/jobs/overview")["jobs"]
    assert (job["name"], job["state"]) == ("clicks", "FAILED")
    details = ask_json(server, f"/jobs/{job['jid']}")
    for vertex in details["vertices"]:
        path = f"/jobs/{job['jid']}/vertices/{vertex['id']}"
        for below in ("", "/watermarks", "/backpressure", "/metrics", "/subtasks/metrics"):
            assert ask_json(server, path + below)
    found = ask_json(server, f"/jobs/{job['jid']}/metrics?get=numRestarts,none")
    assert found == [{"id": "numRestarts", "value": "0"}]
    for below in ("plan", "config", "status", "accumulators", "checkpoints", "checkpoints/config"):
        assert ask_json(server, f"/jobs/{job['jid']}/{below}")


@pytest.mark.parametrize("path", ["/jobs", "/v1/overview", "/jobs/{job}/vertices/{vertex}"])
def test_a_path_may_end_with_a_slash(server: UiServer, record: JobRecord, path: str) -> None:
    assert record.job is not None
    path = path.format(job=record.job.job_id, vertex="numbers")
    found = ask_json(server, path)
    for slashes in ("/", "//"):
        again = ask_json(server, f"{path}{slashes}")
        assert again == ({**found, "now": again["now"]} if "now" in found else found)
    assert ask(server, f"/jobs/{record.job.job_id}/stop/", "POST", "{}")[0] == 401
    assert ask(server, "/page.css/")[0] == 200


@pytest.mark.parametrize("uid", ["clicks/v1", "a b?#%2F", "é", "sums/metrics"])
def test_a_vertex_is_found_by_any_uid(uid: str) -> None:
    server, record = UiServer("127.0.0.1", 0), watch()
    server.add(record)
    assert record.job is not None
    graph = record.job.graph
    vertices = tuple(replace(each, id=uid) for each in graph.vertices[:1])
    record.job = replace(record.job, graph=replace(graph, vertices=vertices))
    try:
        path = f"/jobs/{record.job.job_id}/vertices/{quote(uid, safe='')}"
        assert ask_json(server, path)["id"] == hex_id(uid)
        for below in ("watermarks", "backpressure", "metrics", "subtasks/metrics"):
            assert ask(server, f"{path}/{below}")[0] == 200
        status, _, body = ask(server, f"{path}s")
        assert status == 404 and f"Vertex {uid}s not found" in json.loads(body)["errors"][0]
    finally:
        server.close()


def test_paths_may_begin_with_the_version_of_flinks_api(
    server: UiServer, record: JobRecord
) -> None:
    assert ask_json(server, "/v1/jobs") == ask_json(server, "/jobs")
    assert record.job is not None
    path = f"/v1/jobs/{record.job.job_id}"
    assert ask_json(server, f"{path}/status") == {"status": "FAILED"}
    assert ask(server, f"{path}/stop", "POST", "{}")[0] == 401
    assert ask(server, "/v2/jobs")[0] == 404


def test_what_is_not_there_is_not_found(server: UiServer) -> None:
    many = "9" * 5000
    for path in (
        *("/jobs/none", "/none", "/page/jobs/7/state", "/page.html"),
        *(f"/page/jobs/{many}/state", f"/page/jobs/{many}/graph", "/page/jobs/%C2%B2/state"),
    ):
        status, _, body = ask(server, path)
        assert status == 404 and json.loads(body)["errors"]


@pytest.mark.parametrize("after", ["9" * 5000, "%C2%B2", "-1", "none", ""])
def test_all_micro_batches_are_shown_after_what_is_no_number(server: UiServer, after: str) -> None:
    every = ask_json(server, "/page/jobs/0/state")["batches"]
    assert every and ask_json(server, f"/page/jobs/0/state?after={after}")["batches"] == every


class Odd(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        group = runtime_context.get_metrics_group()
        for name, value in {"nan": math.nan, "inf": math.inf, "huge": 10**400}.items():
            group.gauge(name, lambda value=value: value)
        group.counter("seen \udce9").inc(1_234_567)

    def map(self, value: int) -> int:
        return value


def test_answers_are_json_whatever_functions_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched, "CountedUp", Odd)
    server, record = UiServer("127.0.0.1", 0), watch()
    server.add(record)
    try:
        figures = ask_json(server, "/page/jobs/0/state")["figures"]
        assert record.job is not None
        found = ask_json(server, f"/jobs/{record.job.job_id}/accumulators")
    finally:
        server.close()
    assert figures == {"nan": None, "inf": None, "huge": None, "seen \udce9": 1_234_567}
    texts = {each["name"]: each["value"] for each in found["user-task-accumulators"]}
    assert texts == {"nan": "nan", "inf": "inf", "huge": "inf", "seen \udce9": "1234567"}


def test_connections_are_few_and_silent_ones_are_closed(
    record: JobRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.runners.ui.server.make_protocol", lambda: make_protocol(8, 0.3))
    server = UiServer("127.0.0.1", 0)
    server.add(record)
    kept = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        kept.request("GET", "/overview")
        assert kept.getresponse().read()
        silent = [socket.create_connection(("127.0.0.1", server.port), 20) for _ in range(20)]
        for each in silent:
            each.sendall(b"GET /overview HTTP/1.1\r\n")  # and nothing more
        open_at_once = sum(not _is_closed(each) for each in silent[7:])
        assert open_at_once == 0
        assert all(_is_closed(each) for each in silent)
        assert ask(server, "/overview")[0] == 200
    finally:
        kept.close()
        server.close()


@pytest.mark.parametrize("sent", ["", "{"])
def test_connections_whose_body_does_not_come_are_closed(
    record: JobRecord,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    sent: str,
) -> None:
    monkeypatch.setattr("headrace.runners.ui.server.make_protocol", lambda: make_protocol(8, 0.3))
    server = UiServer("127.0.0.1", 0)
    server.add(record)
    assert record.job is not None
    head = f"POST /jobs/{record.job.job_id}/stop HTTP/1.1\r\nHost: localhost\r\n"
    try:
        for _ in range(2):
            stalled = [socket.create_connection(("127.0.0.1", server.port), 20) for _ in range(8)]
            for each in stalled:
                each.sendall(f"{head}Content-Length: 9\r\n\r\n{sent}".encode())
            assert all(_is_closed(each) for each in stalled)
        assert ask(server, "/overview")[0] == 200
    finally:
        server.close()
    assert not caplog.records  # a client that leaves is no error of the job


def test_what_is_no_request_is_refused_and_not_told(
    server: UiServer, caplog: pytest.LogCaptureFixture
) -> None:
    for sent in (b"\x16\x03\x01 hello\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", server.port), 20) as connection:
            connection.sendall(sent)
            assert connection.recv(1000).startswith(b"HTTP/1.1 400 ")
    assert not caplog.records


def _is_closed(connection: socket.socket) -> bool:
    """Return whether the other side closes a connection."""
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_the_server_only_reads(server: UiServer) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert ask(server, "/jobs", method)[0] in (404, 405)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:1234", "[::1]:80", "LOCALHOST"])
def test_own_names_are_answered(server: UiServer, host: str) -> None:
    assert ask(server, "/overview", Host=host)[0] == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example:8081", "", "1.evil"])
@pytest.mark.parametrize("path", ["/", "/overview", "/page.js", "/none"])
def test_other_names_are_refused(server: UiServer, host: str, path: str) -> None:
    assert ask(server, path, Host=host)[0] == 421


def test_a_name_that_a_job_declares_is_answered() -> None:
    server = UiServer("127.0.0.1", 0)
    try:
        server.add(JobRecord("first"))
        assert ask(server, "/overview", Host="jobs.example.com")[0] == 421
        server.add(JobRecord("second"), "Jobs.example.com")
        assert ask(server, "/overview", Host="jobs.example.com:443")[0] == 200
        assert ask(server, "/overview", Host="evil.example.com")[0] == 421
    finally:
        server.close()


def test_of_many_jobs_the_last_are_shown_and_those_that_run(record: JobRecord) -> None:
    server = UiServer("127.0.0.1", 0)
    running = watch(function=failing)
    running.status = JobStatus.RUNNING
    try:
        server.add(running)
        for number in range(1, 103):
            server.add(JobRecord(f"job {number}"))
        shown = ask_json(server, "/page/jobs")
        assert len(shown) == 100
        assert [each["number"] for each in shown] == [0, *range(4, 103)]
        assert ask(server, "/page/jobs/3/state")[0] == 404
        assert ask(server, "/page/jobs/102/state")[0] == 200
    finally:
        server.close()


def test_jobs_that_start_at_once_are_all_shown(record: JobRecord) -> None:
    server, ready = UiServer("127.0.0.1", 0), threading.Barrier(8)

    def add() -> None:
        ready.wait()
        for _ in range(10):
            server.add(record)

    threads = [threading.Thread(target=add) for _ in range(8)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [each["number"] for each in ask_json(server, "/page/jobs")] == [*range(80)]
    finally:
        server.close()


def test_parameters_of_flinks_api_are_heard(server: UiServer, record: JobRecord) -> None:
    assert record.job is not None
    path = f"/jobs/{record.job.job_id}"
    history = ask_json(server, f"{path}/exceptions?maxExceptions=0")["exceptionHistory"]
    assert history == {"entries": [], "truncated": True}
    asked = f"{path}/vertices/numbers/subtasks/metrics?get=numRecordsOut&agg=max"
    assert [each.keys() for each in ask_json(server, asked)] == [{"id", "max"}]


def test_no_other_page_may_read_answers(server: UiServer) -> None:
    headers = ask(server, "/jobs", Origin="http://evil.example")[1]
    assert not [name for name in headers if name.startswith("access-control")]


@pytest.mark.parametrize("given", ["", "Bearer wrong", "open sesame", "Basic open sesame"])
def test_values_are_hidden_without_the_token(server: UiServer, given: str) -> None:
    headers = {"Authorization": given} if given else {}
    state = ask_json(server, "/page/jobs/0/state", **headers)
    assert not state["with-values"]
    (job,) = ask_json(server, "/jobs")["jobs"]
    shown = ask_json(server, f"/jobs/{job['id']}/exceptions", **headers)
    (failure,) = state["failures"]
    (entry,) = shown["exceptionHistory"]["entries"]
    assert failure["message"] == MASK
    for trace in (failure["trace"], entry["stacktrace"]):
        assert MASK in trace and "ZeroDivisionError: of 50" not in trace


def test_the_token_shows_values(server: UiServer) -> None:
    state = ask_json(server, "/page/jobs/0/state", Authorization="Bearer open sesame")
    assert state["with-values"]
    (failure,) = state["failures"]
    assert failure["message"] == "of 50" and "record:" in failure["trace"]


@pytest.mark.parametrize("token", ["plain", "pässword", "пароль"])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_token_may_have_any_letters(
    server: UiServer,
    record: JobRecord,
    monkeypatch: pytest.MonkeyPatch,
    token: str,
    encoding: str,
) -> None:
    monkeypatch.setattr(record, "token", token)
    sent = token.encode(encoding, "replace").decode("latin-1")
    state = ask_json(server, "/page/jobs/0/state", Authorization=f"Bearer {sent}")
    assert state["with-values"] is (encoding == "utf-8" or token.isascii() or token == "pässword")


def test_each_job_has_its_own_token(record: JobRecord) -> None:
    found = UiServer("127.0.0.1", 0)
    try:
        found.add(record)
        found.add(watch(function=failing))  # without one
        for given, shown in (("open sesame", True), ("None", False), ("", False)):
            both = [
                ask_json(found, f"/page/jobs/{number}/state", Authorization=f"Bearer {given}")
                for number in range(2)
            ]
            assert [state["with-values"] for state in both] == [shown, False]
    finally:
        found.close()


def test_only_new_micro_batches_are_sent(server: UiServer) -> None:
    batches = ask_json(server, "/page/jobs/0/state")["batches"]
    assert [each[0] for each in batches] == [0, 1, 2, 3, 4]
    assert [each[0] for each in ask_json(server, "/page/jobs/0/state?after=2")["batches"]] == [3, 4]
    for odd in ("two", "%C2%B2", "9" * 5000):
        assert len(ask_json(server, f"/page/jobs/0/state?after={odd}")["batches"]) == 5


def test_the_page_has_the_last_failures() -> None:
    record = watch()
    for number in range(5):
        record.on_failure(OSError(number), 10)
    found = state_data(record, -1, True)["failures"]
    assert [each["message"] for each in found] == ["2", "3", "4"]


def test_the_graph_has_a_place_for_all(server: UiServer) -> None:
    graph = ask_json(server, "/page/jobs/0/graph")
    operators = {each["id"] for each in graph["operators"]}
    assert {each for vertex in graph["vertices"] for each in vertex["operators"]} == operators
    for edge in graph["edges"]:
        assert {edge["source"], edge["target"]} <= operators
        assert (edge["points"] is None) == (edge["label"] == "CHAINED")


def observers(**settings: str) -> list[Any]:
    return start.display_observers(Configuration.from_dict(settings), "clicks")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_a_program_has_no_page_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADRACE_UI", raising=False)
    assert start._page_server(Configuration(), lambda: False) is None


def test_headrace_run_has_one_but_not_on_a_cluster(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEADRACE_UI", "1")
    monkeypatch.setattr(start, "DEFAULT_PORT", free_port())
    monkeypatch.setattr(start, "_servers", start._Servers())
    assert start._page_server(Configuration(), lambda: True) is None
    found = start._page_server(Configuration(), lambda: False)
    assert found is not None and found.port == start.DEFAULT_PORT
    assert start._page_server(Configuration(), lambda: False) is found
    found.close()


def test_the_address_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    observers(**{"headrace.ui.port": "0"})
    assert "'clicks' is shown at http://127.0.0.1:" in capsys.readouterr().err


def test_a_default_port_in_use_is_replaced(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        found = start._start_server("127.0.0.1", port, True)
        assert found is not None and found.port != port
        found.close()
        assert start._start_server("127.0.0.1", port, False) is None
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2 and all(f"port {port}" in line for line in told)
    assert "uses a free port" in told[0] and "there is no page" in told[1]


def test_without_the_extra_it_is_said_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(start, "find_spec", lambda name: None)
    assert start._start_server("127.0.0.1", 0, True) is None
    assert 'pip install "headrace[ui]"' in capsys.readouterr().err


def test_nothing_is_imported_before_somebody_looks() -> None:
    code = (
        "import sys; from headrace.runners.ui.server import UiServer\n"
        "UiServer('127.0.0.1', 0)\n"
        "print([m for m in ('starlette', 'uvicorn', 'rich') if m in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"


def test_headrace_run_serves_the_page_while_the_program_runs(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(
        "import time\n"
        "from headrace.datastream import StreamExecutionEnvironment\n"
        "env = StreamExecutionEnvironment.get_execution_environment()\n"
        "env.from_collection([1, 2]).map(lambda n: time.sleep(60)).print()\n"
        "env.execute('slow')\n"
    )
    port = ["-D", "headrace.ui.port=0"]
    command = [sys.executable, "-m", "headrace", "run", "--local", *port, "job.py"]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environ, stderr=subprocess.PIPE, text=True
    ) as program:
        try:
            assert program.stderr is not None
            first = program.stderr.readline()
            assert first.startswith("headrace: 'slow' is shown at http://127.0.0.1:"), first
            address = first.split()[-1]
            deadline = time.monotonic() + 60
            found: list[Any] = []
            while not found:
                assert time.monotonic() < deadline
                with urllib.request.urlopen(f"{address}jobs/overview", timeout=30) as answer:
                    found = json.load(answer)["jobs"]
            assert (found[0]["name"], found[0]["state"]) == ("slow", "RUNNING")
        finally:
            program.kill()


class Commanded:
    """A job that takes savepoints below its folder, of which one fails."""

    def __init__(self) -> None:
        self.stopped: list[tuple[str | None, bool]] = []

    def savepoint(self, folder: str | None) -> Callable[[], str]:
        if folder is None:
            raise ConfigurationError("no folder is given", hint="give one")
        return lambda: f"{folder}/clicks-1"

    def stop_with_savepoint(self, folder: str | None, drain: bool) -> Callable[[], str]:
        self.stopped.append((folder, drain))
        return lambda: f"{folder}/clicks-2"


TOKEN = {"Authorization": "Bearer open sesame"}


@pytest.fixture
def commanded(record: JobRecord) -> Iterator[Commanded]:
    job = Commanded()
    record.commands.job = job
    yield job
    record.commands.job = None


def post(server: UiServer, record: JobRecord, below: str, body: str, **headers: str) -> Any:
    assert record.job is not None
    path = f"/jobs/{record.job.job_id}/{below}"
    status, _, answer = ask(server, path, "POST", body, **(headers or TOKEN))
    return status, json.loads(answer)


def ended(server: UiServer, record: JobRecord, answer: Any) -> Any:
    """The end of a command, which is asked for until it is there."""
    assert record.job is not None
    path = f"/jobs/{record.job.job_id}/savepoints/{answer['request-id']}"
    deadline = time.monotonic() + 20
    while (found := ask_json(server, path, **TOKEN))["status"]["id"] == "IN_PROGRESS":
        assert time.monotonic() < deadline
    assert found["status"] == {"id": "COMPLETED"}
    return found["operation"]


def test_a_savepoint_is_taken(server: UiServer, record: JobRecord, commanded: Commanded) -> None:
    body = json.dumps({"target-directory": "there", "cancel-job": False})
    status, answer = post(server, record, "savepoints", body)
    assert status == 202
    assert ended(server, record, answer) == {"location": "there/clicks-1"}


def test_a_job_is_stopped(server: UiServer, record: JobRecord, commanded: Commanded) -> None:
    body = json.dumps({"targetDirectory": "there", "drain": True})
    status, answer = post(server, record, "stop", body)
    assert (status, ended(server, record, answer)) == (202, {"location": "there/clicks-2"})
    assert commanded.stopped == [("there", True)]


def test_a_command_that_fails_says_why(
    server: UiServer, record: JobRecord, commanded: Commanded
) -> None:
    status, answer = post(server, record, "savepoints", "")
    cause = ended(server, record, answer)["failure-cause"]
    assert (status, cause["class"]) == (202, "ConfigurationError")
    assert "no folder is given" in cause["stack-trace"] and "give one" in cause["stack-trace"]


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Accept": "*/*"}, 401),
        ({"Authorization": "Bearer open"}, 401),
        ({"Authorization": "Basic open sesame"}, 401),
    ],
)
def test_a_command_needs_the_token(
    server: UiServer, record: JobRecord, commanded: Commanded, headers: dict[str, str], code: int
) -> None:
    assert post(server, record, "stop", "{}", **headers)[0] == code
    assert commanded.stopped == []
    assert record.job is not None
    path = f"/jobs/{record.job.job_id}/savepoints/0"
    assert ask(server, path, **headers)[0] == code
    assert ask(server, path, **TOKEN)[0] == 404


def test_without_a_token_no_command_is_taken(
    server: UiServer, record: JobRecord, commanded: Commanded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "token", None)
    status, answer = post(server, record, "stop", "{}", Authorization="Bearer ")
    assert status == 403 and "set headrace.ui.token" in answer["errors"][0]
    assert commanded.stopped == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("{", 400),
        ("[]", 400),
        ("[" * 60_000, 400),
        ('{"drain": "yes"}', 400),
        ('{"targetDirectory": 1}', 400),
        (json.dumps({"targetDirectory": "x" * 70_000}), 413),
    ],
)
def test_a_body_that_is_wrong_is_refused(
    server: UiServer, record: JobRecord, commanded: Commanded, body: str, code: int
) -> None:
    status, answer = post(server, record, "stop", body)
    assert status == code and answer["errors"]
    assert commanded.stopped == []


def test_an_answer_that_fails_is_told_once(
    server: UiServer,
    record: JobRecord,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def view() -> Any:
        raise KeyError("of a figure")

    monkeypatch.setattr(record, "view", view)
    for _ in range(3):
        status, _, body = ask(server, "/jobs/overview")
        assert (status, json.loads(body)) == (500, {"errors": ["Internal server error: KeyError"]})
    told = capsys.readouterr().err
    assert told.count("could not answer") == told.count("KeyError: 'of a figure'") == 1


def test_queries_that_wait_keep_no_thread_from_other_requests(
    server: UiServer, record: JobRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered, waiting = threading.Event(), threading.Semaphore(0)

    def query(program: Any, body: bytes) -> dict[str, Any]:
        waiting.release()
        assert answered.wait(30)
        return {}

    monkeypatch.setattr(record.commands, "query", query)
    assert record.job is not None
    path = f"/jobs/{record.job.job_id}/state"
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.append(ask(server, path, "POST", "{}", **TOKEN)[0]))
        for _ in range(60)  # more than a pool has threads
    ]
    for thread in threads:
        thread.start()
    try:
        assert waiting.acquire(timeout=20)
        assert ask(server, "/overview")[0] == 200
    finally:
        answered.set()
        for thread in threads:
            thread.join()
    assert found == [200] * 60


def test_a_job_that_does_not_run_takes_no_command(server: UiServer, record: JobRecord) -> None:
    status, answer = post(server, record, "stop", "{}")
    assert (status, answer["errors"]) == (409, ["the job has ended"])
    with pytest.raises(Refused, match="the job has not started"):
        JobRecord("waiting").commands.stop(b"{}")
    assert ask(server, "/jobs/none/stop", "POST", "{}", **TOKEN)[0] == 404

"""Servers for development: fetched files, ports, processes. No Java is started here."""

from __future__ import annotations

import os
import signal
import socket
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from typer.testing import CliRunner

from headrace.cli import app
from headrace.dev import artifacts, from_machine, servers
from headrace.dev.artifacts import Pinned, read_pinned_files
from headrace.dev.from_machine import find_program
from headrace.dev.kafka import cluster_id
from headrace.dev.ports import HOST, choose_port, free_ports, is_free
from headrace.dev.service import Service, find_running
from headrace.errors import JobError

SERVER = """
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("up", flush=True)
while True:
    server.accept()
"""


def service(folder: Path, port: int, program: str = SERVER) -> Service:
    def answers() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((HOST, port)) == 0

    command = [sys.executable, "-c", program, str(port)]
    return Service("echo", folder, command, f"{HOST}:{port}", answers)


def test_a_server_outlives_the_command_and_is_stopped_by_its_own_id(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    started = service(tmp_path, port).start()
    found = find_running(tmp_path, "echo")
    assert found == started and not is_free(port)
    assert found.log.read_text() == "up\n"
    found.stop()
    assert is_free(port) and find_running(tmp_path, "echo") is None
    assert not found.record_path.exists()


def test_a_server_that_crashed_is_started_again_where_it_was(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    # Background processes of a shell ignore SIGINT and SIGQUIT; nobody ignores this one.
    kept = replace(service(tmp_path, port), crash_signal=signal.SIGUSR1)
    first = kept.start()
    assert find_running(tmp_path, "echo") == first
    first.stop(force=True)
    assert is_free(port) and find_running(tmp_path, "echo") is None
    again = kept.start()
    assert again.url == first.url and again.process != first.process
    again.stop()


def test_a_server_that_was_killed_does_not_run(tmp_path: Path) -> None:
    started = service(tmp_path, free_ports(1)[0]).start()
    os.kill(started.process.pid, signal.SIGKILL)
    while find_running(tmp_path, "echo") is not None:
        pass
    assert started.record_path.exists()
    started.stop()  # another process may have its id by now: nothing is sent


def test_a_server_that_ends_while_it_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (port,) = free_ports(1)
    started = service(tmp_path, port).start()
    kill = os.kill

    def too_late(pid: int, number: int) -> None:
        kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        kill(pid, number)

    monkeypatch.setattr(os, "kill", too_late)
    started.stop()
    assert find_running(tmp_path, "echo") is None and not started.record_path.exists()


def test_a_server_that_ends_at_once_tells_its_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(pid: int) -> None:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)

    gone = SimpleNamespace(process=ended)
    monkeypatch.setattr("headrace.dev.service.this_machine", lambda: gone)
    with pytest.raises(JobError, match="echo ended with status 3"):
        service(tmp_path, 1, "raise SystemExit(3)").start()


def test_another_process_with_the_same_id_is_not_the_server(tmp_path: Path) -> None:
    started = service(tmp_path, free_ports(1)[0]).start()
    text = started.record_path.read_text()
    began = started.process.began
    started.record_path.write_text(text.replace(began, f"{began}0"))
    assert find_running(tmp_path, "echo") is None
    started.stop()


@pytest.mark.parametrize(
    ("program", "message"),
    [("raise SystemExit('no such luck')", "ended with status 1"), ("input", "did not answer")],
)
def test_a_server_that_does_not_come_up_tells_its_last_words(
    tmp_path: Path, program: str, message: str
) -> None:
    if program == "input":
        program = "import time; print('no such luck', flush=True); time.sleep(60)"
    with pytest.raises(JobError, match=message) as failed:
        service(tmp_path, free_ports(1)[0], program).start(0.3)
    assert message.startswith("did not") or failed.value.where["last words"] == "no such luck"
    assert find_running(tmp_path, "echo") is None


def test_ports() -> None:
    (port,) = free_ports(1)
    assert choose_port(port, 1) == port and choose_port(None, port) == port
    with socket.create_server((HOST, port)):
        assert choose_port(None, port) != port and choose_port(0, port) != port
        with pytest.raises(JobError, match=f"port {port} is taken"):
            choose_port(port, 1)


def test_the_id_of_a_cluster_is_no_option() -> None:
    made = iter([UUID(bytes=b"\xf8" + bytes(15)), UUID(bytes=b"\xf4" + bytes(15))])
    assert cluster_id(lambda: next(made)) == "9" + "A" * 21


def test_every_file_has_a_checksum() -> None:
    parts = [*read_pinned_files("kafka"), *read_pinned_files("registry")]
    assert {part.module for part in parts} >= {"kafka_2.13", "slf4j-simple"}
    assert all(len(part.sha256) == 64 for part in parts)
    (registry,) = read_pinned_files("registry")
    assert registry.file_name == f"apicurio-registry-app-{registry.version}-all.tar.gz"


@pytest.fixture
def fetching(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Fetches one small file, without a network; how often."""
    fetched: list[int] = []
    part = Pinned("org", "thing", "1", "jar", artifacts.sha256(b"good").hexdigest())
    monkeypatch.setattr(artifacts, "read_pinned_files", lambda server: [part])

    def fetch(parts: list[Pinned], place: Path) -> None:
        fetched.append(1)
        (place / "fetched").mkdir()
        (place / "fetched" / parts[0].file_name).write_bytes(b"good")

    monkeypatch.setattr(artifacts, "_download_files", fetch)
    return fetched


def test_what_was_fetched_is_kept_and_checked(tmp_path: Path, fetching: list[int]) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    folder = artifacts.install_server("kafka", environ)
    assert artifacts.install_server("kafka", environ) == folder and len(fetching) == 1
    assert (folder / "thing-1.jar").read_bytes() == b"good"
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    (folder / "thing-1.jar").write_bytes(b"evil")
    with pytest.raises(JobError, match="changed after they were fetched") as failed:
        artifacts.install_server("kafka", environ)
    assert failed.value.where["file"] == "thing-1.jar"


@pytest.mark.parametrize(
    ("content", "message"), [(None, "could not be fetched"), (b"evil", "another checksum")]
)
def test_a_fetch_that_fails_or_brings_something_else_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, message: str
) -> None:
    def run(command: list[str], **options: Any) -> Any:
        place = Path(command[command.index("-ivy") + 1]).parent / "fetched"
        place.mkdir()
        if content is not None:
            for part in read_pinned_files("kafka"):
                (place / part.file_name).write_bytes(content)
        return type("Done", (), {"stdout": "UnknownHostException: repo1.maven.org"})

    monkeypatch.setattr(artifacts.subprocess, "run", run)
    monkeypatch.setattr(artifacts, "find_java", lambda: type("Java", (), {"home": Path("/")}))
    with pytest.raises(JobError, match=message):
        artifacts.install_server("kafka", {"XDG_CACHE_HOME": str(tmp_path)})
    assert [*(tmp_path / "headrace" / "dev").iterdir()] == []


def test_the_command_starts_shows_and_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def make(folder: Path, port: int | None) -> Service:
        return service(folder, choose_port(port or 0, 0))

    monkeypatch.setattr(servers, "MAKERS", {"echo": make, "redis": lambda folder, port: None})
    asked = CliRunner()
    begun = asked.invoke(app, ["dev", "up"])
    assert begun.exit_code == 0 and "redis      not installed" in begun.output
    assert "echo       starting" in begun.output
    again = asked.invoke(app, ["dev", "up", "echo"])
    assert again.output.split() == begun.stdout.split()[:2]
    port = int(again.output.rpartition(":")[2])
    assert asked.invoke(app, ["dev", "url", "echo"]).output == f"{HOST}:{port}\n"
    own = tmp_path / ".headrace" / "dev"
    kept = [own, own / "echo.pid", own / "echo.log"]  # an address may have a password
    assert not [path for path in kept if path.stat().st_mode & 0o066]
    with pytest.raises(JobError, match=f"on another port than {port + 1}"):
        servers.up(Path(".headrace", "dev"), ["echo"], {"echo": port + 1})
    assert servers.up(Path(".headrace", "dev"), ["echo"], {"echo": port})["echo"] is not None
    shown = asked.invoke(app, ["dev", "status"]).output
    assert str(tmp_path / ".headrace" / "dev" / "echo.log") in shown and "does not run" in shown
    assert asked.invoke(app, ["dev", "down", "--wipe"]).output == "echo       stopped\n"
    assert not (tmp_path / ".headrace" / "dev").exists()
    assert asked.invoke(app, ["dev", "down"]).output == "nothing runs\n"
    refused = asked.invoke(app, ["dev", "topics"])
    assert isinstance(refused.exception, JobError) and "does not run here" in str(refused.exception)


def test_programs_are_found_beyond_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_program("no-such-server") is None
    (tmp_path / "no-such-server").touch(mode=0o755)
    assert find_program("no-such-server") == tmp_path / "no-such-server"


def test_of_postgres_the_newest_version_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(from_machine, "_POSTGRES", tmp_path)
    for version in ("9.6", "15", "8.4"):
        (tmp_path / version / "bin").mkdir(parents=True)
        (tmp_path / version / "bin" / "initdb").touch()
    assert from_machine._find_postgres_program("initdb") == tmp_path / "15" / "bin" / "initdb"
    assert from_machine._find_postgres_program("no-such-server") is None

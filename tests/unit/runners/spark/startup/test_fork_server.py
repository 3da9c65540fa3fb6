"""Processes that are forked from a server are as those that Python starts itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headrace.runners.spark.modules import user_paths
from headrace.runners.spark.startup import fork_client
from headrace.runners.spark.startup.fork_server import (
    WORKERS_VARIABLE,
    Request,
    can_serve,
    module_path,
)
from headrace.runners.spark.startup.interpreter import worker_python

pytestmark = pytest.mark.slow

MODULE = ["-m", "pyspark.daemon", "pyspark.worker"]
SERVER = {"PATH": "/bin", "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}


def test_a_request_comes_as_it_was_sent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "environb", {b"A": b"1", b"B": b"x=y\nz", b"EMPTY": b""})
    monkeypatch.chdir(tmp_path)
    request = Request.read(fork_client._build_message([*MODULE, "", "\udc80"]))
    assert request.arguments == [*MODULE, "", "\udc80"]
    assert request.folder == str(tmp_path)
    assert request.environment == {"A": "1", "B": "x=y\nz", "EMPTY": ""}


@pytest.mark.parametrize(
    ("arguments", "changes", "served"),
    [
        (MODULE, {}, True),
        (MODULE, {"SPARK_LOCAL_DIRS": "/tmp", "PYTHON_WORKER_FACTORY_SECRET": "s"}, True),
        (MODULE, {"PYTHONPATH": "/elsewhere", "JAVA_HOME": "/java"}, True),
        (MODULE, {WORKERS_VARIABLE: "sinks"}, True),
        (MODULE, {"PYTHONHASHSEED": "7"}, False),
        (MODULE, {"OMP_NUM_THREADS": "4"}, False),
        (MODULE, {"LD_PRELOAD": "libjemalloc.so"}, False),
        (["-c", "pass"], {}, False),
        ([], {}, False),
    ],
)
def test_who_is_served(arguments: list[str], changes: dict[str, str], served: bool) -> None:
    assert can_serve(Request(arguments, "/", {**SERVER, **changes}), SERVER) is served


def test_a_process_without_a_number_of_threads_is_served() -> None:
    environment = {name: SERVER[name] for name in ("PATH", "PYTHONHASHSEED")}
    assert can_serve(Request(MODULE, "/", environment), SERVER)


def test_a_variable_that_is_gone_is_a_difference() -> None:
    assert not can_serve(Request(MODULE, "/", {"PYTHONHASHSEED": "0"}), SERVER)


def test_the_module_path_is_that_of_a_new_process() -> None:
    own = ["/where/the/server/was", "/jobs", "/lib/python", "/site-packages"]
    request = Request(MODULE, "/work", {"PYTHONPATH": "/first:/jobs"})
    found = module_path(own, "/jobs", request)
    assert found == ["/work", "/first", "/jobs", "/lib/python", "/site-packages"]


# With the server itself: it imports pyspark once for all of these, and runs no Java.

Start = Callable[..., "subprocess.Popen[str]"]

PROBE = """\
import gc, os, sys, time
if sys.argv[1] == "facts":
    print(sys.argv[1:], os.getcwd(), os.environ["SPARK_X"], __name__, "pandas" in sys.modules)
    print("to stderr", file=sys.stderr)
    sys.exit(7)
if sys.argv[1] == "echo":
    print(sys.stdin.read().upper())
if sys.argv[1] == "fails":
    raise ValueError("told")
if sys.argv[1] == "forks":
    from headrace.runners.spark.startup.daemon import prepare_forks
    gc.unfreeze()
    prepare_forks()
    if os.fork() == 0:
        print(gc.get_freeze_count() > 10_000, len(gc.get_objects()) < 1_000, flush=True)
    else:
        os.wait()
if sys.argv[1] == "sleeps":
    print("sleeping", flush=True)
    time.sleep(60)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("modules")
    (folder / "probe_of_forks.py").write_text(PROBE)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("PYTHONHASHSEED", "PYTEST_CURRENT_TEST"):
            patch.delenv(name, raising=False)
        yield worker_python([str(folder), *user_paths()], folder / "log")


@pytest.fixture
def start(python: str, tmp_path: Path) -> Start:
    def start(*arguments: str, **changes: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONUNBUFFERED": "YES", "OMP_NUM_THREADS": "1"}
        environment |= {"PYTHONHASHSEED": "0", "SPARK_X": "1", **changes}
        environment.pop("PYTEST_CURRENT_TEST", None)
        return subprocess.Popen(
            [python, "-m", "probe_of_forks", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env=environment,
        )

    return start


def test_a_fork_has_arguments_folder_environment_and_streams(start: Start, tmp_path: Path) -> None:
    process = start("facts", "more")
    out, err = process.communicate(timeout=60)
    assert out == f"['facts', 'more'] {tmp_path} 1 __main__ True\n"
    assert err == "to stderr\n"
    assert process.returncode == 7


def test_a_fork_reads_its_standard_input(start: Start) -> None:
    assert start("echo").communicate("heard", timeout=60)[0] == "HEARD\n"


def test_a_worker_does_not_collect_what_was_imported_before_it(start: Start) -> None:
    """Spark's own daemon does not freeze it, where it starts without the server."""
    assert start("forks").communicate(timeout=60)[0] == "True True\n"


def test_a_fork_that_fails_says_why(start: Start) -> None:
    process = start("fails")
    assert "ValueError: told" in process.communicate(timeout=60)[1]
    assert process.returncode == 1


def test_a_fork_ends_with_what_stands_in_for_it(start: Start) -> None:
    process = start("sleeps")
    assert process.stdout is not None
    assert process.stdout.readline() == "sleeping\n"
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM


def test_where_the_server_refuses_python_starts_by_itself(start: Start, tmp_path: Path) -> None:
    process = start("facts", LD_BIND_NOW="1")
    assert process.communicate(timeout=60)[0] == f"['facts'] {tmp_path} 1 __main__ False\n"
    assert process.returncode == 7


def test_where_there_is_no_server_python_starts_by_itself(
    start: Start, python: str, tmp_path: Path
) -> None:
    socket = Path(python).with_name("fork")
    hidden = socket.rename(socket.with_name("hidden"))
    try:
        out, _ = start("facts").communicate(timeout=60)
    finally:
        hidden.rename(socket)
    assert out == f"['facts'] {tmp_path} 1 __main__ False\n"


def test_the_server_ends_with_the_driver(tmp_path: Path) -> None:
    driver = (
        "import os, pathlib, sys\n"
        "from headrace.runners.spark.startup.interpreter import worker_python\n"
        "python = pathlib.Path(worker_python([], pathlib.Path(sys.argv[1])))\n"
        "print(python.parent, flush=True)\n"
        "os._exit(1)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", driver, str(tmp_path / "log")],
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
    )
    folder = done.stdout.strip()
    assert folder, done.stderr
    deadline = 200
    # A server that has only just been forked has no command line of its own yet.
    while ((found := _running_with(folder)) or Path(folder).exists()) and deadline:
        deadline -= 1
        signal.sigtimedwait([], 0.1)
    assert not found
    assert not Path(folder).exists()


def _running_with(text: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in command:
            found.append(command)
    return found


def test_processes_start_without_a_server_where_its_path_is_too_long(tmp_path: Path) -> None:
    """A socket's path has at most 107 bytes."""
    folder = tmp_path / ("folder" * 20)
    folder.mkdir()
    code = (
        "import pathlib, subprocess, sys\n"
        "from headrace.runners.spark.startup.interpreter import worker_python\n"
        "python = worker_python([], pathlib.Path(sys.argv[1]))\n"
        "subprocess.run([python, '-c', 'print(1 + 1)'], check=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "log")],
        env={**os.environ, "TMPDIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "2\n", done.stderr
    assert (tmp_path / "log").read_text().startswith("no fork server: ")

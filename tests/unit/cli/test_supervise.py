"""``headrace run --supervise``, of programs that die."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.cli.supervise import MENDABLE, Supervisor, exit_code_of
from headrace.errors import ConfigurationError, JobError, PlanError, SparkEndedError, StorageError

pytestmark = pytest.mark.slow

HEAD = """\
import os, signal, sys, time
from pathlib import Path
log = Path(sys.argv[1])
noted = os.environ["HEADRACE_START"], os.environ.get("HEADRACE_FRESH", "0")
with log.open("a") as file:
    print(*noted, file=file)
runs = len(log.read_text().splitlines())
"""


def supervise(
    tmp_path: Path, program: str, *options: str
) -> tuple[subprocess.Popen[str], list[str]]:
    path = tmp_path / "program.py"
    path.write_text(HEAD + program)
    command = [sys.executable, "-m", "headrace", "run", "--supervise", *options, str(path)]
    log = tmp_path / "log"
    return subprocess.Popen(
        [*command, str(log)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ), [str(log)]


def ended(tmp_path: Path, program: str, *options: str) -> tuple[int, str, list[str]]:
    """The exit code, what was printed on stderr, and what each run has noted."""
    process, (log,) = supervise(tmp_path, program, *options)
    _, errors = process.communicate(timeout=120)
    return process.returncode, errors, Path(log).read_text().splitlines()


def test_a_program_that_is_killed_is_started_again(tmp_path: Path) -> None:
    """Each run has the name of the same start."""
    killed = "if runs < 3: os.kill(os.getpid(), signal.SIGKILL)"
    code, errors, runs = ended(tmp_path, killed, "--fresh")
    assert (code, len(runs), len(set(runs))) == (0, 3, 1)
    assert runs[0].endswith(" 1") and errors.count("the program was killed by SIGKILL") == 2


@pytest.mark.parametrize(
    ("program", "code", "starts"),
    [
        ("sys.exit(3)", 3, 1),
        ("raise ValueError('of the program')", 1, 1),
        ("from headrace.errors import StorageError\nif runs < 2: raise StorageError('full')", 0, 2),
    ],
)
def test_only_what_may_be_gone_is_tried_again(
    tmp_path: Path, program: str, code: int, starts: int
) -> None:
    found, errors, runs = ended(tmp_path, program)
    assert (found, len(runs)) == (code, starts), errors


def test_it_gives_up(tmp_path: Path) -> None:
    always = "os.kill(os.getpid(), signal.SIGKILL)"
    code, errors, runs = ended(tmp_path, always, "--max-restarts", "1")
    assert (code, len(runs)) == (128 + signal.SIGKILL, 2)
    assert "too many restarts in a row" in errors


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_reaches_the_program_once(tmp_path: Path, number: signal.Signals) -> None:
    program = f"""
def end(given, frame):
    os.write(1, b"got %d\\n" % given)  # print may be at work already
    sys.exit(7)
signal.signal({int(number)}, end)
os.write(1, b"ready\\n")
while True: time.sleep(0.1)  # a pause may begin after the signal
"""
    process, (log,) = supervise(tmp_path, program)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    rest, errors = process.communicate(timeout=60)
    assert (process.returncode, rest) == (7, f"got {int(number)}\n"), errors
    assert len(Path(log).read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SparkEndedError("its JVM was killed"), MENDABLE),
        (StorageError("the disk is full"), MENDABLE),
        (JobError("Spark failed"), MENDABLE),
        (ConnectionResetError("a broker"), MENDABLE),
        (TimeoutError("a database"), MENDABLE),
        (OSError(errno.ENOSPC, "no space"), MENDABLE),
        (FileNotFoundError("a file"), 1),
        (PlanError("no uid"), 1),
        (ConfigurationError("no such key"), 1),
        (ValueError("of a function"), 1),
    ],
)
def test_exit_codes(error: BaseException, code: int) -> None:
    assert exit_code_of(error) == code


def test_the_start_is_named_anew_by_each_supervisor() -> None:
    one, two = (Supervisor(["true"], 0) for _ in range(2))
    assert one._environment["HEADRACE_START"] != two._environment["HEADRACE_START"]
    assert "HEADRACE_START" not in os.environ

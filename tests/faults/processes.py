"""The processes of a job, and their end by force. Only descendants of the test are touched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Process:
    """A running process, by its command line."""

    pid: int
    parent: int
    command: str


def descendants(pid: int) -> list[Process]:
    """The children of a process, theirs, and so on."""
    children: dict[int, list[Process]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it has ended
        fields = stat.rpartition(")")[2].split()
        if fields[0] != "Z":
            process = Process(int(entry.name), int(fields[1]), command)
            children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    waiting = [pid]
    while waiting:
        for child in children.get(waiting.pop(), []):
            found.append(child)
            waiting.append(child.pid)
    return found


def python_workers(driver: int) -> list[Process]:
    """What Spark started for Python code: source, operators, sink, and what they are forked from.

    Commands such as ``python -m headrace...fork_server ...``, which forks have too, and
    ``python -m pyspark.daemon ...``; not what only stands in for a fork.
    """
    return [
        process
        for process in descendants(driver)
        if " -m " in process.command
        and "python" in process.command
        and "fork_client" not in process.command
    ]


def executors(driver: int) -> list[Process]:
    """The executors' JVMs of a ``local-cluster``."""
    return [p for p in descendants(driver) if "CoarseGrainedExecutorBackend" in p.command]


def jvms(driver: int) -> list[Process]:
    """The JVM that a driver has started, if it runs."""
    return [p for p in descendants(driver) if "org.apache.spark.deploy.SparkSubmit" in p.command]


def kill_jvm_once(flag: Path, driver: int) -> bool:
    """kill -9 of the JVM that a driver has started; False if it was done before: ``flag`` is there.

    The JVM descends from the driver. What Spark starts for Python code is forked from the fork
    server, so it need not have the JVM among its ancestors.

    Raises:
        LookupError: the driver has no JVM.
    """
    if flag.exists():
        return False
    found = jvms(driver)
    if not found:
        raise LookupError(f"no JVM descends from process {driver}")
    flag.touch()
    for each in found:
        kill(each.pid)
    return True


def kill(pid: int) -> bool:
    """kill -9; False when it had ended by itself."""
    return send(pid, signal.SIGKILL)


def send(pid: int, number: signal.Signals) -> bool:
    """Send a signal to a process; False when it had ended by itself."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def start(module: str, *arguments: str, before: Sequence[str] = ()) -> subprocess.Popen[bytes]:
    """A program of these tests in a process of its own; it logs to ``<first argument>.log``.

    ``before``: a command that runs the program, such as ``unshare``.
    """
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    with Path(arguments[0] + ".log").open("ab") as log:
        return subprocess.Popen(
            [*before, sys.executable, "-m", module, *arguments],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path.rstrip(os.pathsep)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def log_of(path: Path) -> str:
    """The end of a program's output, for the message of a failed test."""
    return Path(f"{path}.log").read_text(errors="replace")[-3_000:]

"""Running one peer as a session of its own, with an end to its time."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.environments import ROOT

CORES = 2
_engine = ROOT
_GRACE_SECONDS = 5
_LAST_LINES = 12
_SAMPLE_SECONDS = 0.5
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Run:
    """One process that was run: its answer, or how it failed."""

    command: list[str]
    wall_seconds: float
    load_before: float
    answer: dict[str, Any] | None = None
    failure: str | None = None
    peak_mib: Mapping[str, int] | None = None
    """The highest resident memory of one process: of the ``driver``, a ``worker`` (Python), the
    ``jvm``. Only where it was asked for."""


def stay_on_two_cores() -> None:
    """Let this process, and what it starts, use the first two of its cores, where that is told."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])


@contextlib.contextmanager
def engine_of(checkout: Path) -> Iterator[None]:
    """What is run meanwhile is this benchmark with the ``src`` of another checkout of Headrace."""
    global _engine
    before, _engine = _engine, checkout.resolve()
    try:
        yield
    finally:
        _engine = before


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run(
    python: str,
    module: str,
    arguments: Sequence[str],
    limit_seconds: float,
    watch_memory: bool = False,
) -> Run:
    """Run a module to its end and take the last JSON line that it prints."""
    command = [python, "-m", module, *arguments]
    environment = {**os.environ, "PYTHONPATH": f"{_engine / 'src'}{os.pathsep}{ROOT}"}
    load = os.getloadavg()[0]
    peaks: dict[str, int] = {}
    with tempfile.TemporaryFile("w+") as output:
        started = time.monotonic()
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = _wait(process, started + limit_seconds, peaks if watch_memory else None)
            seconds = time.monotonic() - started
        finally:
            end_session(process)
        output.seek(0)
        text = output.read()
    found = Run(["python", *command[1:]], round(seconds, 3), load)
    found.peak_mib = peaks or None
    if code == 0:
        found.answer = last_json(text)
    if found.answer is None:
        reason = f"no end within {limit_seconds:g} s" if code is None else f"exit code {code}"
        found.failure = "\n".join([reason, *text.strip().splitlines()[-_LAST_LINES:]])
    return found


def _wait(
    process: subprocess.Popen[Any], deadline: float, peaks: dict[str, int] | None
) -> int | None:
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        try:
            return process.wait(left if peaks is None else min(left, _SAMPLE_SECONDS))
        except subprocess.TimeoutExpired:
            if peaks is not None:
                _sample(process.pid, peaks)


def _sample(session: int, peaks: dict[str, int]) -> None:
    for kind, text in _told(session, "statm"):
        pages = int(text.split()[1])
        peaks[kind] = max(peaks.get(kind, 0), pages * _PAGE_BYTES >> 20)


def processor_seconds(session: int) -> dict[str, float]:
    """What the session's first process, its ``jvm``, its executors where they are processes of
    their own, and its Python workers have used so far."""
    used = {"driver": 0.0, "worker": 0.0, "jvm": 0.0, "executor": 0.0}
    for kind, text in _told(session, "stat"):
        fields = text.rpartition(")")[2].split()
        own, of_ended_children = fields[11:13], fields[13:15]
        ticks = [*own, *of_ended_children] if kind == "worker" else own
        used[kind] += sum(map(int, ticks)) / _TICKS
    return used


def _told(session: int, file: str) -> Iterator[tuple[str, str]]:
    """Of each process of a session its kind, and what such a file of it in /proc says."""
    for pid in _members(session):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            text = Path(f"/proc/{pid}/{file}").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has just ended
        yield "driver" if pid == session else _kind(command), text


def _kind(command: bytes) -> str:
    if b"java" not in command[:200]:
        return "worker"
    return "executor" if b"CoarseGrainedExecutorBackend" in command else "jvm"


def _running() -> dict[int, tuple[int, int]]:
    """Parent and session of every process that has not ended; nothing where there is no /proc."""
    found: dict[int, tuple[int, int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent, _, session, *_ = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state != "Z":
            found[int(path.parent.name)] = int(parent), int(session)
    return found


def _members(session: int) -> set[int]:
    """What the first process of a session has started: the session, and children outside of it."""
    running = _running()
    members = {pid for pid, (_, its_session) in running.items() if its_session == session}
    while more := {pid for pid, (parent, _) in running.items() if parent in members} - members:
        members |= more
    return members


def end_session(process: subprocess.Popen[Any], gently: bool = True) -> None:
    """End what a process has started and left behind, and nothing else.

    Where there is no /proc, its process group. ``gently``: by SIGTERM first.
    """
    if not Path("/proc/self/stat").exists():
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return
    left = _members(process.pid)
    for number in (signal.SIGTERM, signal.SIGKILL) if gently else (signal.SIGKILL,):
        for pid in left:
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.kill(pid, number)
        deadline = time.monotonic() + _GRACE_SECONDS
        while left and time.monotonic() < deadline:
            process.poll()
            time.sleep(0.05)
            # Once a parent has ended nothing tells whose its children are, so they are kept.
            left = (left | _members(process.pid)) & _running().keys()
    process.wait()


def last_json(text: str) -> dict[str, Any] | None:
    """The last line that is a JSON object."""
    for line in reversed(text.splitlines()):
        if line.startswith("{") and line.endswith("}"):
            try:
                found: dict[str, Any] = json.loads(line)
            except json.JSONDecodeError:
                continue  # a log line that only looks like it
            return found
    return None


def scratch() -> Path:
    """Where made input is kept: below ``build``, which is not in the repository."""
    folder = ROOT / "build" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder

"""Runs one contender until its results are in Redis, and looks at nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench import processes
from bench.environments import ROOT, python_for
from bench.ysb.asked import RESULTS, Asked
from bench.ysb.contenders import Contender
from bench.ysb.events import TAIL_MS
from bench.ysb.jars import jars_of
from bench.ysb.servers import Input, Servers, results_in
from bench.ysb.tallies import Result, difference

_POLL_S = 0.1
_MORE_S = 1.0
"""After the last result that is wanted, so long one that is too many may still come."""
_LAST_LINES = 12


@dataclass
class Watched:
    """What came of one run; ``seconds`` go from the start of the process to the last result."""

    seconds: float = 0.0
    results: list[Result] = field(default_factory=list)
    failure: str | None = None
    processor_seconds: dict[str, float] = field(default_factory=dict)


@contextmanager
def process(python: str, module: str, arguments: list[str], log: Path) -> Iterator[Any]:
    """A module as a session of its own, which is ended with all that it started."""
    path = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
    with log.open("wb") as output:
        child = subprocess.Popen(
            [python, "-m", module, *arguments],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield child
        finally:
            processes.end_session(child)


def catch_up(contender: Contender, up: Servers, given: Input) -> Watched:
    """Let a contender read a topic that was filled beforehand."""
    chosen = replace(contender, options={**contender.options, **contender.behind})
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        return _watched(chosen, up, given, Path(folder))


def live(contender: Contender, up: Servers, given: Input) -> Watched:
    """Let a contender read events while they happen."""
    arguments = [*given.feed(up.brokers), "--live"]
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        with process(sys.executable, "bench.ysb.feed", arguments, folder / "feed.log") as feed:
            watched = _watched(contender, up, given, folder)
        if watched.failure is None and feed.returncode:
            watched.failure = "\n".join(_last_lines(folder / "feed.log"))
        return watched


def _watched(contender: Contender, up: Servers, given: Input, folder: Path) -> Watched:
    client = up.emptied()
    (folder / "job").mkdir()
    own, told = str(folder / "job"), {**contender.options, **jars_of(contender.jars)}
    task = Asked(up.brokers, given.topic, up.redis_url, own, given.tail_ms, told)
    module, log = f"bench.ysb.peers.{contender.module}", folder / "job.log"
    python, watched = python_for(contender.environment), Watched()
    begun_ms = time.time() * 1000
    with process(python, module, [task.text()], log) as child:
        watched.failure = _wait(child, client, given, contender.limit_s)
        watched.processor_seconds = processes.processor_seconds(child.pid)
    watched.results = results_in(client)
    checked = [each for each in watched.results if each.window_ms < given.tail_ms - TAIL_MS]
    watched.seconds = (max((each.written_ms for each in checked), default=0) - begun_ms) / 1000
    if given.tally_file.exists():
        wrong = difference(given.checked(watched.results), given.tally, given.tail_ms)
        watched.failure = wrong and f"{watched.failure or 'wrong results'}: {wrong}"
    if watched.failure:
        watched.failure = "\n".join([watched.failure, *_last_lines(log)])
    return watched


def _wait(child: Any, client: Any, given: Input, limit_s: float) -> str | None:
    """Wait until there are as many results as windows; what is wrong if there never are."""
    deadline = time.monotonic() + limit_s
    wanted: int | None = None
    while time.monotonic() < deadline:
        if wanted is None and given.tally_file.exists():
            wanted = len(given.tally)
        if wanted is not None and _count(client, given) >= wanted:
            time.sleep(_MORE_S)
            return None
        if child.poll() is not None:
            return f"it ended with exit code {child.returncode}"
        time.sleep(_POLL_S)
    return f"no end within {limit_s:g} s"


def _count(client: Any, given: Input) -> int:
    if given.checked_from_ms:
        return len(given.checked(results_in(client)))
    return int(client.xlen(RESULTS))


def _last_lines(log: Path) -> list[str]:
    return log.read_text(errors="replace").strip().splitlines()[-_LAST_LINES:]

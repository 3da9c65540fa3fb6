"""Runs one contender until its results are in Redis, and looks at nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench import processes
from bench.environments import ROOT, python_for
from bench.ysb.asked import RESULTS, Asked
from bench.ysb.contenders import Contender
from bench.ysb.events import CAMPAIGNS, TAIL_MS
from bench.ysb.jars import jars_of
from bench.ysb.servers import Input, Servers, results_in
from bench.ysb.tallies import Result, difference

_POLL_S = 0.1
_MORE_S = 1.0
"""After the last result that is wanted, so long one that is too many may still come."""
_BEHIND_S = 60.0
"""So long after the last event a contender may take until its last result."""
_LAST_LINES = 12


@dataclass
class Watched:
    """What came of one run; ``seconds`` go from the start of the process to the last result."""

    seconds: float = 0.0
    results: list[Result] = field(default_factory=list)
    failure: str | None = None
    processor_seconds: dict[str, float] = field(default_factory=dict)
    generator: dict[str, float] = field(default_factory=dict)
    """What the generator of live events tells: ``late_ms`` at the most, ``processor_seconds``."""


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
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder, client, watched = Path(name), up.emptied(), Watched()
        begun_ms = time.time() * 1000
        with _running(chosen, up, given.topic, given.tail_ms, folder) as child:
            watched.failure = _wait(child, client, given, contender.limit_s)
            watched.processor_seconds = processes.processor_seconds(child.pid)
        _look(watched, client, given, folder)
    checked = [each for each in watched.results if each.window_ms < given.tail_ms - TAIL_MS]
    watched.seconds = (max((each.written_ms for each in checked), default=0) - begun_ms) / 1000
    return watched


def live(
    contender: Contender, up: Servers, rate: int, seconds: int, warm_up_s: int
) -> tuple[Watched, Input]:
    """Let a contender read events while they happen; they begin when it has started."""
    topic, tail_ms = up.begun()
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder, client, watched = Path(name), up.emptied(), Watched()
        with _running(contender, up, topic, tail_ms, folder) as child:
            watched.failure = _wait_for_the_start(child, client, contender.limit_s)
            given = up.to_come(topic, tail_ms, rate, seconds, warm_up_s)
            if watched.failure is None:
                before = processes.processor_seconds(child.pid)
                log = folder / "feed.log"
                with process(sys.executable, "bench.ysb.feed", given.feed(up.brokers), log):
                    watched.failure = _wait(child, client, given, seconds + _BEHIND_S)
                after = processes.processor_seconds(child.pid)
                watched.processor_seconds = {kind: after[kind] - before[kind] for kind in after}
                watched.generator = processes.last_json(log.read_text(errors="replace")) or {}
        _look(watched, client, given, folder)
    up.gone(topic)
    return watched, given


def _running(
    contender: Contender, up: Servers, topic: str, tail_ms: int, folder: Path
) -> AbstractContextManager[Any]:
    """The contender's process; its output is in ``job.log`` of the folder."""
    (folder / "job").mkdir()
    options = {**contender.options, **jars_of(contender.jars)}
    task = Asked(up.brokers, topic, up.redis_url, str(folder / "job"), tail_ms, options)
    module = f"bench.ysb.peers.{contender.module}"
    return process(python_for(contender.environment), module, [task.text()], folder / "job.log")


def _look(watched: Watched, client: Any, given: Input, folder: Path) -> None:
    """Take the results and check them."""
    watched.results = results_in(client)
    if given.tally_file.exists():
        wrong = difference(given.checked(watched.results), given.tally, given.tail_ms)
        watched.failure = wrong and f"{watched.failure or 'wrong results'}: {wrong}"
    if watched.failure:
        watched.failure = "\n".join([watched.failure, *last_lines(folder / "job.log")])


def _wait_for_the_start(child: Any, client: Any, limit_s: float) -> str | None:
    """Wait until the prelude's window is there for each campaign; what is wrong if it never is."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if int(client.xlen(RESULTS)) >= CAMPAIGNS:
            return None
        if child.poll() is not None:
            return f"it ended with exit code {child.returncode}"
        time.sleep(_POLL_S)
    return f"it has not started within {limit_s:g} s"


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


def last_lines(log: Path) -> list[str]:
    """How a contender's output ended."""
    return log.read_text(errors="replace").strip().splitlines()[-_LAST_LINES:]

"""A pytest plugin that runs the collected tests once to see which mutant each reaches, then forks.

For each mutant a child of the process runs the tests that reach it, the quickest first, until one
fails or its processor time is used up: then the mutant has survived. A child that a test keeps far
beyond that is ended, and its mutant is caught: the tests' own time limit would end it, too.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import select
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

SURVIVED, CAUGHT, NOT_REACHED = "survived", "caught", "not reached"
PASSED = b"passed"
WAIT_S = 300  # of the clock, on a machine with other work


@dataclass
class Job:
    """What the command asks for, as JSON in the environment variable ``HEADRACE_MUTANTS``."""

    mutants: list[int]
    answers: str
    first: dict[str, str]  # by mutant: the test that caught it in another run
    budget_s: int = 25  # of processor time, for the tests of one mutant
    at_once: int = 2


@dataclass
class Running:
    """A child that runs the tests of one mutant, and the pipe on which it names what failed."""

    mutant: int
    pid: int
    pipe: int
    ends_at: float
    text: bytes = field(default=b"")

    def failed(self) -> str:
        """The test that failed; empty if all passed."""
        return "" if self.text == PASSED else self.text.decode() or "ended without an answer"


def pytest_runtestloop(session: pytest.Session) -> bool:
    """Take the place of pytest's own loop."""
    import headrace_mutants as switch

    job = Job(**json.loads(os.environ["HEADRACE_MUTANTS"]))
    tests, times, broken = _look(session.items, switch)
    print(f"\n{len(session.items)} tests, {len(broken)} fail without a mutant: {sorted(broken)}")
    answers: dict[str, Any] = {}
    waiting = list(job.mutants)
    running: list[Running] = []
    gc.collect()
    gc.freeze()
    while waiting or running:
        while waiting and len(running) < job.at_once:
            number = waiting.pop(0)
            items = sorted(tests.get(number, []), key=lambda item: times[item.nodeid])
            known = job.first.get(str(number))
            items.sort(key=lambda item: item.nodeid != known)
            if items:
                running.append(_start(number, items, switch, job.budget_s))
            else:
                answers[str(number)] = [NOT_REACHED, ""]
        for done in _wait(running):
            running.remove(done)
            name = done.failed()
            answers[str(done.mutant)] = [CAUGHT if name else SURVIVED, name]
            Path(job.answers).write_text(json.dumps(answers), encoding="utf-8")
            print(
                f"{len(answers)} of {len(job.mutants)}: {done.mutant} {name or SURVIVED}",
                flush=True,
            )
    Path(job.answers).write_text(json.dumps(answers), encoding="utf-8")
    return True


def _look(
    items: list[pytest.Item], switch: Any
) -> tuple[dict[int, list[pytest.Item]], dict[str, float], set[str]]:
    """Run every test with no mutant on: who reaches which, how long each took, which failed."""
    reached: dict[int, list[pytest.Item]] = {}
    times: dict[str, float] = {}
    broken: set[str] = set()
    for index, item in enumerate(items):
        switch.reached = set()
        start = time.monotonic()
        reports = runtestprotocol(item, log=False, nextitem=_next(items, index))
        times[item.nodeid] = time.monotonic() - start
        if any(report.failed for report in reports):
            broken.add(item.nodeid)
        else:
            for number in switch.reached:
                reached.setdefault(number, []).append(item)
        if index % 1000 == 0:
            print(f"{index} of {len(items)} tests looked at", flush=True)
    switch.reached = None
    return reached, times, broken


def _start(number: int, items: list[pytest.Item], switch: Any, budget_s: int) -> Running:
    sys.stdout.flush()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return Running(number, pid, reading, time.monotonic() + WAIT_S)
    os.setpgid(0, 0)
    os.close(reading)
    name = "error outside a test"
    try:
        switch.active = number
        os.environ["HEADRACE_MUTANT"] = str(number)
        spent = time.process_time()
        most = int(spent) + 3 * budget_s
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))
        name = _first_failure(items, spent + budget_s)
    finally:
        os.write(writing, name.encode() or PASSED)
        os._exit(0)


def _first_failure(items: list[pytest.Item], until: float) -> str:
    for index, item in enumerate(items):
        if time.process_time() > until:
            break
        reports = runtestprotocol(item, log=False, nextitem=_next(items, index))
        if any(report.failed for report in reports):
            return item.nodeid
    return ""


def _next(items: list[pytest.Item], index: int) -> pytest.Item | None:
    return items[index + 1] if index + 1 < len(items) else None


def _wait(running: list[Running]) -> list[Running]:
    """Those that have ended, in time or not."""
    ready, _, _ = select.select([each.pipe for each in running], [], [], 1)
    done = []
    for each in running:
        if each.pipe in ready:
            each.text = os.read(each.pipe, 1 << 16)
        elif time.monotonic() <= each.ends_at:
            continue
        with contextlib.suppress(ProcessLookupError):
            os.killpg(each.pid, signal.SIGKILL)
        os.waitpid(each.pid, 0)
        os.close(each.pipe)
        done.append(each)
    return done

"""``make proof-databases``: databases that are away for a minute, while a job on Spark uses them.

The job is started once and may not be restarted. Each of its servers is killed and comes back with
its data a minute later; then those it writes to stand still for longer than an answer may take.
Records go on coming. At the end each is looked up and written once. ``--seed`` chooses the moments.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from redis import Redis

from headrace.dev.from_machine import postgres, redis
from headrace.dev.service import Service
from headrace.errors import JobError
from tests.connectors.test_sqlite_log import append, make_log
from tests.faults.processes import descendants, log_of, start
from tests.proof.databases_job import KEYS, PRICES, TABLES, TASKS
from tests.proof.http_service import service as http_service
from tests.servers import ANY_FREE_PORT, Server

JOB = "tests.proof.databases_job"
STARTED_S = 240.0
ON_AGAIN_S = 120.0
ALL_S = 300.0
LOOK_S = 0.5
FEED_EVERY_S = 0.5
FED_AT_ONCE = 10
SETTLED_S = 10.0
"""After so long without its server a job has no micro-batch under way that could still complete."""
ANSWER_S = 60.0
"""So long the clients wait for an answer of a server that stands still."""
PROCESSES = 2 * TASKS
"""Python's processes that write: a task of Spark reads in one, writes in another, and they swap."""

_MAKERS: Mapping[str, Callable[[Path, int], Service | None]] = {
    "redis lookup": redis,
    "postgres lookup": postgres,
    "http lookup": http_service,
    "redis sink": redis,
    "postgres sink": postgres,
}


class Fault(Exception):
    """The job did not do what it should."""


@dataclass(frozen=True)
class Away:
    """One outage: of these servers, ``killed`` or ``still``."""

    servers: tuple[str, ...]
    how: str


@dataclass
class Job:
    """A job at work, and the records that it is given.

    ``given``: how many there are by now. ``unfed``: why there will be no more.
    """

    folder: Path
    process: subprocess.Popen[bytes]
    given: int = 0
    unfed: Exception | None = None
    _full: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._feeder = threading.Thread(target=self._feed)
        self._feeder.start()

    def _feed(self) -> None:
        try:
            while not self._full.wait(FEED_EVERY_S):
                more = range(self.given, self.given + FED_AT_ONCE)
                append(self.folder / "given.db", more)
                self.given += FED_AT_ONCE
        except Exception as error:  # reported by check(): an outage without records proves nothing
            self.unfed = error

    def fed(self) -> int:
        """Give it no more; how many records it was given."""
        self._full.set()
        self._feeder.join()
        return self.given

    @property
    def micro_batches(self) -> int:
        """How many are complete."""
        names = [path.name for path in self.folder.glob("checkpoint/*/spark/commits/*")]
        return 1 + max((int(name) for name in names if name.isdigit()), default=-1)

    def until(self, done: Callable[[], bool], timeout_s: float, what: str) -> float:
        """Wait until something is done; how long that was (s).

        Raises:
            Fault: the job ended, or it took too long.
        """
        began = time.monotonic()
        while not done():
            self.check()
            if time.monotonic() > began + timeout_s:
                raise Fault(f"{what}: not in {timeout_s:g} s; {log_of(self.folder)}")
            time.sleep(LOOK_S)
        return time.monotonic() - began

    def works(self, more: int, timeout_s: float) -> float:
        """Wait for so many more micro-batches; how long that was (s)."""
        wanted = self.micro_batches + more
        return self.until(lambda: self.micro_batches >= wanted, timeout_s, f"{more} micro-batches")

    def check(self) -> None:
        """Raise ``Fault`` if the job has ended, or gets no more records."""
        if self.unfed is not None:
            raise Fault(f"no more records could be given: {self.unfed}")
        if self.process.poll() is not None:
            raise Fault(f"the job ended: {log_of(self.folder)}")

    def end(self) -> None:
        """kill -9 of the job and all that it started."""
        self.fed()
        for pid in [self.process.pid, *(each.pid for each in descendants(self.process.pid))]:
            _signal(pid, signal.SIGKILL)
        self.process.wait()


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return  # it has ended


def planned(chance: random.Random) -> list[Away]:
    """Each server killed alone, all at once, and those of the sinks without an answer."""
    alone = [Away((name,), "killed") for name in _MAKERS]
    still = [Away((name,), "still") for name in ("redis sink", "postgres sink")]
    found = [*alone, *still, Away(tuple(_MAKERS), "killed")]
    chance.shuffle(found)
    return found


def go_away(server: Server, how: str) -> Callable[[], None]:
    """Take a server away; what is given brings it back."""
    if how == "killed":
        server.kill()
        return server.start
    assert server.running is not None
    pid = server.running.process.pid
    stopped = [pid, *(each.pid for each in descendants(pid))]
    for each in stopped:
        _signal(each, signal.SIGSTOP)

    def back() -> None:
        for each in stopped:
            _signal(each, signal.SIGCONT)

    return back


def take_away(job: Job, servers: Mapping[str, Server], away: Away, seconds: float) -> str:
    """One outage; a sentence about it.

    Raises:
        Fault: the job ended, completed micro-batches meanwhile, or did not go on.
    """
    backs = [go_away(servers[name], away.how) for name in away.servers]
    lasts_s = seconds if away.how == "killed" else seconds + ANSWER_S / 4
    began = time.monotonic()
    try:
        settled = -1
        while (left := began + lasts_s - time.monotonic()) > 0:
            job.check()
            if settled < 0 and left < lasts_s - SETTLED_S:
                settled = job.micro_batches
            time.sleep(min(left, LOOK_S))
        meanwhile = job.micro_batches - settled
    finally:
        for back in backs:
            back()
    if settled >= 0 and meanwhile:
        raise Fault(f"{meanwhile} micro-batches were completed without {', '.join(away.servers)}")
    on_s = job.works(1, ON_AGAIN_S)
    names = "all" if len(away.servers) > 1 else away.servers[0]
    return f"{names} {away.how} for {lasts_s:.0f} s: waited, and went on {on_s:.1f} s later"


def faults_of(servers: Mapping[str, Server], count: int) -> list[str]:
    """What is wrong with what was written for the numbers from 0 to ``count`` - 1."""
    found: list[str] = []
    with Redis.from_url(servers["redis sink"].url, decode_responses=True) as client:
        if client.hgetall("counts") != {str(n): "1" for n in range(count)}:
            found.append("counts in Redis")
    expected: Mapping[str, list[tuple[Any, ...]]] = {
        "taken": [(n, f"n{n % KEYS}", 100 * (n % KEYS), n % KEYS) for n in range(count)],
        "kept": [(n, f"n{n % KEYS}") for n in range(count)],
        "sums": [(k, sum(range(k, count, KEYS)), len(range(k, count, KEYS))) for k in range(KEYS)],
    }
    with psycopg.connect(servers["postgres sink"].url) as database:
        for table, rows in expected.items():
            there = database.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()
            if there != rows:
                missing, more = (
                    [*(Counter(one) - Counter(two))] for one, two in ((rows, there), (there, rows))
                )
                found.append(
                    f"{table}: {len(missing)} missing, from {min(missing, default=None)} "
                    f"to {max(missing, default=None)}; {len(more)} too many: {more[:3]}"
                )
    return found


def written(servers: Mapping[str, Server]) -> int:
    """How many rows were appended; the other sinks may be on their way."""
    with psycopg.connect(servers["postgres sink"].url) as database:
        row: Any = database.execute("SELECT count(*) FROM taken").fetchone()
    return int(row[0])


def connections(servers: Mapping[str, Server]) -> dict[str, int]:
    """How many connections the job has open to what it writes to."""
    with Redis.from_url(servers["redis sink"].url) as client:
        of_redis = [each for each in client.client_list() if each["name"] == "headrace"]
    sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'headrace'"
    with psycopg.connect(servers["postgres sink"].url) as database:
        row: Any = database.execute(sql).fetchone()
    return {"redis": len(of_redis), "postgres": row[0]}


def fill(servers: Mapping[str, Server]) -> None:
    """Tables for the sinks, and what is looked up."""
    with Redis.from_url(servers["redis lookup"].url) as client:
        client.mset({f"name:{key}": f"n{key}" for key in range(KEYS)})
    for name, sql in (("postgres lookup", PRICES), ("postgres sink", TABLES)):
        with psycopg.connect(servers[name].url, autocommit=True) as database:
            for statement in sql.split(";"):
                if statement.strip():
                    database.execute(statement.encode())


def prove(
    folder: Path,
    servers: Mapping[str, Server],
    outages: Sequence[Away],
    seconds: float,
    chance: Any,
) -> list[str]:
    """Run a job through all outages; what was wrong."""
    fill(servers)
    (folder / "job").mkdir()
    make_log(folder / "job" / "given.db")
    addresses = json.dumps({name: server.url for name, server in servers.items()})
    job = Job(folder / "job", start(JOB, str(folder / "job"), addresses))
    try:
        job.works(3, STARTED_S)
        for away in outages:
            job.works(3, ON_AGAIN_S)
            time.sleep(chance.random())
            print(f"  {take_away(job, servers, away, seconds)}", flush=True)
        count = job.fed()
        job.until(lambda: written(servers) >= count, ALL_S, f"{count} records")
        time.sleep(SETTLED_S)
        job.check()
        opened, faults = connections(servers), faults_of(servers, count)
        print(f"  {count} records, {job.micro_batches} micro-batches, connections: {opened}")
        most = {"redis": PROCESSES, "postgres": 3 * PROCESSES}  # one for each sink
        faults += [f"{n} connections to {name}" for name, n in opened.items() if n > most[name]]
    except (Fault, JobError) as fault:
        faults = [str(fault), *faults_of(servers, job.fed())]
    finally:
        job.end()
    return faults


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    asked.add_argument("--seconds", type=float, default=60.0, help="so long each is away")
    asked.add_argument("--only", choices=[*_MAKERS, "all"], help="outages of one server")
    given = asked.parse_args()
    print(f"seed {given.seed}", flush=True)
    chance, began = random.Random(given.seed), time.monotonic()
    outages = [
        away
        for away in planned(chance)
        if given.only in (None, away.servers[0] if len(away.servers) == 1 else "all")
    ]
    with tempfile.TemporaryDirectory(prefix="headrace-proof-") as path, ExitStack() as stack:
        folder = Path(path)
        folder.chmod(0o711)  # PostgreSQL runs as another user
        servers = {}
        for name, make in _MAKERS.items():
            service = make(folder / name.replace(" ", "-"), ANY_FREE_PORT)
            if service is None:
                raise SystemExit(f"{name}: not installed here")
            servers[name] = Server(service)
            servers[name].start()
            stack.callback(servers[name].kill)
        faults = prove(folder, servers, outages, given.seconds, chance)
    seconds = time.monotonic() - began
    print(f"{len(outages)} outages, {seconds:.0f} s: {len(faults)} faults", *faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

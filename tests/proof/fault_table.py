"""``make proof-faults``: each process of a job on Spark struck at each step of a micro-batch.

A job (``fault_job``) is struck, started again as a supervisor would where it has ended, and run to
its end; then what it wrote equals what plain Python computes. ``--seed`` plans the same runs again,
``--only STEP[/PROCESS[/FAULT]]`` takes a part of them. With ``--together`` one job is struck at all
steps in turn, by one fault of one process. ``--json FILE`` adds the runs to a file, and ``--docs``
writes the tables of docs/guarantees.md from ``RUNS``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from headrace.dev import kafka
from headrace.runners.processes import Process as KnownProcess
from headrace.runners.processes import this_machine
from headrace.runners.savepoint_folders import is_savepoint
from headrace.runners.spark.checkpoint import requests
from headrace.runners.spark.checkpoint.layout import CheckpointFolder
from headrace.runners.spark.checkpoint.requests import RequestKind, new_request
from tests.cluster.standalone import Cluster
from tests.connectors.topic import content, new_topic
from tests.damage import damage
from tests.faults.processes import (
    ROOT,
    descendants,
    executors,
    jvms,
    kill,
    python_workers,
    send,
    start,
)
from tests.faults.test_full_disk import small_disk
from tests.proof.fault_job import NAME, PER_BATCH, SINKS, SPLITS, expected, records
from tests.proof.kafka import open_transaction
from tests.servers import Server

JOB = "tests.proof.fault_job"
RUNS = Path(__file__).with_name("fault_table.json")
DOCS = ROOT / "docs" / "guarantees.md"
BEGIN, END = "<!-- fault table -->", "<!-- end of the fault table -->"

STOPPED_S = 12.0
"""How long a process is stopped: longer than each timeout below, and than a lease (10 s)."""
TIMEOUTS = {
    "headrace.spark.conf.spark.network.timeout": "6s",
    "headrace.spark.conf.spark.network.timeoutInterval": "1s",
    "headrace.spark.conf.spark.executor.heartbeatInterval": "1s",
}
_BROKER = "transaction.abort.timed.out.transaction.cleanup.interval.ms=500"
EXECUTORS = {
    "headrace.spark.conf.spark.master": "local-cluster[2,1,1024]",
    "headrace.spark.conf.spark.executor.memory": "1g",
}
SPECULATION = {
    "headrace.spark.conf.spark.speculation": "true",
    "headrace.spark.conf.spark.speculation.interval": "100ms",
    "headrace.spark.conf.spark.speculation.multiplier": "1.1",
    "headrace.spark.conf.spark.speculation.quantile": "0.5",
    "headrace.spark.conf.spark.speculation.minTaskRuntime": "500ms",
    "headrace.spark.conf.spark.executor.memory": "1g",
    "headrace.spark.conf.spark.executorEnv.PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
}

STEPS: dict[str, Sequence[str]] = {
    "planning": ("plan", "offsets"),
    "shuffle": ("map", "reduce"),
    "state commit": ("state",),
    "sink prepare": ("prepare",),
    "sink commit": ("commit", "committed"),
    "savepoint": ("pins", "saved"),
    "rescale": ("generation", "generation's offsets"),
}
"""By step, the moments that seeds take in turn; Kafka's sink has ``prepared`` for both commits."""
MOMENTS = {
    "plan": "before the end of the micro-batch is decided",
    "offsets": "its offsets are logged",
    "map": "a task of the first stage writes its shuffle",
    "reduce": "a task of the second stage has read its shuffle",
    "state": "the first state of the micro-batch is committed",
    "prepare": "a writer has its records",
    "prepared": "a writer has committed its transaction, and Spark does not know",
    "commit": "a committer is about to publish",
    "committed": "a committer has published",
    "pins": "the micro-batch is pinned for a savepoint",
    "saved": "the savepoint's folder is there",
    "generation": "the folder of the next generation is there",
    "generation's offsets": "its first offsets are logged",
}
PROCESSES = ("driver", "JVM", "executor", "worker")
FAULTS = ("killed", "stopped")
OTHERS: Sequence[tuple[str, str, str]] = (
    ("speculative twin", "task", "slow"),
    ("zombie driver", "driver", "stopped"),
    ("checkpoint file", "file", "corrupt"),
    ("checkpoint file", "file", "missing"),
    ("checkpoint file", "folder", "unwritable"),
    ("two faults", "driver and worker", "killed"),
    ("two faults", "JVM and worker", "stopped"),
)
FILES = (
    "job",
    "owners/[0-9]*",
    "splits/[0-9]*",
    "spark/metadata",
    "spark/offsets/[0-9]*",
    "spark/commits/[0-9]*",
    "spark/state/0/_metadata/v2/[0-9]*",
    "spark/state/[01]/0/[0-9]*.changelog",
    "spark/state/[01]/1/[0-9]*.changelog",
)
LOOK_S = 0.05
POLL_S = 0.002
JOB_S, STRIKE_S = 180.0, 90.0
ENDS_S = 20.0


class Fault(Exception):
    """The job did not do what it should."""


@dataclass(frozen=True)
class Strike:
    """One cell of the table, for one seed: it plans the moment, the file, and who is struck."""

    step: str
    process: str
    fault: str
    form: str
    seed: int
    number: int

    @property
    def chance(self) -> random.Random:
        """The random numbers of this strike."""
        return random.Random(
            f"{self.seed} {self.number} {self.step} {self.process} {self.fault} {self.form}"
        )

    @property
    def moment(self) -> str:
        """When it strikes."""
        if self.step not in STEPS:
            return self.chance.choice(("map", "state", "prepare", "commit"))
        if self.form == "kafka" and self.step == "sink commit":
            return "prepared"
        moments = STEPS[self.step]
        return moments[self.number % len(moments)]


@dataclass
class Outcome:
    """What came of a strike. ``fault`` is empty if the results of its job are exact."""

    step: str
    process: str
    fault: str
    form: str
    seed: int
    number: int
    moment: str
    strikes_of_job: int
    seconds: float
    starts: int
    what: str
    difference: str

    @property
    def line(self) -> str:
        """The outcome in one line."""
        what = f" ({self.what})" if self.what else ""
        return (
            f"{self.step:16} {self.process:17} {self.fault:10} {self.form:5} seed {self.seed}"
            f"/{self.number} {self.seconds:4.0f} s, {self.starts} starts: {self.moment}{what}:"
            f" {self.difference or 'exact'}"
        )


def planned(seed: int, seeds: int, only: str | None) -> list[Strike]:
    """The strikes of a seed; for each second one the job has Kafka at both ends."""
    cells = [
        *((step, process, fault) for step in STEPS for process in PROCESSES for fault in FAULTS),
        *OTHERS,
    ]
    return [
        Strike(*cell, "kafka" if (place + number) % 2 else "files", seed, number)
        for number in range(seeds)
        for place, cell in enumerate(cells)
        if only is None or "/".join(cell).startswith(only)
    ]


def grouped(strikes: Sequence[Strike], together: bool) -> list[list[Strike]]:
    """The strikes of each job."""
    if not together:
        return [[strike] for strike in strikes]
    groups: dict[tuple[Any, ...], list[Strike]] = {}
    for strike in strikes:
        alone = () if strike.step in STEPS else (strike.step,)
        of_one_job = (strike.process, strike.fault, strike.form, strike.number, *alone)
        groups.setdefault(of_one_job, []).append(strike)
    return [*groups.values()]


@dataclass
class Run:
    """A job from its first start to its end, under strikes.

    ``killed_on_purpose`` stays up to the process that the job has now. ``first_of``: command that
    runs the next driver.
    """

    folder: Path
    strikes: Sequence[Strike]
    servers: str | None
    cluster: Cluster | None = None
    starts: int = 0
    before: Sequence[str] = ()
    what: dict[Strike, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        first = self.strikes[0]
        self.chance = random.Random(f"{first.seed} {first.number} {first.process} {first.fault}")
        count = PER_BATCH * (3 + 3 * len(self.strikes))
        self.lines = records(self.chance.randrange(1 << 30), count)
        self.job: subprocess.Popen[bytes] = self._none
        self.until = time.monotonic() + JOB_S + STRIKE_S * len(self.strikes)
        self.seen: dict[int, KnownProcess] = {}
        self.place: dict[str, str] = {}
        self._stack = ExitStack()

    _none: Any = None

    @property
    def checkpoint(self) -> Path:
        """The folder of the job's checkpoint."""
        return self.folder / "checkpoint" / NAME

    @cached_property
    def signals(self) -> Any:
        """Where the driver looks for requests."""
        return CheckpointFolder.of_job(str(self.folder / "checkpoint"), NAME).signals

    def prepare(self) -> None:
        """Write the input and the settings."""
        settings = dict(TIMEOUTS)
        (first, *_) = self.strikes
        if any(strike.process == "executor" for strike in self.strikes):
            settings |= EXECUTORS
        if self.cluster is not None:
            settings |= {**SPECULATION, "headrace.spark.conf.spark.master": self.cluster.url}
        if first.fault == "unwritable":
            self._stack.enter_context(small_disk(self.folder / "checkpoint", 64))
        if self.servers is None:
            (self.folder / "in").mkdir()
            for number, lines in enumerate(self.lines):
                text = "".join(f"{line}\n" for line in lines)
                (self.folder / "in" / f"{number}.txt").write_text(text)
        else:
            names = ("in", *SINKS)
            self.place = {name: new_topic(self.servers, SPLITS) for name in names}
            producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 0})
            for number, lines in enumerate(self.lines):
                for line in lines:
                    producer.produce(self.place["in"], line.encode(), partition=number)
            assert producer.flush(30) == 0
            self.place["servers"] = self.servers
        job = {"place": self.place, "settings": settings}
        (self.folder / "job.json").write_text(json.dumps(job))

    def start(self) -> None:
        """Start the job, again."""
        self.starts += 1
        self.job = start(JOB, str(self.folder), before=self.before)

    def note_processes(self) -> None:
        """Remember the processes of the job, which must have ended after it."""
        machine = this_machine()
        for pid in [self.job.pid, *(each.pid for each in descendants(self.job.pid))]:
            process = machine.process(pid)
            if process is not None:
                self.seen[pid] = process

    def left(self, within_s: float) -> list[int]:
        """The processes of the job that are still there after a while."""
        machine, began = this_machine(), time.monotonic()
        while True:
            running = [pid for pid, each in self.seen.items() if machine.is_running(each)]
            if not running or time.monotonic() > began + within_s:
                return running
            time.sleep(LOOK_S)

    def supervise(self) -> bool:
        """Whether the job runs or runs again; False when it has ended.

        Raises:
            Fault: it took too long.
        """
        if time.monotonic() > self.until:
            raise Fault(f"it has not ended in time; {self.log[-2_000:]}")
        code = self.job.poll()
        if code == 0:
            return False
        if code is not None:
            self.start()
        return True

    @property
    def log(self) -> str:
        """All that the drivers have printed."""
        return Path(f"{self.folder}.log").read_text(errors="replace")

    @property
    def committed(self) -> int:
        """The number of the last micro-batch that Spark has committed; -1 for none."""
        names = [path.name for path in self.checkpoint.glob("spark*/commits/*")]
        return max((int(name) for name in names if name.isdigit()), default=-1)

    def wait(self, done: Callable[[], bool], look_s: float = LOOK_S) -> None:
        """Wait for something while the job runs.

        Raises:
            Fault: the job ended before.
        """
        while not done():
            if not self.supervise():
                raise Fault("it ended before it could be struck")
            time.sleep(look_s)

    def more_batches(self, more: int) -> Callable[[], bool]:
        """Whether so many more micro-batches are committed; generations begin anew with 0."""
        seen = {str(path) for path in self.checkpoint.glob("spark*/commits/[0-9]*")}
        found = set(seen)

        def done() -> bool:
            found.update(str(path) for path in self.checkpoint.glob("spark*/commits/[0-9]*"))
            return len(found) >= len(seen) + more

        return done

    def strike(self, strike: Strike) -> None:
        """Strike the job once, after it has committed a further micro-batch."""
        self.wait(self.more_batches(1 + strike.chance.randrange(2)))
        if strike.step == "checkpoint file":
            return self._damage(strike)
        if strike.step == "speculative twin":
            return self._twin(strike)
        held = self._reach(strike)
        self.note_processes()
        if strike.step == "zombie driver":
            self._zombie(held)
            return None
        struck = [self._victim(name, held, strike) for name in strike.process.split(" and ")]
        number = signal.SIGKILL if strike.fault == "killed" else signal.SIGSTOP
        for pid in dict.fromkeys(struck):
            if not send(pid, number):
                raise Fault(f"process {pid} had ended before it was struck")
        self._release()
        if strike.fault == "stopped":
            self._wait_while_stopped(struck)
        elif "driver" in strike.process:
            self.job.wait(ENDS_S)
        return None

    def _reach(self, strike: Strike) -> int | None:
        """Wait for the moment of a strike; the process that waits there, if one does."""
        moment = strike.moment
        files = {
            "offsets": "spark*/offsets/[0-9]*",
            "state": "spark*/state/[01]/[0-9]*/[0-9]*",
            "pins": "pins/*",
            "saved": "../../saved/*",
            "generation": "spark-*",
            "generation's offsets": "spark-*/offsets/0",
        }.get(moment)
        if files is None:
            (self.folder / f"armed-{moment}").touch()
            self.wait(lambda: self._held(moment) is not None, POLL_S)
            return self._held(moment)
        before = {str(path) for path in self.checkpoint.glob(files)}
        self._ask(strike)
        self.wait(
            lambda: any(str(path) not in before for path in self.checkpoint.glob(files)), POLL_S
        )
        return None

    def _ask(self, strike: Strike) -> None:
        if strike.step == "savepoint":
            target = str(self.folder / "saved")
            requests.ask(self.signals, new_request(RequestKind.SAVEPOINT, target))
        elif strike.step == "rescale":
            request = new_request(RequestKind.RESCALE, parallelism=3)
            requests.ask(self.signals, request)

    def _held(self, moment: str = "*") -> int | None:
        for path in self.folder.glob(f"held-{moment}-*"):
            return int(path.name.rpartition("-")[2])
        return None

    def _release(self) -> None:
        for path in self.folder.glob("held-*"):
            path.unlink()

    def _victim(self, process: str, held: int | None, strike: Strike) -> int:
        if process == "driver":
            return self.job.pid
        if process == "JVM":
            found = [each.pid for each in jvms(self.job.pid)]
        elif process == "executor":
            found = [each.pid for each in executors(self.job.pid)]
            at_work = [pid for pid in found if held in {each.pid for each in descendants(pid)}]
            found = at_work or found
        elif held is not None:
            return held
        else:
            found = [each.pid for each in python_workers(self.job.pid)]
        if not found:
            raise Fault(f"there is no {process}")
        return strike.chance.choice(found)

    def _wait_while_stopped(self, stopped: Sequence[int]) -> None:
        """Let time pass, and continue the processes; the job shall not end meanwhile."""
        until, enough = time.monotonic() + STOPPED_S, self.more_batches(2)
        paused = self.folder / "paused"
        while time.monotonic() < until:
            if enough():
                paused.touch()
            if self.job.poll() is not None:
                self.supervise()
            time.sleep(LOOK_S)
        for pid in stopped:
            send(pid, signal.SIGCONT)
        paused.unlink(missing_ok=True)

    def _zombie(self, held: int | None) -> None:
        """Stop a driver with all its processes; another one takes over; continue the first.

        The second has a table of processes of its own, as on another machine: it cannot look the
        first one up, and goes by its lease.
        """
        first = self.job
        stopped = [first.pid, *(each.pid for each in descendants(first.pid))]
        for pid in stopped:
            send(pid, signal.SIGSTOP)
        self._release()
        taken_over = self.more_batches(1)
        self.before = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
        self.start()
        try:
            self.wait(taken_over)
            (self.folder / "paused").touch()
        finally:
            for pid in stopped:
                send(pid, signal.SIGCONT)
        code = first.wait(ENDS_S + STOPPED_S)
        (self.folder / "paused").unlink()
        if code == 0 or "another driver has taken over this checkpoint" not in self.log:
            raise Fault(f"the first driver ended with {code}, and was not refused")
        self.what[self.strikes[0]] = "the first driver was refused"

    def _twin(self, strike: Strike) -> None:
        """A task waits until another attempt of it has ended the micro-batch, then goes on."""
        moment = ("map", "prepare", "prepared")[strike.number % 3]
        (self.folder / f"armed-{moment}").touch()
        self.wait(lambda: self._held(moment) is not None)
        self.note_processes()
        starts = self.starts
        self.wait(self.more_batches(1))
        if self.starts > starts:
            raise Fault("the job ended while a task was slow")
        self._release()
        self.what[strike] = f"at {moment!r}"

    def _damage(self, strike: Strike) -> None:
        if strike.fault == "unwritable":
            return self._make_unwritable(strike)
        self.note_processes()
        for pid in [self.job.pid, *(each.pid for each in descendants(self.job.pid))]:
            kill(pid)
        self.job.wait()
        if self.left(ENDS_S):
            raise Fault("processes of the job cannot be killed")
        chance = strike.chance
        patterns = [each for each in FILES if any(self.checkpoint.glob(each))]
        file = max(self.checkpoint.glob(chance.choice(patterns)), key=_number)
        kept = file.read_bytes()
        how = "removed" if strike.fault == "missing" else chance.choice(("cut", "flipped"))
        damage(file, how)
        before, more = len(self.log), self.more_batches(1)
        self.start()
        while self.job.poll() is None and not more():
            if time.monotonic() > self.until:
                raise Fault(f"it stands still with a damaged file; {self.log[-2_000:]}")
            time.sleep(LOOK_S)
        name = f"{file.relative_to(self.checkpoint)} {how}"
        if not self.job.poll():
            self.what[strike] = f"{name}: not needed"
            return None
        if "headrace.errors.CheckpointError" not in self.log[before:]:
            raise Fault(f"{name}: not refused by a sentence: {self.log[before:][-2_000:]}")
        self.what[strike] = f"{name}: refused"
        file.write_bytes(kept)
        return None

    def _make_unwritable(self, strike: Strike) -> None:
        folder, before = str(self.folder / "checkpoint"), len(self.log)

        def remount(how: str) -> bool:
            done = subprocess.run(
                ["mount", "-o", f"remount,{how}", folder], capture_output=True, check=False
            )
            return done.returncode == 0

        self.wait(lambda: remount("ro"), POLL_S)
        try:
            until = time.monotonic() + STOPPED_S
            while self.job.poll() is None and time.monotonic() < until:
                time.sleep(LOOK_S)
        finally:
            assert remount("rw")
        said = [line for line in self.log[before:].splitlines() if "headrace.errors." in line]
        if self.job.poll() is not None and not said:
            raise Fault(f"it ended without a sentence: {self.log[before:][-2_000:]}")
        self.what[strike] = said[-1].partition("headrace.errors.")[2][:100] if said else "it waited"

    def difference(self) -> str:
        """What differs between what was written and the oracle; nothing, if nothing does."""
        wanted = expected(line for lines in self.lines for line in lines)
        for name in SINKS:
            written = self._written(name)
            found = Counter(written)
            if found != wanted[name]:
                missing, more = wanted[name] - found, found - wanted[name]
                return (
                    f"{name}: {missing.total()} of {wanted[name].total()} missing"
                    f" {[*missing][:3]}, {more.total()} too many {[*more][:3]}"
                )
            if self.servers is None:
                continue
            if name == "totals" and (key := _out_of_order(written)):
                return f"{name}: account {key} is out of order"
            until = time.monotonic() + STOPPED_S
            while opened := open_transaction(self.servers, self.place[name]):
                if time.monotonic() > until:
                    return f"{name}: {opened}"
                time.sleep(1.0)
        return ""

    def _written(self, name: str) -> list[str]:
        if self.servers is not None:
            messages = content(self.servers, self.place[name])
            return [message.value().decode() for message in messages]
        files = [*(self.folder / "out" / name).rglob("part-*")]
        return [line for path in files if path.is_file() for line in path.read_text().splitlines()]

    def difference_of_savepoint(self) -> str:
        """Run a job from a savepoint that is complete: it writes what came after, each once."""
        found = [str(path) for path in (self.folder / "saved").glob("*") if is_savepoint(str(path))]
        if not found or self.servers is not None:
            return ""
        self.what[self._of_step("savepoint")] = "a job went on from the savepoint"
        (self.folder / "out").rename(self.folder / "out-before")
        (self.folder / "checkpoint").rename(self.folder / "checkpoint-before")
        job = start(JOB, str(self.folder), f"execution.state-recovery.path={found[0]}")
        try:
            if job.wait(JOB_S) != 0:
                return f"no job goes on from the savepoint: {self.log[-2_000:]}"
        finally:
            kill(job.pid)
        wanted = expected(line for lines in self.lines for line in lines)
        later = {name: Counter(self._written(name)) for name in SINKS}
        if any(later[name] - wanted[name] for name in SINKS):
            return f"from the savepoint: {[[*(later[n] - wanted[n])][:3] for n in SINKS]}"
        counts = {line.rpartition(" ")[0] for line in wanted["totals"]}
        for line in (each.rpartition(" ")[0] for each in later["totals"]):
            account, count = line.split()
            after = f"{account} {int(count) + 1}"
            if after in counts and not any(
                each.startswith(f"{after} ") for each in later["totals"]
            ):
                return f"from the savepoint: {after} is missing"
        return "" if later["totals"] else "from the savepoint came nothing"

    def _of_step(self, step: str) -> Strike:
        return next(strike for strike in self.strikes if strike.step == step)

    def to_its_end(self) -> None:
        """Wait until the job has ended by itself."""
        while self.supervise():
            time.sleep(LOOK_S)

    def close(self) -> None:
        """End all processes of the job that are left."""
        if self.job is not None and self.job.poll() is None:
            self.note_processes()
            kill(self.job.pid)
            self.job.wait()
        for pid in self.left(0.0):
            kill(pid)
        self._stack.close()


def _number(path: Path) -> tuple[int, str]:
    stem = path.name.partition(".")[0]
    return (int(stem) if stem.isdigit() else -1), str(path)


def _out_of_order(totals: Sequence[str]) -> str:
    """An account whose records are not in their order."""
    last: dict[str, int] = {}
    for line in totals:
        account, count, _ = line.split()
        if int(count) != last.get(account, 0) + 1:
            return account
        last[account] = int(count)
    return ""


def run(strikes: Sequence[Strike], servers: str | None, cluster: Cluster | None) -> list[Outcome]:
    """One job under its strikes, to its end; its folder stays if the results differ."""
    folder = Path(tempfile.mkdtemp(prefix="headrace-fault-"))
    job = Run(folder, strikes, servers, cluster)
    began, struck, difference = time.monotonic(), 0, ""
    try:
        job.prepare()
        job.start()
        for strike in strikes:
            job.strike(strike)
            struck += 1
        job.to_its_end()
        difference = job.difference()
        if not difference and any(strike.step == "savepoint" for strike in strikes):
            difference = job.difference_of_savepoint()
        if not difference and (left := job.left(ENDS_S)):
            difference = f"{len(left)} processes are left"
    except Fault as fault:
        difference = str(fault)
    finally:
        job.close()
    if difference:
        difference += f" [{folder}]"
    else:
        shutil.rmtree(folder)
        Path(f"{folder}.log").unlink()
    seconds = (time.monotonic() - began) / len(strikes)
    return [
        Outcome(
            **asdict(strike),
            moment=strike.moment,
            strikes_of_job=len(strikes),
            seconds=round(seconds, 1),
            starts=job.starts,
            what=job.what.get(strike, ""),
            difference=difference if number <= struck else f"not struck: {difference}",
        )
        for number, strike in enumerate(strikes)
    ]


@contextmanager
def broker(wanted: bool) -> Iterator[str | None]:
    """A broker for the jobs that need one."""
    if not wanted:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="headrace-proof-") as path:
        server = Server(kafka.kafka(Path(path), 0, memory="768m", more=_BROKER))
        server.start()
        try:
            yield server.url
        finally:
            server.kill()


@contextmanager
def cluster_for(strikes: Sequence[Strike]) -> Iterator[Cluster | None]:
    """Two workers on two hosts: Spark starts no twin of a task on the task's own host."""
    if strikes[0].step != "speculative twin":
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="headrace-cluster-") as path:
        cluster = Cluster(Path(path))
        try:
            cluster.start(hosts=("127.0.0.1", "127.0.0.2"))
            yield cluster
        finally:
            cluster.stop()


def run_all(jobs: Sequence[Sequence[Strike]], until: float) -> Iterator[Outcome]:
    """Run jobs one after another until the time is over; what came of each strike."""
    with broker(any(job[0].form == "kafka" for job in jobs)) as servers:
        for job in jobs:
            if time.monotonic() > until:
                break
            with cluster_for(job) as cluster:
                yield from run(job, servers if job[0].form == "kafka" else None, cluster)


SHORT = [
    Strike(step, "worker", "killed", "files", 5, 0 if step != "planning" else 1) for step in STEPS
]
"""One job, one strike at each step."""


def add(path: Path, outcomes: Sequence[Outcome], command: str) -> None:
    """Add runs to a file."""
    runs = json.loads(path.read_text()) if path.exists() else []
    day = datetime.now(UTC).date().isoformat()
    runs.append({"day": day, "command": command, "outcomes": [asdict(each) for each in outcomes]})
    path.write_text(json.dumps(runs, indent=1) + "\n")


def tables(runs: Sequence[Mapping[str, Any]]) -> str:
    """The counts of runs in Markdown."""
    found = [Outcome(**each) for made in runs for each in made["outcomes"]]
    exact: Counter[tuple[str, str, str]] = Counter()
    on_kafka: Counter[tuple[str, str, str]] = Counter()
    other: Counter[tuple[str, str, str]] = Counter()
    for each in found:
        cell = each.step, each.process, each.fault
        (other if each.difference else exact)[cell] += 1
        on_kafka[cell] += not each.difference and each.form == "kafka"

    def text(cell: tuple[str, str, str]) -> str:
        if not exact[cell] and not other[cell]:
            return "-"
        differ = f", {other[cell]} differ" if other[cell] else ""
        return f"{exact[cell]} ({on_kafka[cell]}){differ}"

    heads = [(process, fault) for process in PROCESSES for fault in FAULTS]
    lines = [
        "| step | " + " | ".join(f"{process} {fault}" for process, fault in heads) + " |",
        "|---|" + "---|" * len(heads),
        *(
            f"| {step} | " + " | ".join(text((step, *head)) for head in heads) + " |"
            for step in STEPS
        ),
        "",
        "| what else happened | runs |",
        "|---|---|",
        *(
            f"| {step}: {process} {fault} | {text((step, process, fault))} |"
            for step, process, fault in OTHERS
        ),
        "",
        f"{exact.total()} strikes with exact results, {other.total()} without. Commands:",
        "",
        *(f"- {made['day']}: `{made['command']}`" for made in runs),
    ]
    return "\n".join(lines)


def in_docs(text: str) -> str:
    """The page with the tables of ``RUNS``."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    made = tables(json.loads(RUNS.read_text()))
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{after}"


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    asked.add_argument("--seeds", type=int, default=3, help="how often each cell")
    asked.add_argument("--only", metavar="STEP[/PROCESS[/FAULT]]")
    asked.add_argument("--form", choices=["files", "kafka"])
    asked.add_argument("--together", action="store_true", help="one job for all steps")
    asked.add_argument("--short", action="store_true", help="one job, one strike at each step")
    asked.add_argument("--seconds", type=float, default=6 * 3600.0, help="begin no job after it")
    asked.add_argument("--json", type=Path, help="add the runs to this file")
    asked.add_argument("--docs", action="store_true", help="write the tables of the docs, no more")
    given = asked.parse_args()
    if given.docs:
        DOCS.write_text(in_docs(DOCS.read_text()))
        return 0
    print(f"seed {given.seed}", flush=True)
    strikes = planned(given.seed, given.seeds, given.only)
    if given.form:
        strikes = [strike for strike in strikes if strike.form == given.form]
    jobs = [SHORT] if given.short else grouped(strikes, given.together)
    arguments = [each for each in sys.argv[1:] if not each.startswith("--json")]
    command = " ".join(["python -m tests.proof.fault_table", *arguments])
    if "--seed" not in arguments and not given.short:
        command += f" --seed {given.seed}"
    outcomes: list[Outcome] = []
    for outcome in run_all(jobs, time.monotonic() + given.seconds):
        outcomes.append(outcome)
        print(outcome.line, flush=True)
    if given.json:
        add(given.json, outcomes, command)
    print(tables([{"day": "now", "command": command, "outcomes": map(asdict, outcomes)}]))
    return 0 if outcomes and not any(each.difference for each in outcomes) else 1


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sys.exit(main())

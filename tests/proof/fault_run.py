"""A job of ``fault_table`` from its first start to its end, under strikes."""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path

from confluent_kafka import Producer

from headrace.runners.processes import Process as KnownProcess
from headrace.runners.processes import this_machine
from headrace.runners.savepoint_folders import is_savepoint
from headrace.runners.spark.checkpoint import requests
from headrace.runners.spark.checkpoint.layout import CheckpointFolder
from headrace.runners.spark.checkpoint.requests import RequestKind, new_request
from tests.cluster.standalone import Cluster
from tests.connectors.topic import new_topic
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
from tests.proof.fault_job import NAME, PER_BATCH, SINKS, SPLITS, records
from tests.proof.fault_plan import Outcome, Strike
from tests.proof.fault_results import Written, difference_after_savepoint

JOB = "tests.proof.fault_job"


STOPPED_S = 12.0
"""How long a process is stopped: longer than each timeout below, and than a lease (10 s)."""
TIMEOUTS = {
    "headrace.spark.conf.spark.network.timeout": "6s",
    "headrace.spark.conf.spark.network.timeoutInterval": "1s",
    "headrace.spark.conf.spark.executor.heartbeatInterval": "1s",
}
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


@dataclass
class Run:
    """A job from its first start to its end, under strikes.

    ``before``: a command that runs the next driver. ``what``: a note about a strike.
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
        self.job: subprocess.Popen[bytes]
        self.until = time.monotonic() + JOB_S + STRIKE_S * len(self.strikes)
        self.seen: dict[int, KnownProcess] = {}
        self.workers: set[int] = set()
        self.place: dict[str, str] = {}
        self._stack = ExitStack()
        self._signals = CheckpointFolder.of_job(str(self.folder / "checkpoint"), NAME).signals

    @property
    def checkpoint(self) -> Path:
        """The folder of the job's checkpoint."""
        return self.folder / "checkpoint" / NAME

    @property
    def given(self) -> list[str]:
        """All lines of the input."""
        return [line for split in self.lines for line in split]

    @property
    def written(self) -> Written:
        """What the job has written."""
        return Written(self.folder, self.place)

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
        workers = {each.pid for each in python_workers(self.job.pid)}
        self.workers |= workers & self.seen.keys()

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
            requests.ask(self._signals, new_request(RequestKind.SAVEPOINT, target))
        elif strike.step == "rescale":
            request = new_request(RequestKind.RESCALE, parallelism=3)
            requests.ask(self._signals, request)

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
            # If their fork server was killed, workers do not descend from the driver any more.
            machine = this_machine()
            found = [pid for pid in sorted(self.workers) if machine.is_running(self.seen[pid])]
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
        moment = strike.moment
        (self.folder / f"armed-{moment}").touch()
        self.wait(lambda: self._held(moment) is not None)
        self.note_processes()
        starts = self.starts
        self.wait(self.more_batches(1))
        if self.starts > starts:
            raise Fault("the job ended while a task was slow")
        self._release()

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
        """What is wrong after the end of the job; nothing, if nothing is."""
        found = self.written.difference(self.given)
        if not found and any(strike.step == "savepoint" for strike in self.strikes):
            found = self._difference_after_savepoint()
        if not found and (left := self.left(ENDS_S)):
            found = f"{len(left)} processes are left"
        return found

    def _difference_after_savepoint(self) -> str:
        """Run another job from the savepoint, if it was completed; to topics it would add."""
        found = [str(path) for path in (self.folder / "saved").glob("*") if is_savepoint(str(path))]
        if not found or self.servers is not None:
            return ""
        strike = next(strike for strike in self.strikes if strike.step == "savepoint")
        self.what[strike] = "a job went on from the savepoint"
        for name in ("out", "checkpoint"):
            (self.folder / name).rename(self.folder / f"{name}-before")
        self.before = ()
        self.job = start(JOB, str(self.folder), f"execution.state-recovery.path={found[0]}")
        if self.job.wait(JOB_S) != 0:
            return f"no job goes on from the savepoint: {self.log[-2_000:]}"
        return difference_after_savepoint(self.written, self.given)

    def to_its_end(self) -> None:
        """Wait until the job has ended by itself."""
        while self.supervise():
            time.sleep(LOOK_S)

    def close(self) -> None:
        """End all processes of the job that are left."""
        if self.starts and self.job.poll() is None:
            self.note_processes()
            kill(self.job.pid)
            self.job.wait()
        for pid in self.left(0.0):
            kill(pid)
        self._stack.close()


def _number(path: Path) -> tuple[int, str]:
    """The number that a file's name begins with; -1 for none."""
    digits = re.match("[0-9]+", path.name)
    return (int(digits[0]) if digits else -1), str(path)


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

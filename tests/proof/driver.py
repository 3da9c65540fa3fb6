"""A driver: it gives the tasks of micro-batches to workers, and runs again what was killed.

It does what Spark does: a task that failed is run again by another worker; a driver that is killed
takes its workers along, and the next one begins with the micro-batch that was not noted as done.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from tests.proof.worker import PARTITIONS, PASSING, STARTING, Place, Task, work

BATCHES = 3
ATTEMPTS = 8
ANSWER_S = 300.0
"""A worker waits for the broker at several steps of a task, a minute at each."""
TIMEOUT_MS = 1500

_LOOK_S = 1.0
"""So often a driver that waits looks whether there is a broker."""

ANY = "at any time"
UNNOTED = "before the micro-batch is noted"

_context: Any = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["__main__", "tests.proof.worker", "confluent_kafka"])


class Failed(Exception):
    """A task failed too often."""


class BrokerLost(Exception):
    """A broker that was killed did not come up again: no job can go on."""


class Broker(Protocol):
    """What a driver sees of the broker."""

    def kill(self, go: Callable[[], None]) -> None:
        """kill -9, and start it again; ``go`` lets the worker that waits go on.

        Raises:
            BrokerLost: it did not come up again.
        """

    def check(self) -> None:
        """Raise ``BrokerLost`` if it did not come up again, whoever killed it."""


@dataclass(frozen=True)
class Strike:
    """What is done, when, and in which micro-batch at the earliest."""

    what: str
    moment: str
    batch: int


@dataclass
class Worker:
    process: Any
    orders: Connection

    @classmethod
    def start(cls, place: Place) -> Worker:
        ours, theirs = _context.Pipe()
        process = _context.Process(target=work, args=(theirs, place), daemon=True)
        process.start()
        theirs.close()
        return cls(process, ours)

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.join()
        self.orders.close()


@dataclass
class Driver:
    """Runs micro-batches. ``struck`` is how often the strike was carried out."""

    place: Place
    chance: random.Random
    strike: Strike | None
    broker: Broker
    struck: int = 0
    noted: int = 0
    failures: list[str] = field(default_factory=list)
    workers: list[Worker] = field(default_factory=list)
    _open: dict[Connection, tuple[Worker, Task]] = field(default_factory=dict)

    def run(self) -> None:
        """Run what is not noted as done.

        Raises:
            Failed: a task failed too often.
            BrokerLost: there is no broker.
        """
        try:
            while self.noted < BATCHES:
                if self._micro_batch(self.noted) and not self._dies_unnoted():
                    self.noted += 1
        finally:
            self.end()

    def end(self) -> None:
        """kill -9 of all workers: what the end of a driver does."""
        for worker in self.workers:
            worker.kill()
        self.workers.clear()
        self._open.clear()

    def _due(self) -> Strike | None:
        due = self.strike if not self.struck else None
        return due if due is not None and due.batch <= self.noted else None

    def _dies_unnoted(self) -> bool:
        due = self._due()
        if due is None or due.moment != UNNOTED:
            return False
        self.struck += 1
        self.end()
        return True

    def _micro_batch(self, batch: int) -> bool:
        """Whether all its tasks are through; False if the driver was killed."""
        while len(self.workers) < PARTITIONS:
            self.workers.append(Worker.start(self.place))
        self.chance.shuffle(self.workers)
        due, victim = self._due(), self.chance.randrange(PARTITIONS)
        moment = due.moment if due is not None and due.moment not in (ANY, UNNOTED) else None
        for partition in range(PARTITIONS):
            task = Task(batch, partition, 0, moment if partition == victim else None)
            self._give(self.workers[partition], task)
        if due is not None and due.moment == ANY:
            time.sleep(self.chance.random() * (1.0 if batch == 0 else 0.05))
            if not self._strike(due, *self._open[self.workers[victim].orders]):
                return False
        return self._all_answers()

    def _all_answers(self) -> bool:
        while self._open:
            for orders in self._ready():
                if orders in self._open and not self._answer(orders):
                    return False
        return True

    def _ready(self) -> list[Any]:
        """Those that have answered, one at least."""
        until = time.monotonic() + ANSWER_S
        while not (ready := wait([*self._open], _LOOK_S)):
            self.broker.check()
            if time.monotonic() > until:
                self._tell()
                raise AssertionError(f"no answer of a writer of {self.place.topic}")
        return ready

    def _tell(self) -> None:
        """Let the workers that owe an answer print where they are."""
        for worker, task in self._open.values():
            print(f"  {self.place.topic}, {self.strike}: {task} in process {worker.process.pid}")
            os.kill(worker.process.pid, signal.SIGUSR1)
        time.sleep(_LOOK_S)

    def _answer(self, orders: Any) -> bool:
        """Take one answer; False if the driver was killed."""
        worker, task = self._open[orders]
        word, text = orders.recv()
        if word == "at":
            assert self.strike is not None
            return self._strike(self.strike, worker, task)
        del self._open[orders]
        if word == "failed":
            self.failures.append(text)
            self._again(worker, task)
        return True

    def _again(self, worker: Worker, task: Task) -> None:
        if task.attempt + 1 >= ATTEMPTS:
            raise Failed(self.failures[-1])
        self._give(worker, Task(task.batch, task.partition, task.attempt + 1))

    def _give(self, worker: Worker, task: Task) -> None:
        worker.orders.send(task)
        self._open[worker.orders] = worker, task

    def _strike(self, strike: Strike, worker: Worker, task: Task) -> bool:
        """Carry it out; False if the driver was killed."""
        self.struck += 1
        if strike.moment in PASSING:
            time.sleep(self.chance.random() * (0.02 if strike.moment == STARTING else 0.006))
        go = self._go_of(worker, strike)
        if strike.what == "driver":
            self.end()
            return False
        if strike.what == "worker":
            self._replace(worker, task)
        elif strike.what == "broker":
            self.broker.kill(go)
        elif strike.what == "zombie":
            self._run_elsewhere(task)
            go()
        elif strike.what == "open too long":
            time.sleep(TIMEOUT_MS / 1000 * 2)
            go()
        return True

    def _go_of(self, worker: Worker, strike: Strike) -> Callable[[], None]:
        """Let a worker that waits go on."""
        waits = strike.moment not in (*PASSING, ANY)
        return lambda: worker.orders.send("go") if waits else None

    def _replace(self, worker: Worker, task: Task) -> None:
        del self._open[worker.orders]
        worker.kill()
        self.workers.remove(worker)
        self.workers.append(Worker.start(self.place))
        self._again(self.workers[-1], task)

    def _run_elsewhere(self, task: Task) -> None:
        """Run a task by another worker to its end, while its first worker waits."""
        other = Worker.start(self.place)
        other.orders.send(Task(task.batch, task.partition, task.attempt + 1))
        assert other.orders.poll(ANSWER_S) and other.orders.recv()[0] == "done"
        other.kill()

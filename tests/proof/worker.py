"""A worker of the Kafka sink, as a process that can be stopped at a named moment of a task."""

from __future__ import annotations

import faulthandler
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from headrace.connector import WorkerResources, WriterContext
from headrace.datastream.connectors._kafka.client.properties import Properties
from headrace.datastream.connectors._kafka.sink.producers import LibrdkafkaProducers
from headrace.errors import JobError
from headrace.testing._writers import writer_of
from tests.connectors.killed_writer import sink_to

STARTING = "while a predecessor is fenced"
STARTED = "before the transaction"
BEGUN = "before produce"
HALF = "half of the records sent"
FLUSHED = "between flush and commit"
COMMITTING = "during the commit"
COMMITTED = "after commit"

MOMENTS = (STARTING, STARTED, BEGUN, HALF, FLUSHED, COMMITTING, COMMITTED)
PASSING = (STARTING, COMMITTING)
"""At these the worker does not wait: it is killed while a request is under way."""

PARTITIONS = 2
RECORDS = 40


class Place(NamedTuple):
    """Where a worker writes to."""

    servers: str
    topic: str
    sink: str
    properties: Mapping[str, str]


class Task(NamedTuple):
    """One task of a micro-batch. ``moment``: where its worker reports it, and waits."""

    batch: int
    partition: int
    attempt: int
    moment: str | None = None

    @property
    def values(self) -> list[str]:
        """Its records: a key is with one task."""
        letters = "ace" if self.partition == 0 else "bdf"
        first = self.batch * RECORDS
        return [f"{letters[n % 3]}{n}" for n in range(first, first + RECORDS)]


def work(orders: Connection, place: Place) -> None:
    """Do tasks until the orders end; answer each with "done", or "failed" and a reason."""
    faulthandler.register(signal.SIGUSR1)
    stop = Stop(orders)
    made = sink_to(
        place.servers,
        place.topic,
        transactional_id_prefix=place.sink,
        properties=place.properties,
        unreachable_timeout=60_000,
        producers=StoppedProducers(place.servers, Properties.of(place.properties), stop),
    )
    worker = WorkerResources()
    while True:
        try:
            task: Task = orders.recv()
        except EOFError:
            return
        stop.moment = task.moment
        where = (place.sink, "proof", task.batch, task.partition, str(task.attempt), PARTITIONS)
        writer = writer_of(made, WriterContext(*where, worker))
        try:
            for at in range(0, RECORDS, 10):
                writer.write(task.values[at : at + 10], [None] * 10)
            writer.prepare_commit()
        except JobError as error:
            writer.abort()
            orders.send(("failed", error.message))
        else:
            orders.send(("done", ""))


@dataclass
class Stop:
    """The moment at which the worker reports that it is there."""

    orders: Connection
    moment: str | None = None

    def at(self, moment: str) -> None:
        """Tell, and wait for a word, if this is the moment."""
        if moment == self.moment:
            self.moment = None
            self.orders.send(("at", moment))
            if moment not in PASSING:
                self.orders.recv()


@dataclass(frozen=True)
class StoppedProducers(LibrdkafkaProducers):
    stop: Stop

    def producer(
        self,
        settings: Mapping[str, str],
        on_delivery: Callable[[Any, Any], None],
        on_error: Callable[[Any], None],
    ) -> Any:
        return StoppedProducer(super().producer(settings, on_delivery, on_error), self.stop)


@dataclass
class StoppedProducer:
    """confluent-kafka's producer that stops at the moment which is asked for."""

    client: Any
    stop: Stop
    sent: int = 0

    def init_transactions(self, timeout: float) -> None:
        self.stop.at(STARTING)
        self.client.init_transactions(timeout)
        self.stop.at(STARTED)

    def send_offsets_to_transaction(self, *given: Any) -> None:
        self.client.send_offsets_to_transaction(*given)
        self.sent = 0
        self.stop.at(BEGUN)

    def produce(self, *given: Any, **more: Any) -> None:
        self.client.produce(*given, **more)
        self.sent += 1
        if self.sent == RECORDS // 2 and self.stop.moment == HALF:
            self.client.flush(30)
            self.stop.at(HALF)

    def commit_transaction(self, timeout: float) -> None:
        if self.stop.moment in (FLUSHED, COMMITTING):
            self.client.flush(30)
        self.stop.at(FLUSHED)
        self.stop.at(COMMITTING)
        self.client.commit_transaction(timeout)
        self.stop.at(COMMITTED)

    def __len__(self) -> int:
        return len(self.client)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

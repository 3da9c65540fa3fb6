"""``make proof-kafka``: kill -9 at each moment of a Kafka transaction, against a real broker.

A run is a job of its own: a topic, a sink, three micro-batches of two tasks. It is struck once, run
again as Spark would, and read to the end: each record once, in order per key, read committed, and
no transaction left open. ``--seed`` plans the same runs again. ``--only`` takes one kind of them.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from headrace.dev import kafka
from headrace.errors import JobError
from tests.connectors.topic import content, new_topic
from tests.proof.driver import (
    ANY,
    BATCHES,
    TIMEOUT_MS,
    UNNOTED,
    Broker,
    BrokerLost,
    Driver,
    Failed,
    Strike,
)
from tests.proof.worker import (
    BEGUN,
    COMMITTED,
    FLUSHED,
    HALF,
    MOMENTS,
    PARTITIONS,
    STARTED,
    STARTING,
    Place,
    Task,
)
from tests.servers import Server

LOT = 24
AT_ONCE = 8
LOT_OF_BROKER = 8
AT_ONCE_WITH_BROKER = 4
"""A kill of the broker meets all jobs: the fewer there are, the sooner each goes on."""
START_S = 180.0
_BROKER = "transaction.abort.timed.out.transaction.cleanup.interval.ms=500"
_AT_WORK = tuple(moment for moment in MOMENTS if moment not in (STARTING, STARTED))

KINDS: dict[str, tuple[Sequence[str], int]] = {
    "worker": ((*MOMENTS, ANY), 9),
    "driver": ((*MOMENTS, UNNOTED, ANY), 8),
    "zombie": ((BEGUN, HALF, FLUSHED, COMMITTED), 4),
    "two drivers": ((ANY,), 20),
    "open too long": ((BEGUN, HALF, FLUSHED), 5),
    "broker": ((*_AT_WORK, ANY), 4),
}
"""For each kind of strike: its moments, and how often each."""


@dataclass
class KilledBroker:
    """The broker that all jobs of a proof write to.

    ``restarts_s``: how long each start took after a kill. ``lost``: why it did not come up again.
    """

    server: Server
    chance: random.Random
    restarts_s: list[float] = field(default_factory=list)
    lost: str = ""

    def __post_init__(self) -> None:
        self._one_at_a_time = threading.Lock()

    def kill(self, go: Callable[[], None]) -> None:
        """kill -9, and start it over the same logs; a worker goes on before that, or after."""
        with self._one_at_a_time:
            self.check()
            self.server.kill()
            early = self.chance.random() < 0.5
            if early:
                go()
            began = time.monotonic()
            try:
                self.server.running = self.server.service.start(START_S)
            except JobError as error:
                self.lost = f"after kill {len(self.restarts_s) + 1} the broker is gone: {error}"
                self.check()
            self.restarts_s.append(time.monotonic() - began)
        if not early:
            go()

    def check(self) -> None:
        """Raise ``BrokerLost`` if it did not come up again, whoever killed it."""
        if self.lost:
            raise BrokerLost(self.lost)


def planned(seed: int, share: float, only: str | None) -> dict[str, list[Strike]]:
    """The strikes of a seed, by kind. ``share``: what part of them, at least one each."""
    found: dict[str, list[Strike]] = {}
    for kind, (moments, each) in KINDS.items():
        chance = random.Random(f"{seed} {kind}")
        strikes = [
            Strike(kind, moment, 0 if moment in (STARTING, STARTED) else chance.randrange(BATCHES))
            for moment in moments
            for _ in range(max(round(each * share), 1))
        ]
        chance.shuffle(strikes)
        if only in (None, kind):
            found[kind] = strikes
    return found


def run(servers: str, broker: Broker, strike: Strike, topic: str, seed: int) -> Driver:
    """One job to its end; gives the driver that was struck."""
    open_too_long = strike.what == "open too long"
    properties = {"log_level": "0"}  # it logs each worker that was fenced
    if open_too_long:
        properties["transaction.timeout.ms"] = str(TIMEOUT_MS)
    place = Place(servers, topic, f"sink-{topic}", properties)
    chances = [random.Random(f"{seed} {strike} {number}") for number in range(3)]
    if strike.what != "two drivers":
        driver = Driver(place, chances[0], strike, broker)
        driver.run()
        return driver
    killed = Driver(place, chances[0], Strike("driver", ANY, strike.batch), broker)
    other = Driver(place, chances[1], None, broker)
    thread = threading.Thread(target=_until_it_fails, args=(other,))
    thread.start()
    _until_it_fails(killed)
    thread.join()
    last = Driver(place, chances[2], None, broker, noted=min(killed.noted, other.noted))
    last.run()
    killed.failures += other.failures
    return killed


def _until_it_fails(driver: Driver) -> None:
    try:
        driver.run()
    except Failed:
        print(f"  one of two drivers gave up: {driver.failures[-1]:.60}")


def fault_of(servers: str, topic: str) -> str:
    """What is wrong with a topic after its job; nothing, if nothing is."""
    expected = Counter(
        value
        for batch in range(BATCHES)
        for partition in range(PARTITIONS)
        for value in Task(batch, partition, 0).values
    )
    written = [message.value().decode() for message in content(servers, topic)]
    found = Counter(written)
    if found != expected:
        return f"lost: {[*(expected - found)][:5]}, doubled: {[*(found - expected)][:5]}"
    for key in "abcdef":
        numbers = [int(value[1:]) for value in written if value[0] == key]
        if numbers != sorted(numbers):
            return f"key {key} is out of order: {numbers}"
    return open_transaction(servers, topic)


def open_transaction(servers: str, topic: str) -> str:
    """That a transaction is open in a topic of three partitions; nothing, if none is."""
    with AdminClient({"bootstrap.servers": servers}) as admin:
        stable, end = (_ends(admin, topic, level) for level in IsolationLevel)
    return "" if stable == end else f"a transaction is open: {stable}, {end}"


def _ends(admin: Any, topic: str, level: IsolationLevel) -> dict[int, int]:
    latest: Any = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    asked = {TopicPartition(topic, partition): latest for partition in range(3)}
    answers = admin.list_offsets(asked, isolation_level=level, request_timeout=30)
    return {place.partition: answer.result().offset for place, answer in answers.items()}


@dataclass
class Outcome:
    """What came of a kind of strikes."""

    runs: Counter[str]
    missed: int
    faults: list[str]
    failures: Counter[str]


def prove(broker: KilledBroker, strikes: Sequence[Strike], seed: int, until: float) -> Outcome:
    """Run jobs in lots, some at once, until all are done or the time is over."""
    of_broker = strikes[0].what == "broker"
    size, at_once = (LOT_OF_BROKER, AT_ONCE_WITH_BROKER) if of_broker else (LOT, AT_ONCE)
    outcome = Outcome(Counter(), 0, [], Counter())
    url = broker.server.url
    for first in range(0, len(strikes), size):
        lot = strikes[first : first + size]
        if time.monotonic() > until:
            break
        topics = [new_topic(url, 3) for _ in lot]
        with ThreadPoolExecutor(at_once) as pool:
            seeds = [seed * 1000 + number for number in range(first, first + len(lot))]
            drivers = [*pool.map(partial(run, url, broker), lot, topics, seeds)]
            faults = [*pool.map(partial(fault_of, url), topics)]
        for strike, driver, fault in zip(lot, drivers, faults, strict=True):
            outcome.failures.update(driver.failures)
            if not driver.struck:
                outcome.missed += 1
            else:
                outcome.runs[strike.moment] += 1
            if fault:
                outcome.faults.append(f"{strike}: {fault}")
        print(f"  {first + len(lot)} of {len(strikes)}: {outcome.faults or 'good'}", flush=True)
        with AdminClient({"bootstrap.servers": url}) as admin:
            for deleted in admin.delete_topics(topics).values():
                deleted.result()
    return outcome


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    asked.add_argument("--share", type=float, default=1.0, help="2 makes twice as many runs")
    asked.add_argument("--seconds", type=float, default=3600.0)
    asked.add_argument("--only", choices=[*KINDS])
    given = asked.parse_args()
    print(f"seed {given.seed}", flush=True)
    until, began = time.monotonic() + given.seconds, time.monotonic()
    runs, faults = 0, []
    with tempfile.TemporaryDirectory(prefix="headrace-proof-") as folder:
        server = Server(kafka.kafka(Path(folder), 0, memory="768m", more=_BROKER))
        broker = KilledBroker(server, random.Random(given.seed))
        server.start()
        try:
            for kind, strikes in planned(given.seed, given.share, given.only).items():
                outcome = prove(broker, strikes, given.seed, until)
                runs += outcome.runs.total()
                faults += outcome.faults
                print(f"{kind}: {outcome.runs.total()} runs, {outcome.missed} not struck")
                for moment, count in outcome.runs.items():
                    print(f"  {count:4} {moment}")
                for failure, count in outcome.failures.items():
                    print(f"  told {count} times: {failure}", flush=True)
        except BrokerLost as lost:
            faults.append(str(lost))
        finally:
            server.kill()
    seconds = time.monotonic() - began
    kills = broker.restarts_s
    print(f"{runs} runs, {len(kills)} kills of the broker, {seconds:.0f} s: {len(faults)} faults")
    if kills:
        print(f"the broker was back after {min(kills):.1f} to {max(kills):.1f} s")
    print(*faults, sep="\n")
    return 0 if runs and not faults else 1  # nothing was shown where nothing was struck


if __name__ == "__main__":
    sys.exit(main())

"""The broker and the Redis of the benchmark, and what is in them."""

from __future__ import annotations

import contextlib
import fcntl
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import redis

from bench import processes
from bench.ysb import tallies
from bench.ysb.asked import RESULTS
from bench.ysb.events import (
    LIVE_TAIL_MS,
    PAST_MS,
    WINDOW_MS,
    Events,
    Tally,
    campaigns,
    prelude,
)
from bench.ysb.feed import PARTITIONS, Topic, into_all
from headrace.dev import servers, topics

_FILL_LIMIT_S = 1_800
_SOON_MS = 2_000
_DOWN = "redis is not installed here: the benchmark needs redis-server"


@dataclass(frozen=True)
class Input:
    """A topic, what its events are, and what the job must count in them."""

    topic: str
    events: Events
    count: int
    tally_file: Path
    checked_from_ms: int = 0
    """Windows that begin earlier are not checked: live, contenders get warm."""
    live_tail_ms: int | None = None
    """Of events that happen live."""

    @property
    def tail_ms(self) -> int:
        """The event time after which nothing is checked."""
        return self.live_tail_ms or self.events.tail_ms(self.count)

    @property
    def tally(self) -> Tally:
        """The generator's own, once it has ended; of the windows that are checked."""
        counted = tallies.load(self.tally_file).items()
        return Tally({place: views for place, views in counted if place[1] >= self.checked_from_ms})

    def checked(self, results: list[tallies.Result]) -> list[tallies.Result]:
        """Those that are checked."""
        return [each for each in results if each.window_ms >= self.checked_from_ms]

    def feed(self, brokers: str) -> list[str]:
        """The arguments of the process that fills the topic."""
        events = [f"--start={self.events.start_ms}", f"--per-second={self.events.per_second}"]
        where = [brokers, self.topic, str(self.count), str(self.tally_file)]
        return [
            *where,
            *events,
            f"--tail={self.tail_ms}",
            *(["--live"] if self.live_tail_ms else []),
        ]


@dataclass(frozen=True)
class Servers:
    """Where they are. Everything in this Redis and this Kafka belongs to the benchmark."""

    brokers: str
    redis_url: str
    folder: Path

    def emptied(self) -> Any:
        """A client of a Redis that holds the campaigns and nothing else."""
        client = redis.Redis.from_url(self.redis_url)
        client.flushall()
        client.mset(campaigns())
        return client

    def filled(self, count: int, per_second: int) -> Input:
        """Events that were made beforehand; a topic stays while the servers run.

        Raises:
            RuntimeError: it could not be filled.
        """
        events = Events(PAST_MS, per_second)
        found = self._input(f"ysb-{count}-{per_second}", events, count)
        if not found.tally_file.exists():
            self._new(found.topic)
            run = processes.run(
                sys.executable, "bench.ysb.feed", found.feed(self.brokers), _FILL_LIMIT_S
            )
            if not found.tally_file.exists():
                raise RuntimeError(f"the topic could not be filled: {run.failure}")
        return found

    def begun(self) -> tuple[str, int]:
        """The name of a new topic that holds the prelude alone, and when its tail will be."""
        begun_ms = int(time.time() * 1000)
        name = f"ysb-live-{begun_ms}"
        self._new(name)
        topic = Topic(self.brokers, name)
        into_all(topic, prelude())
        topic.close()
        return name, begun_ms + LIVE_TAIL_MS

    def to_come(self, topic: str, tail_ms: int, rate: int, seconds: int, warm_up_s: int) -> Input:
        """Events that happen from a whole window on, which begins soon."""
        start_ms = -int(-(time.time() * 1000 + _SOON_MS) // WINDOW_MS) * WINDOW_MS
        found = self._input(topic, Events(start_ms, rate), rate * seconds)
        return replace(found, checked_from_ms=start_ms + 1000 * warm_up_s, live_tail_ms=tail_ms)

    def gone(self, topic: str) -> None:
        """Delete a topic."""
        topics.delete(self.brokers, topic)

    def _input(self, topic: str, events: Events, count: int) -> Input:
        return Input(topic, events, count, self.folder / f"{topic}.json")

    def _new(self, topic: str) -> None:
        if topic in {facts.name for facts in topics.list_topics(self.brokers)}:
            topics.delete(self.brokers, topic)
        topics.create(self.brokers, topic, PARTITIONS)


def results_in(client: Any) -> list[tallies.Result]:
    """What is in the stream of results."""
    return [
        tallies.Result(
            fields[b"campaign"].decode(),
            int(fields[b"window"]),
            int(fields[b"views"]),
            int(entry.partition(b"-")[0]),
        )
        for entry, fields in client.xrange(RESULTS)
    ]


@contextlib.contextmanager
def brought_up() -> Iterator[Servers]:
    """Broker and Redis on free ports, below ``build``; taken down and wiped at the end.

    Raises:
        JobError: one does not start.
        RuntimeError: there is no Redis, or another run of this checkout is under way.
    """
    folder = processes.scratch() / "ysb"
    with _alone(processes.scratch() / "ysb.lock"):
        servers.down(folder, wipe=True)  # what a run left behind that was killed
        try:
            up = servers.up(folder, ["kafka", "redis"], {"kafka": 0, "redis": 0})
            broker, cache = up["kafka"], up["redis"]
            if broker is None or cache is None:
                raise RuntimeError(_DOWN)
            yield Servers(broker.url, cache.url, folder)
        finally:
            servers.down(folder, wipe=True)


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold a lock; two runs would take down each other's servers, and their figures."""
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RuntimeError(f"another run is under way: it holds {path}") from None
        yield

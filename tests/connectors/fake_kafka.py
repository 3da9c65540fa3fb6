"""A Kafka in memory: logs with gaps, topics that come and go, brokers that fall silent."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from headrace.datastream.connectors._kafka.client.consumer import (
    Fetched,
    OffsetGone,
    Topic,
    TopicPartition,
    Unreachable,
)

_ids = itertools.count(1)


class Message(NamedTuple):
    """A message with confluent-kafka's methods."""

    at: int
    content: bytes | None
    time_ms: int = 1000
    name: bytes | None = None
    more: tuple[tuple[str, bytes | None], ...] = ()

    def offset(self) -> int:
        return self.at

    def value(self) -> bytes | None:
        return self.content

    def key(self) -> bytes | None:
        return self.name

    def timestamp(self) -> tuple[int, int]:
        return (1, self.time_ms)

    def headers(self) -> Sequence[tuple[str, bytes | None]] | None:
        return [*self.more] or None


@dataclass
class Log:
    """A partition: messages in order, with gaps; ``end`` may be after a gap."""

    messages: list[Message] = field(default_factory=list)
    first: int = 0
    end: int = 0

    def add(self, *values: bytes | None, gap: int = 0, **more: Any) -> Log:
        """Append values, then a gap."""
        for value in values:
            self.messages.append(Message(self.end, value, **more))
            self.end += 1
        self.end += gap
        return self

    def delete_before(self, offset: int) -> None:
        self.messages = [m for m in self.messages if m.at >= offset]
        self.first = offset


@dataclass
class Broker:
    """The whole cluster. ``opened`` counts consumers, ``fetched`` messages, ``sought`` seeks.

    ``refusals`` answer the commits for groups, one after the other; None: it is done. ``commits``:
    what was asked.

    ``learns``: what happens in the pauses of a client, one after the other. ``paused_s``: how long
    they were in all.
    """

    topics: dict[str, tuple[str, list[Log]]] = field(default_factory=dict)
    groups: dict[tuple[str, TopicPartition], int] = field(default_factory=dict)
    down: bool = False
    leaderless: set[TopicPartition] = field(default_factory=set)
    opened: int = 0
    fetched: int = 0
    sought: int = 0
    learns: list[Callable[[], object]] = field(default_factory=list)
    paused_s: float = 0.0
    refusals: list[str | None] = field(default_factory=list)
    commits: list[Mapping[TopicPartition, int]] = field(default_factory=list)

    def create(self, topic: str, partitions: int = 1) -> list[Log]:
        """A new topic, with an id of its own."""
        logs = [Log() for _ in range(partitions)]
        self.topics[topic] = (f"id{next(_ids)}", logs)
        return logs

    def log(self, topic: str, partition: int) -> Log | None:
        logs = self.topics.get(topic, ("", []))[1]
        return logs[partition] if partition < len(logs) else None


BROKERS: dict[str, Broker] = {}


@dataclass(frozen=True)
class FakeClients:
    """Clients of a broker, which is found by its name: so they can be pickled."""

    name: str

    def cluster(self) -> FakeCluster:
        return FakeCluster(BROKERS[self.name])

    def log(self, topic: str, partition: int) -> FakeLog:
        broker = BROKERS[self.name]
        broker.opened += 1
        return FakeLog(broker, topic, partition)

    def group_commits(self, group: str) -> FakeGroup:
        return FakeGroup(BROKERS[self.name], group)

    def pause(self, seconds: float) -> None:
        broker = BROKERS[self.name]
        broker.paused_s += seconds
        if broker.learns:
            broker.learns.pop(0)()

    def clock_ms(self) -> int:
        return round(BROKERS[self.name].paused_s * 1000)


@dataclass
class FakeCluster:
    broker: Broker

    def _up(self) -> Broker:
        if self.broker.down:
            raise Unreachable("connection refused")
        return self.broker

    def topic_names(self) -> Sequence[str]:
        return sorted(self._up().topics)

    def describe_topics(self, topics: Sequence[str]) -> Mapping[str, Topic]:
        found = self._up().topics
        return {t: Topic(found[t][0], len(found[t][1])) for t in topics if t in found}

    def _each(self, topic_partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Log]:
        logs = {
            topic_partition: self._up().log(*topic_partition)
            for topic_partition in topic_partitions
        }
        served = {topic_partition: log for topic_partition, log in logs.items() if log is not None}
        return {at: log for at, log in served.items() if at not in self.broker.leaderless}

    def earliest_offsets(
        self, topic_partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        return {
            topic_partition: log.first
            for topic_partition, log in self._each(topic_partitions).items()
        }

    def latest_offsets(
        self, topic_partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        return {
            topic_partition: log.end
            for topic_partition, log in self._each(topic_partitions).items()
        }

    def offsets_at_time(
        self, topic_partitions: Iterable[TopicPartition], timestamp_ms: int
    ) -> dict[TopicPartition, int]:
        later = {
            topic_partition: [m.at for m in log.messages if m.time_ms >= timestamp_ms]
            for topic_partition, log in self._each(topic_partitions).items()
        }
        return {
            topic_partition: offsets[0] for topic_partition, offsets in later.items() if offsets
        }

    def committed_offsets(
        self, group: str, topic_partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        groups = self._up().groups
        return {
            topic_partition: groups[group, topic_partition]
            for topic_partition in topic_partitions
            if (group, topic_partition) in groups
        }

    def close(self) -> None:
        pass


@dataclass
class FakeGroup:
    """A group's commits, answered at once: with what ``refusals`` has next, if it has some.

    Those of a broker that is down are answered when it is back.
    """

    broker: Broker
    group: str
    waiting: list[Mapping[TopicPartition, int]] = field(default_factory=list)

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.waiting.append(offsets)

    def results(self) -> Sequence[str | None]:
        answers: list[str | None] = []
        while self.waiting and not self.broker.down:
            offsets = self.waiting.pop(0)
            answers.append(self.broker.refusals.pop(0) if self.broker.refusals else None)
            self.broker.commits.append(offsets)
            if answers[-1] is None:
                self.broker.groups.update({(self.group, at): to for at, to in offsets.items()})
        return answers

    def close(self) -> None:
        self.results()


@dataclass
class FakeLog:
    broker: Broker
    topic: str
    partition: int
    at: int = -1
    eof_reported_at: int = -1

    def seek(self, offset: int) -> None:
        self.at, self.eof_reported_at = offset, -1
        self.broker.sought += 1

    def fetch(self, most: int, wait_s: float) -> Fetched:
        log = self.broker.log(self.topic, self.partition)
        if self.broker.down:
            return Fetched(())
        if log is None:
            raise OffsetGone("unknown topic", topic_gone=True)
        if not log.first <= self.at <= log.end:
            raise OffsetGone("offset out of range")
        found = [m for m in log.messages if m.at >= self.at][:most]
        self.broker.fetched += len(found)
        if found:
            self.at = found[-1].at + 1
            return Fetched(found)
        self.at = log.end
        if self.eof_reported_at == self.at:
            return Fetched(())  # as librdkafka, which reports an end once
        self.eof_reported_at = self.at
        return Fetched((), self.at)

    def last_error(self) -> str:
        return "connection refused" if self.broker.down else ""

    def close(self) -> None:
        pass

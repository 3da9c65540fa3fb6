"""Kafka's transactions in memory, with producers that behave as librdkafka's do.

``Cluster.meet`` is called before and after each request: a test can kill there, or lose an answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, TopicPartition


class Killed(BaseException):
    """The process is gone: nothing after this line runs."""


def failure(
    code: int, *, fatal: bool = False, retriable: bool = False, abort: bool = False
) -> KafkaException:
    """An exception with librdkafka's flags."""
    return KafkaException(KafkaError(code, None, fatal, retriable, abort))


class Written(NamedTuple):
    """A record as readers of committed records see it."""

    topic: str
    value: bytes | None
    key: bytes | None = None
    partition: int = -1
    timestamp: int = 0
    headers: tuple[tuple[str, Any], ...] = ()


@dataclass
class Open:
    """A transaction that was begun, and what is in it."""

    epoch: int
    records: list[Written] = field(default_factory=list)
    offsets: dict[tuple[str, str, int], int] = field(default_factory=dict)


@dataclass
class Cluster:
    """``epochs`` and ``open`` are by transactional id, ``offsets`` by group, topic, partition."""

    topics: dict[str, int] = field(default_factory=lambda: {"out": 3})
    log: list[Written] = field(default_factory=list)
    epochs: dict[str, int] = field(default_factory=dict)
    open: dict[str, Open] = field(default_factory=dict)
    offsets: dict[tuple[str, str, int], int] = field(default_factory=dict)
    meet: Callable[[str], None] = lambda place: None
    made: list[FakeProducer] = field(default_factory=list)
    largest_bytes: int = 1000
    queue_records: int = 1000
    settings: dict[str, str] = field(default_factory=dict)
    """Those of each topic."""
    refuses: tuple[bytes, int] | None = None
    """A value, and with which code it is not delivered."""
    refuses_batches: bool = False
    """All that was sent with such a value is refused, as real brokers do."""

    @property
    def values(self) -> list[str]:
        return [record.value.decode() for record in self.log if record.value is not None]

    def end(self, name: str, *, commit: bool) -> None:
        done = self.open.pop(name, None)
        if done is not None and commit:
            self.log += done.records
            self.offsets.update(done.offsets)

    def expire(self) -> None:
        """Abort what is open for too long, as coordinators do."""
        for name in [*self.open]:
            self.end(name, commit=False)
            self.epochs[name] += 1


CLUSTERS: dict[str, Cluster] = {}


@dataclass(frozen=True)
class FakeProducers:
    """Producers of a cluster, which is found by its name: so they can be pickled."""

    name: str
    settings: tuple[tuple[str, int], ...] = ()

    def producer(
        self,
        settings: Mapping[str, str],
        on_delivery: Callable[[Any, Any], None],
        on_error: Callable[[Any], None],
    ) -> Any:
        cluster = CLUSTERS[self.name]
        made = FakeProducer(cluster, settings.get("transactional.id"), on_delivery, on_error)
        cluster.made.append(made)
        return made

    def marker(self, group: str, timeout_s: float) -> int:
        cluster = CLUSTERS[self.name]
        cluster.meet("marker")
        if any(at[0] == group for txn in cluster.open.values() for at in txn.offsets):
            raise failure(KafkaError.UNSTABLE_OFFSET_COMMIT)
        found = [to for (of, *_), to in cluster.offsets.items() if of == group]
        return max(found, default=-1)

    def last_marker(self, beginning: str, timeout_s: float) -> int:
        cluster = CLUSTERS[self.name]
        cluster.meet("last_marker")
        own = re.compile(re.escape(beginning) + "[0-9]+")
        found = [to for (of, *_), to in cluster.offsets.items() if own.fullmatch(of)]
        return max(found, default=-1)

    def group_metadata(self, group: str) -> Any:
        return group

    def topic_settings(self, topic: str, timeout_s: float) -> Mapping[str, str]:
        CLUSTERS[self.name].meet("topic_settings")
        return CLUSTERS[self.name].settings

    def setting(self, key: str, otherwise: int) -> int:
        return dict(self.settings).get(key, otherwise)


@dataclass
class FakeProducer:
    cluster: Cluster
    name: str | None
    on_delivery: Callable[[Any, Any], None]
    on_error: Callable[[Any], None]
    epoch: int = -1
    state: str = "new"
    queue: list[Written] = field(default_factory=list)
    reports: list[tuple[Any, Written]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.queue) + len(self.reports)

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> Any:
        self.cluster.meet("list_topics")
        count = self.cluster.topics.get(topic) if topic else None
        error = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART) if count is None else None
        found = SimpleNamespace(error=error, partitions={n: None for n in range(count or 0)})
        return SimpleNamespace(topics={topic: found})

    def init_transactions(self, timeout: float) -> None:
        assert self.name is not None
        assert self.state in ("new", "ready")
        self.cluster.meet("init_transactions")
        self.cluster.end(self.name, commit=False)
        self.epoch = self.cluster.epochs[self.name] = self.cluster.epochs.get(self.name, -1) + 1
        self.state = "ready"
        self.cluster.meet("init_transactions, done")

    def begin_transaction(self) -> None:
        self._not_failed()
        assert self.state == "ready", self.state
        self.state = "open"

    def send_offsets_to_transaction(
        self, offsets: list[TopicPartition], group: str, timeout: float
    ) -> None:
        self._not_failed()
        assert self.state == "open", self.state
        self.cluster.meet("send_offsets_to_transaction")
        for at in offsets:
            assert at.partition < self.cluster.topics[at.topic]
            self._transaction().offsets[group, at.topic, at.partition] = at.offset
        self.cluster.meet("send_offsets_to_transaction, done")

    def produce(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int = -1,
        callback: None = None,
        on_delivery: None = None,
        timestamp: int = 0,
        headers: list[tuple[str, Any]] | None = None,
    ) -> None:
        if not isinstance(partition, int):
            raise TypeError(f"{type(partition).__name__!r} object cannot be an integer")
        if not isinstance(timestamp, int):
            raise TypeError(f"{type(timestamp).__name__!r} object cannot be an integer")
        if any(not isinstance(to, str | bytes | None) for _, to in headers or ()):
            raise TypeError("expected header value to be None, binary, or unicode string")
        if timestamp >= 2**63:
            raise OverflowError("int too big to convert")
        self._not_failed()
        assert self.name is None or self.state == "open", self.state
        if len(value or b"") + len(key or b"") > self.cluster.largest_bytes:
            raise failure(KafkaError.MSG_SIZE_TOO_LARGE)
        if len(self) >= self.cluster.queue_records:
            raise BufferError("Local: Queue full")
        self.cluster.meet("produce")
        record = Written(topic, value, key, partition, timestamp, tuple(headers or ()))
        self.queue.append(record)

    def poll(self, timeout: float) -> int:
        if timeout:
            self._deliver()
        reports, self.reports = self.reports, []
        for error, record in reports:
            self.on_delivery(error, _Message(record))
        if self.state == "fatal" and timeout:
            raise failure(KafkaError._FENCED, fatal=True)  # as confluent-kafka's poll does
        return len(reports)

    def flush(self, timeout: float) -> int:
        self._deliver()
        self.poll(0)
        return len(self)

    def commit_transaction(self, timeout: float) -> None:
        self._not_failed()
        if self.state == "committing":  # asked again after a lost answer
            self.state = "ready"
            return
        assert self.state == "open", self.state
        self.flush(timeout)
        self._not_failed()
        self.cluster.meet("commit_transaction")
        self._transaction()
        assert self.name is not None
        self.cluster.end(self.name, commit=True)
        self.state = "committing"
        self.cluster.meet("commit_transaction, done")
        self.state = "ready"

    def abort_transaction(self, timeout: float) -> None:
        if self.state == "fatal":
            raise failure(KafkaError._FENCED, fatal=True)
        assert self.state in ("open", "failed", "committing"), self.state
        self.cluster.meet("abort_transaction")
        if self.state == "committing":
            raise failure(KafkaError._CONFLICT)
        self._purge()
        assert self.name is not None
        if self.name in self.cluster.open:
            self._transaction()
            self.cluster.end(self.name, commit=False)
        self.state = "ready"

    def purge(self) -> None:
        self._purge()

    def _purge(self) -> None:
        error = KafkaError(KafkaError._PURGE_QUEUE)
        self.reports += [(error, record) for record in self.queue]
        self.queue = []

    def _deliver(self) -> None:
        queue, self.queue = self.queue, []
        refused = self.cluster.refuses
        wrong = [refused is not None and record.value == refused[0] for record in queue]
        if self.cluster.refuses_batches and any(wrong):
            wrong = [True] * len(queue)
        for record, is_wrong in zip(queue, wrong, strict=True):
            if refused is not None and is_wrong:
                self.reports.append((KafkaError(refused[1]), record))
                self.state = "failed" if self.name else self.state
            elif self.name is None:
                self.cluster.meet("deliver")
                self.cluster.log.append(record)
            elif self.state == "open":
                try:
                    self._transaction().records.append(record)
                except KafkaException as error:
                    self.reports.append((error.args[0], record))

    def _transaction(self) -> Open:
        """What the coordinator has open for this producer.

        Raises:
            KafkaException: it was fenced, which is fatal.
        """
        assert self.name is not None
        if self.cluster.epochs[self.name] != self.epoch:
            self.state = "fatal"
            self._not_failed()
        return self.cluster.open.setdefault(self.name, Open(self.epoch))

    def _not_failed(self) -> None:
        if self.state == "fatal":
            raise failure(KafkaError._FENCED, fatal=True)
        if self.state == "failed":
            raise failure(KafkaError._STATE, abort=True)


class _Message:
    def __init__(self, record: Written) -> None:
        self.record = record

    def topic(self) -> str:
        return self.record.topic

    def partition(self) -> int:
        return self.record.partition

    def value(self) -> bytes | None:
        return self.record.value

    def key(self) -> bytes | None:
        return self.record.key

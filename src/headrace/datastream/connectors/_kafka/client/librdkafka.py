"""The clients of confluent-kafka, which is imported when the first one is made."""

from __future__ import annotations

import contextlib
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common._extras import confluent_kafka
from headrace.datastream.connectors._kafka.client.consumer import (
    Cluster,
    Fetched,
    OffsetGone,
    PartitionConsumer,
    Topic,
    TopicPartition,
    Unreachable,
    is_internal_topic,
)
from headrace.datastream.connectors._kafka.client.group_consumer import GroupConsumer
from headrace.datastream.connectors._kafka.client.library import UNKNOWN, make_client
from headrace.datastream.connectors._kafka.client.properties import Properties, resolve_references
from headrace.errors import JobError

ASK_TIMEOUT_S = 10.0

DEFAULTS = {
    "isolation.level": "read_committed",
    # Where a transaction's marker ends a range, the end is known by the answer to an empty fetch.
    "fetch.wait.max.ms": "100",
    # librdkafka waits for a second after its queue was full.
    "fetch.queue.backoff.ms": "5",
    "queued.max.messages.kbytes": "4096",
}

FORCED = {
    "auto.offset.reset": "error",
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
    "enable.partition.eof": "true",
}

# No broker answers, or none is responsible; this may last for a while.
_LATER = (
    *("_TRANSPORT", "_ALL_BROKERS_DOWN", "_TIMED_OUT", "_TIMED_OUT_QUEUE", "_RESOLVE"),
    *("REQUEST_TIMED_OUT", "BROKER_NOT_AVAILABLE", "NETWORK_EXCEPTION"),
    *("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"),
    *("_WAIT_COORD", "UNSTABLE_OFFSET_COMMIT"),
)

# The partition has no leader.
_LEADERLESS = (
    *("LEADER_NOT_AVAILABLE", "NOT_LEADER_FOR_PARTITION", "REPLICA_NOT_AVAILABLE"),
    *("FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "OFFSET_NOT_AVAILABLE"),
    *("KAFKA_STORAGE_ERROR", "_NOENT"),
)


def _find_error_codes(errors: Any, names: Iterable[str]) -> set[int]:
    """Return the codes of the named errors that this version of librdkafka has."""
    return {getattr(errors, name) for name in names if hasattr(errors, name)}


@dataclass(frozen=True)
class LibrdkafkaClients:
    """Makes clients with the same properties."""

    servers: str
    group: str | None
    prefix: str | None
    properties: Properties

    def cluster(self) -> Cluster:
        """Return a client for a ``Cluster``'s questions."""
        return LibrdkafkaCluster(self)

    def log(self, topic: str, partition: int) -> PartitionConsumer:
        """Return a client for one partition."""
        return LibrdkafkaLog(self, topic, partition)

    def group_commits(self, group: str) -> GroupConsumer:
        """Return a client for a group's offsets."""
        return GroupConsumer({**self.consumer(), "group.id": resolve_references("group.id", group)})

    def pause(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def clock_ms(self) -> int:
        """Return the machine's monotonic time."""
        return time.monotonic_ns() // 1_000_000

    def admin(self) -> dict[str, Any]:
        """Return the properties of an ``AdminClient``."""
        return {**self.properties.for_admin(), **self._connection_settings}

    def consumer(self) -> dict[str, Any]:
        """Return the properties of a consumer."""
        group = {"group.id": resolve_references("group.id", self.group or "headrace")}
        given = {**DEFAULTS, **self.properties.for_consumer()}
        return {**given, **FORCED, **self._connection_settings, **group}

    @property
    def isolation(self) -> str:
        """The isolation level of reads."""
        given = self.properties.get("isolation.level") or DEFAULTS["isolation.level"]
        return resolve_references("isolation.level", given)

    @property
    def _connection_settings(self) -> dict[str, str]:
        name = self.properties.get("client.id") or self.prefix or "headrace"
        own = {"bootstrap.servers": self.servers, "client.id": name}
        return {key: resolve_references(key, value) for key, value in own.items()}


_unclosed: list[Any] = []
"""``AdminClient``s that were never closed; the next one that is made closes them.

The garbage collector must not end a client: it may run in the client's own thread, during a
callback, and librdkafka would end the process."""


class _ErrorListener:
    """The last error of a client. It must not refer to its user: the client would keep it alive."""

    text = ""
    refused = False
    unknown_host = False
    """True if no other error was reported: another of the servers may still have an address."""

    def __call__(self, error: Any) -> None:
        if self.text and error.name() == "_ALL_BROKERS_DOWN":
            return  # the reason was reported before
        self.unknown_host = error.name() == "_RESOLVE" and (self.unknown_host or not self.text)
        self.text = str(error.str())
        self.refused = error.name() in ("_AUTHENTICATION", "_SSL")


class LibrdkafkaCluster:
    """A ``Cluster`` that uses an ``AdminClient``."""

    def __init__(self, clients: LibrdkafkaClients) -> None:
        self._kafka = confluent_kafka()
        self._clients = clients
        self._error_listener = _ErrorListener()
        _close_unclosed()
        properties = {**clients.admin(), "error_cb": self._error_listener}
        self._admin = make_client(self._kafka.admin.AdminClient, properties)
        self._unless_closed = weakref.finalize(self, _unclosed.append, self._admin)
        self._unless_closed.atexit = False
        level = clients.isolation.upper()
        self._isolation = self._kafka.IsolationLevel[level]

    @contextlib.contextmanager
    def _converting_errors(self) -> Iterator[None]:
        """Convert the client's exceptions to ``Unreachable`` and ``JobError``."""
        try:
            yield
        except self._kafka.KafkaException as error:
            raise self._job_error(error) from None
        finally:
            self._admin.poll(0)  # runs the callbacks for the client's log

    def _job_error(self, error: Any) -> Exception:
        kafka_error, codes, listener = error.args[0], self._kafka.KafkaError, self._error_listener
        self._admin.poll(0)  # runs the callbacks for errors
        text = listener.text or f"{self._clients.servers}: {kafka_error.str()}"
        if kafka_error.code() in _find_error_codes(codes, (*_LATER, *_LEADERLESS)):
            return Unreachable(text, refused=listener.refused, unknown_host=listener.unknown_host)
        if kafka_error.code() == codes._AUTHENTICATION:
            return Unreachable(text, refused=True)
        return JobError(f"Kafka refuses: {kafka_error.str()}")

    def topic_names(self) -> Sequence[str]:
        """Return the topics' names, sorted."""
        with self._converting_errors():
            topics = self._admin.list_topics(timeout=ASK_TIMEOUT_S).topics
        return sorted(name for name in topics if not is_internal_topic(name))

    def describe_topics(self, topics: Sequence[str]) -> Mapping[str, Topic]:
        """Return the topics that exist."""
        if not topics:
            return {}
        codes = self._kafka.KafkaError
        collection = self._kafka.TopicCollection([*topics])
        found: dict[str, Topic] = {}
        with self._converting_errors():
            answers = self._admin.describe_topics(collection, request_timeout=ASK_TIMEOUT_S)
            for name, answer in answers.items():
                try:
                    topic = answer.result()
                except self._kafka.KafkaException as error:
                    if error.args[0].code() in _find_error_codes(codes, UNKNOWN):
                        continue
                    raise
                found[name] = Topic(_id_text(topic.topic_id), len(topic.partitions))
        return found

    def earliest_offsets(
        self, topic_partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Return the first offsets."""
        return self._list_offsets(topic_partitions, self._kafka.admin.OffsetSpec.earliest())

    def latest_offsets(
        self, topic_partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Return the end offsets."""
        return self._list_offsets(topic_partitions, self._kafka.admin.OffsetSpec.latest())

    def offsets_at_time(
        self, topic_partitions: Iterable[TopicPartition], timestamp_ms: int
    ) -> dict[TopicPartition, int]:
        """Return the first offsets from a time on."""
        found = self._list_offsets(
            topic_partitions, self._kafka.admin.OffsetSpec.for_timestamp(timestamp_ms)
        )
        return {topic_partition: offset for topic_partition, offset in found.items() if offset >= 0}

    def _list_offsets(
        self, topic_partitions: Iterable[TopicPartition], spec: Any
    ) -> dict[TopicPartition, int]:
        wanted = {
            self._kafka.TopicPartition(*topic_partition): spec
            for topic_partition in topic_partitions
        }
        if not wanted:
            return {}
        found: dict[TopicPartition, int] = {}
        silent: Exception | None = None
        with self._converting_errors():
            answers = self._admin.list_offsets(
                wanted, isolation_level=self._isolation, request_timeout=ASK_TIMEOUT_S
            )
        for topic_partition, answer in answers.items():
            try:
                found[topic_partition.topic, topic_partition.partition] = answer.result().offset
            except self._kafka.KafkaException as error:
                absent = (*UNKNOWN, *_LEADERLESS)
                if error.args[0].code() in _find_error_codes(self._kafka.KafkaError, absent):
                    continue
                silent = self._job_error(error)
                if not isinstance(silent, Unreachable):
                    raise silent from None
        if silent is not None and not found:
            raise silent
        return found

    def committed_offsets(
        self, group: str, topic_partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Return a group's committed offsets."""
        consumer = self._clients.group_commits(group)
        try:
            with self._converting_errors():
                return consumer.committed_offsets(topic_partitions, ASK_TIMEOUT_S)
        finally:
            consumer.close()

    def close(self) -> None:
        """Close the client."""
        if self._unless_closed.detach() is not None:
            _close_admin(self._admin)


def _close_admin(client: Any) -> None:
    """Close an ``AdminClient`` in this thread."""
    with client:
        pass


def _close_unclosed() -> None:
    """Close the ``AdminClient``s in ``_unclosed``; another thread may be doing the same."""
    with contextlib.suppress(IndexError):
        while True:
            _close_admin(_unclosed.pop())


def _id_text(topic_id: Any) -> str:
    """Return a topic's id; empty where the broker has none."""
    text = str(topic_id)
    return "" if topic_id is None or set(text) <= {"A", "="} else text


class LibrdkafkaLog:
    """A consumer with one assigned partition: it joins no group, so there is no rebalance."""

    def __init__(self, clients: LibrdkafkaClients, topic: str, partition: int) -> None:
        self._kafka = confluent_kafka()
        self._topic_partition = topic, partition
        self._error_listener = _ErrorListener()
        properties = {**clients.consumer(), "error_cb": self._error_listener}
        self._consumer = make_client(self._kafka.Consumer, properties)

    def last_error(self) -> str:
        """Return the last error of the client's threads."""
        return self._error_listener.text

    def seek(self, offset: int) -> None:
        """Assign the partition again, which drops prefetched messages."""
        self._consumer.assign([self._kafka.TopicPartition(*self._topic_partition, offset)])

    def fetch(self, max_messages: int, wait_s: float) -> Fetched:
        """Wait for one message, and take the others that are there already."""
        first = self._consumer.poll(wait_s)
        if first is None:
            return Fetched(())
        found = [first]
        if max_messages > 1:
            found += self._consumer.consume(max_messages - 1, 0)
        events = [message for message in found if message.error() is not None]
        if not events:
            return Fetched(found)
        reached = None
        for event in events:
            if event.error().code() == self._kafka.KafkaError._PARTITION_EOF:
                reached = event.offset()
            else:
                self._check_event(event)
        return Fetched([message for message in found if message.error() is None], reached)

    def _check_event(self, event: Any) -> None:
        """Raise the error for an event that librdkafka does not recover from by itself.

        Raises:
            OffsetGone: the partition, or the offset in it, does not exist.
            JobError: the error is fatal, or the brokers refuse access.
        """
        error, codes = event.error(), self._kafka.KafkaError
        if error.code() in (codes._AUTO_OFFSET_RESET, codes.OFFSET_OUT_OF_RANGE):
            raise OffsetGone(error.str())
        if error.code() in _find_error_codes(codes, UNKNOWN):
            raise OffsetGone(error.str(), topic_gone=True)
        refused = (codes.TOPIC_AUTHORIZATION_FAILED, codes._AUTHENTICATION)
        if error.fatal() or error.code() in refused:
            topic, partition = self._topic_partition
            raise JobError(
                f"Kafka refuses: {error.str()}",
                where={"topic": topic, "partition": str(partition)},
            )

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()

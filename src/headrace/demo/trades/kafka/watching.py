"""Reads the job's output, like any other reader of committed transactions."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headrace.datastream.connectors._kafka.client.log import ClientLog
from headrace.demo.trades.kafka.records import EVENT_HEADER, KIND_HEADER
from headrace.demo.trades.kafka.topics import OutputTopics
from headrace.errors import JobError

_RECENT_MS = 10_000
_AT_ONCE = 5_000
_ANSWER_S = 30.0


class Latencies:
    """Times from sending an event to receiving its document, in milliseconds."""

    def __init__(self) -> None:
        self._all: list[int] = []
        self._recent: deque[tuple[int, int]] = deque()

    def add(self, seen_ms: int, latency_ms: int) -> None:
        """Add a latency, with the time of the document's arrival."""
        self._all.append(latency_ms)
        self._recent.append((seen_ms, latency_ms))

    def recent(self, now_ms: int) -> list[int]:
        """Return the latencies of the last ten seconds, sorted."""
        while self._recent and self._recent[0][0] < now_ms - _RECENT_MS:
            self._recent.popleft()
        return sorted(latency for _, latency in self._recent)

    def all(self) -> list[int]:
        """Return all latencies, sorted."""
        return sorted(self._all)


def percentile(ordered: Sequence[int], percent: float) -> int | None:
    """Return the smallest value that is not exceeded by this percentage of the values.

    Return None if there are no values.
    """
    if not ordered:
        return None
    return ordered[min(len(ordered) - 1, max(0, -int(-len(ordered) * percent // 100) - 1))]


class Watcher:
    """Reads the topics of one run from their beginning.

    ``sent_ms``: when each event was sent, for the latencies; other events have none.
    """

    def __init__(
        self, servers: str, outputs: OutputTopics, sent_ms: Mapping[str, int] | None = None
    ) -> None:
        self._outputs = outputs
        self._sent_ms = {} if sent_ms is None else sent_ms
        self.latencies = Latencies()
        self.documents = 0
        self.normalised = 0
        self.anomalies: Counter[str] = Counter()
        self._final: dict[bytes, bytes] = {}
        self._consumer = _make_consumer(servers)
        self._topic_partitions = _assign(self._consumer, outputs.topics)
        # Unlike a consumer's position, this one also moves over markers of transactions.
        self._read_to: dict[tuple[str, int], int] = {}
        self._earlier_record_count = 0

    @property
    def has_seen_any(self) -> bool:
        """Whether the job has written anything."""
        return self._record_count > self._earlier_record_count

    @property
    def _record_count(self) -> int:
        return self.normalised + self.documents + self.anomalies.total()

    def catch_up(self) -> None:
        """Read what an earlier run has written, before the job writes more."""
        self.finish()
        self._earlier_record_count = self._record_count

    def poll(self, timeout_s: float) -> int:
        """Read what has arrived; returns the number of records, without markers."""
        messages = self._consumer.consume(_AT_ONCE, timeout_s)
        now_ms = time.time_ns() // 1_000_000
        record_count = 0
        for message in messages:
            if message.error() is not None:
                self._handle_event(message)
            else:
                self._count_message(message, now_ms)
                record_count += 1
        return record_count

    def finish(self) -> None:
        """Read up to the current ends, after the job has ended.

        Raises:
            JobError: no broker answers.
        """
        ends = {
            topic_partition: self._consumer.get_watermark_offsets(
                _to_client_partition(topic_partition), timeout=_ANSWER_S
            )[1]
            for topic_partition in self._topic_partitions
        }
        until = time.monotonic() + _ANSWER_S
        while not self._has_read_to(ends):
            if self.poll(0.2):
                until = time.monotonic() + _ANSWER_S
            elif time.monotonic() > until:
                raise JobError("the job's topics cannot be read to their ends")

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()

    def final_documents(self) -> dict[bytes, bytes]:
        """Return the last document of each root, undecoded."""
        return self._final

    def _has_read_to(self, ends: Mapping[tuple[str, int], int]) -> bool:
        return all(
            self._read_to.get(topic_partition, -1) >= end for topic_partition, end in ends.items()
        )

    def _count_message(self, message: Any, now_ms: int) -> None:
        topic = message.topic()
        if topic == self._outputs.normalised_topic:
            self.normalised += 1
        elif topic == self._outputs.anomalies_topic:
            self.anomalies[_find_header(message, KIND_HEADER)] += 1
        else:
            self.documents += 1
            self._final[message.key()] = message.value()
            sent_ms = self._sent_ms.get(_find_header(message, EVENT_HEADER))
            if sent_ms is not None:
                self.latencies.add(now_ms, now_ms - sent_ms)

    def _handle_event(self, message: Any) -> None:
        from confluent_kafka import KafkaError

        error = message.error()
        if error.code() == KafkaError._PARTITION_EOF:
            self._read_to[message.topic(), message.partition()] = message.offset()
        elif not error.retriable():
            raise JobError(f"the job's topics cannot be read: {error.str()}")


def _find_header(message: Any, name: str) -> str:
    text: str = next(value.decode() for found, value in message.headers() if found == name)
    return text


def _make_consumer(servers: str) -> Any:
    from confluent_kafka import Consumer

    return Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "trades-watcher",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 20,
            "logger": ClientLog(),
        }
    )


def _assign(consumer: Any, topics: Iterable[str]) -> list[tuple[str, int]]:
    from confluent_kafka import OFFSET_BEGINNING

    topic_partitions = []
    for topic in topics:
        found = consumer.list_topics(topic, timeout=_ANSWER_S).topics[topic]
        if found.error is not None:
            raise JobError(f"there is no topic {topic!r}: {found.error.str()}")
        topic_partitions += [(topic, partition) for partition in found.partitions]
    consumer.assign(
        [
            _to_client_partition(topic_partition, OFFSET_BEGINNING)
            for topic_partition in topic_partitions
        ]
    )
    return topic_partitions


def _to_client_partition(topic_partition: tuple[str, int], offset: int | None = None) -> Any:
    from confluent_kafka import TopicPartition

    return (
        TopicPartition(*topic_partition)
        if offset is None
        else TopicPartition(*topic_partition, offset)
    )

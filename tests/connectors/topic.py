"""Topics of a real broker, filled as tests want them."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    IsolationLevel,
    KafkaError,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from headrace.dev import topics


def new_topic(servers: str, partitions: int = 1, **settings: str) -> str:
    """A topic that no other test has. It keeps records whatever their timestamps, if not told.

    Many tests count time from 1970, and half a minute after its start a broker deletes what is
    older than a week.
    """
    name = f"t{uuid.uuid4().hex[:12]}"
    topics.create(servers, name, partitions, **{"retention.ms": "-1"} | settings)
    return name


def transactions(
    servers: str, topic: str, partition: int, values: Iterable[bytes], size: int = 7
) -> None:
    """Append values in transactions; after each, another one that is aborted."""
    name = f"w{uuid.uuid4().hex[:12]}"
    producer = Producer({"bootstrap.servers": servers, "transactional.id": name, "linger.ms": 0})
    producer.init_transactions(30)
    for content in runs(list(values), size):
        for committed in (True, False):
            producer.begin_transaction()
            for value in content:
                producer.produce(topic, value if committed else b"aborted", partition=partition)
            if committed:
                producer.commit_transaction(30)
            else:
                producer.flush(30)
                producer.abort_transaction(30)


def produce(servers: str, topic: str, records: Iterable[tuple[str, bytes]]) -> None:
    """Append keys with values; all records of a key are in one partition."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0})
    for key, value in records:
        producer.produce(topic, value, key.encode())
    assert producer.flush(30) == 0


def runs(values: Sequence[bytes], size: int) -> Iterator[Sequence[bytes]]:
    """Values in pieces."""
    yield from (values[at : at + size] for at in range(0, len(values), size))


def wait_until_visible(servers: str, topic: str, seconds: float = 10) -> None:
    """Wait until readers of committed transactions see a topic to its end, or for ``seconds``.

    Kafka confirms a commit before it writes the markers that make it visible: right after a job's
    end a reader may still miss the last transactions. One that stays open is not waited for.
    """
    until = time.monotonic() + seconds
    with AdminClient({"bootstrap.servers": servers}) as admin:
        partitions = admin.list_topics(topic, timeout=30).topics[topic].partitions
        latest = {TopicPartition(topic, number): OffsetSpec.latest() for number in partitions}

        def ends(level: IsolationLevel) -> list[int]:
            found = admin.list_offsets(latest, isolation_level=level, request_timeout=30)
            return [found[each].result().offset for each in latest]

        while ends(IsolationLevel.READ_COMMITTED) != ends(IsolationLevel.READ_UNCOMMITTED):
            if time.monotonic() > until:
                return
            time.sleep(0.02)


def content(servers: str, topic: str) -> list[Any]:
    """All records of a topic that readers of committed transactions see, partition by partition."""
    wait_until_visible(servers, topic)
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "nobody",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
    found: list[Any] = []
    waiting = set(partitions)
    while waiting:
        message: Any = consumer.poll(30)
        assert message is not None, "no broker answers"
        if message.error() is None:
            found.append(message)
        elif message.error().code() == KafkaError._PARTITION_EOF:
            waiting.discard(message.partition())
        else:
            raise AssertionError(message.error())
    consumer.close()
    return sorted(found, key=lambda message: (message.partition(), message.offset()))

"""Topics of a real broker, filled as tests want them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence

from confluent_kafka import Producer

from headrace.dev import topics


def new_topic(servers: str, partitions: int = 1, **settings: str) -> str:
    """A topic that no other test has."""
    name = f"t{uuid.uuid4().hex[:12]}"
    topics.create(servers, name, partitions, **settings)
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


def runs(values: Sequence[bytes], size: int) -> Iterator[Sequence[bytes]]:
    """Values in pieces."""
    yield from (values[at : at + size] for at in range(0, len(values), size))

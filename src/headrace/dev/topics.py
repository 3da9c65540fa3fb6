"""Topics and their records, for the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from headrace.common._extras import confluent_kafka
from headrace.datastream.connectors._kafka.client.log import ClientLog
from headrace.errors import JobError
from headrace.runners.processes import this_machine

_ASK_S = 15.0
_POLL_S = 0.02
_SILENT_S = 60.0
"""Timeout (s) when neither a record nor the end of a partition arrives."""


@dataclass(frozen=True)
class TopicFacts:
    """A topic; ``records``: the number of offsets between its ends."""

    name: str
    partitions: int
    records: int


@dataclass(frozen=True)
class ShownRecord:
    """A record with its partition and offset."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


def _make_settings(servers: str) -> dict[str, Any]:
    return {"bootstrap.servers": servers, "logger": ClientLog()}


def list_topics(servers: str) -> list[TopicFacts]:
    """Return all topics except Kafka's internal ones, by name."""
    kafka = confluent_kafka()
    found = []
    with kafka.admin.AdminClient(_make_settings(servers)) as admin:
        for name, topic in sorted(admin.list_topics(timeout=_ASK_S).topics.items()):
            if name.startswith("__"):
                continue
            topic_partitions = [
                kafka.TopicPartition(name, partition) for partition in topic.partitions
            ]
            ends = _request_offsets(admin, topic_partitions, kafka.admin.OffsetSpec.latest())
            begins = _request_offsets(admin, topic_partitions, kafka.admin.OffsetSpec.earliest())
            found.append(TopicFacts(name, len(topic_partitions), sum(ends) - sum(begins)))
    return found


def _request_offsets(admin: Any, topic_partitions: list[Any], spec: Any) -> list[int]:
    """Return the offsets of partitions.

    A broker that has just started may not know their leaders yet.

    Raises:
        JobError: the broker does not know the offsets in time.
    """
    machine = this_machine()
    until = machine.seconds() + _ASK_S
    while True:
        asked = admin.list_offsets(dict.fromkeys(topic_partitions, spec), request_timeout=_ASK_S)
        try:
            return [answer.result().offset for answer in asked.values()]
        except confluent_kafka().KafkaException as error:
            if machine.seconds() >= until:
                raise JobError(f"cannot read offsets: {error.args[0].str()}") from None
        machine.sleep(_POLL_S)


def create(servers: str, name: str, partitions: int = 1, /, **settings: str) -> None:
    """Create a topic, and wait until it exists.

    Raises:
        JobError: the topic cannot be created.
    """
    kafka = confluent_kafka()
    new = kafka.admin.NewTopic(name, partitions, 1, config=settings)
    with kafka.admin.AdminClient(_make_settings(servers)) as admin:
        asked = admin.create_topics([new], operation_timeout=_ASK_S)
        _wait_for_answer(asked[name], f"create the topic {name!r}")
        _wait_until_visible(
            admin,
            name,
            lambda topic: topic is not None and _count_partitions_with_leader(topic) == partitions,
        )


def delete(servers: str, name: str) -> None:
    """Delete a topic with its records, and wait until it does not exist any more.

    Raises:
        JobError: the topic cannot be deleted.
    """
    with confluent_kafka().admin.AdminClient(_make_settings(servers)) as admin:
        asked = admin.delete_topics([name], operation_timeout=_ASK_S)
        _wait_for_answer(asked[name], f"delete the topic {name!r}")
        _wait_until_visible(admin, name, lambda topic: topic is None)


def _wait_until_visible(admin: Any, name: str, is_visible: Callable[[Any], bool]) -> None:
    """Wait until the broker agrees: it learns of a change after the controller.

    Raises:
        JobError: the broker does not agree in time.
    """
    machine = this_machine()
    until = machine.seconds() + _ASK_S
    while not is_visible(admin.list_topics(timeout=_ASK_S).topics.get(name)):
        if machine.seconds() >= until:
            raise JobError(f"the topic {name!r} was changed, but the broker does not show it yet")
        machine.sleep(_POLL_S)


def _count_partitions_with_leader(topic: Any) -> int:
    """Return how many partitions have a leader."""
    return sum(partition.leader >= 0 for partition in topic.partitions.values())


def _wait_for_answer(answer: Any, operation: str) -> None:
    try:
        answer.result()
    except confluent_kafka().KafkaException as error:
        raise JobError(f"cannot {operation}: {error.args[0].str()}") from None


def produce(servers: str, topic: str, records: Iterable[tuple[bytes | None, bytes | None]]) -> int:
    """Append (key, value) pairs to a topic; returns their number.

    Raises:
        JobError: there is no such topic, or Kafka refuses a record.
    """
    kafka = confluent_kafka()
    # Without idempotence a retried request may be processed after the next one.
    producer = kafka.Producer(
        {**_make_settings(servers), "linger.ms": 5, "enable.idempotence": True}
    )
    if producer.list_topics(topic, timeout=_ASK_S).topics[topic].error is not None:
        raise _missing_topic_error(topic)  # librdkafka would wait for it for half a minute
    refused: list[Any] = []

    def on_delivery_report(error: Any, message: Any) -> None:
        if error is not None:
            refused.append(error)

    count = 0
    for key, value in records:
        while True:
            try:
                producer.produce(topic, value, key, on_delivery=on_delivery_report)
                break
            except BufferError:
                producer.poll(0.1)
            except kafka.KafkaException as error:
                refused.append(error.args[0])
                break
        count += 1
    producer.flush()
    if refused:
        raise JobError(f"Kafka refuses a record of {topic!r}: {refused[0].str()}")
    return count


def _missing_topic_error(name: str) -> JobError:
    return JobError(
        f"there is no topic {name!r}",
        hint=f"`headrace dev topics` lists them, `headrace dev topics --create {name}` creates it",
    )


def consume(servers: str, topic: str, *, follow: bool = False) -> Iterator[ShownRecord]:
    """Yield the records of a topic from the beginning to its end, or forever.

    If it ends, partition by partition; records of aborted transactions are left out.

    Raises:
        JobError: there is no such topic, or the end is not reached in time.
    """
    kafka = confluent_kafka()
    settings = {
        **_make_settings(servers),
        "group.id": "headrace-dev",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
    }
    consumer = kafka.Consumer(settings)
    try:
        known = consumer.list_topics(topic, timeout=_ASK_S).topics[topic]
        if known.error is not None:
            raise _missing_topic_error(topic)
        open_ends = {*known.partitions}
        beginning = kafka.OFFSET_BEGINNING
        consumer.assign([kafka.TopicPartition(topic, p, beginning) for p in open_ends])
        machine = this_machine()
        last_message_s = machine.seconds()
        while open_ends or follow:
            message = consumer.poll(0.5)
            if message is None:
                if not follow and machine.seconds() > last_message_s + _SILENT_S:
                    raise JobError(f"the topic {topic!r} cannot be read to its end: no answer")
                continue
            last_message_s = machine.seconds()
            error = message.error()
            if error is None:
                yield ShownRecord(
                    message.partition(), message.offset(), message.key(), message.value()
                )
            elif error.code() == kafka.KafkaError._PARTITION_EOF:
                open_ends.discard(message.partition())
            elif not error.retriable():
                raise JobError(f"the topic {topic!r} cannot be read: {error.str()}")
    finally:
        consumer.close()

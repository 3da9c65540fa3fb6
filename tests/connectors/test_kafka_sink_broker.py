"""The Kafka sink against a real broker: the contract of sinks, kills, what a broker alone shows."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from headrace.connector import DeliveryGuarantee, Sink, WorkerResources, WriterContext
from headrace.datastream.connectors.kafka import (
    KafkaProducerRecord,
    KafkaRecordSerializationSchema,
    KafkaSink,
    RecordTimestamp,
)
from headrace.dev import topics
from headrace.errors import JobError
from headrace.testing._contracts import SinkContract
from headrace.testing._writers import writer_of
from tests.connectors.killed_writer import BATCHES, expected_of, sink_to

kafka = pytest.importorskip("confluent_kafka", reason="missing: pip install 'headrace[kafka]'")

from tests.connectors.topic import content, new_topic  # noqa: E402

pytestmark = pytest.mark.spark

KILLS = 25
SEED = 17


class TestExactlyOnce(SinkContract):
    @pytest.fixture(autouse=True)
    def topic(self, kafka_servers: str) -> None:
        self.servers, self.name = kafka_servers, new_topic(kafka_servers, 2)

    def make_sink(self, folder: Path) -> Sink:
        return sink_to(self.servers, self.name)

    def writer(self, *given: Any, sink_id: str = "sink-1", **more: Any) -> Any:
        """No other test's markers count."""
        names = [*given[:6], f"{given[6] if len(given) > 6 else sink_id}-{self.name}"]
        return super().writer(*names[:-1], sink_id=names[-1], **more)

    def last_batch(self, sink: Sink, sink_id: str = "sink-1") -> int | None:
        return super().last_batch(sink, f"{sink_id}-{self.name}")

    def values(self, count: int) -> list[str]:
        return [f"record {index}" for index in range(count)]

    def published(self, folder: Path) -> list[str]:
        return [message.value().decode() for message in content(self.servers, self.name)]


def writer(made: Sink, worker: WorkerResources, batch: int = 0, sink_id: str = "sink-1") -> Any:
    own = f"{sink_id}-{made.locator or uuid.uuid4().hex}"  # no other test's markers count
    return writer_of(made, WriterContext(own, "job", batch, 0, "a", 2, worker))


def write(made: Sink, batch: int, *values: Any, worker: WorkerResources | None = None) -> None:
    task = writer(made, worker or WorkerResources(), batch)
    task.write(values, [None] * len(values))
    task.prepare_commit()


def values_of(servers: str, topic: str) -> list[str]:
    return [message.value().decode() for message in content(servers, topic)]


class Whole(KafkaRecordSerializationSchema):
    """Records are given as they are."""

    def serialize(self, element: Any, context: Any, timestamp: int | None) -> Any:
        return element._replace(timestamp=timestamp)


@pytest.mark.parametrize(
    "guarantee", [DeliveryGuarantee.EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE]
)
def test_all_parts_of_a_record_arrive(kafka_servers: str, guarantee: DeliveryGuarantee) -> None:
    topic = new_topic(kafka_servers, 3)
    made = KafkaSink(
        bootstrap_servers=kafka_servers,
        record_serializer=Whole(),
        delivery_guarantee=guarantee,
    )
    headers = (("trace", b"1"), ("trace", b"2"), ("none", None))
    task = writer(made, WorkerResources())
    task.write(
        [
            KafkaProducerRecord(topic, b"a", b"k", None, 2, headers),
            KafkaProducerRecord(topic, None, b"k", None, 2),
        ],
        [1234, 5678],
    )
    task.prepare_commit()
    first, second = content(kafka_servers, topic)
    assert (first.partition(), first.key(), first.value()) == (2, b"k", b"a")
    assert tuple(first.headers()) == headers and first.timestamp() == (1, 1234)
    assert second.value() is None and second.timestamp() == (1, 5678)


def test_brokers_settings_of_timestamps_are_reported(
    kafka_servers: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Retention by old timestamps, and what a topic refuses, as a real broker says it."""
    now_ms = int(time.time() * 1000)
    day_ms = 86_400_000
    limits = {"retention.ms": str(day_ms), "message.timestamp.after.max.ms": "1000"}
    topic = new_topic(kafka_servers, 1, **limits)
    made = KafkaSink(bootstrap_servers=kafka_servers, record_serializer=Whole())
    record = KafkaProducerRecord(topic, b"a")
    task = writer(made, WorkerResources())
    task.write([record, record], [now_ms, now_ms - 2 * day_ms])
    task.prepare_commit()
    warnings = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert [topic in words and "keeps records for 1 day only" in words for words in warnings] == [
        True
    ]
    task.write([record, record], [now_ms, now_ms + day_ms])
    with pytest.raises(JobError, match="Kafka refuses records") as caught:
        task.prepare_commit()
    assert "message.timestamp.after.max.ms" in str(caught.value.hint)
    sent = KafkaSink(
        bootstrap_servers=kafka_servers,
        record_serializer=Whole(),
        record_timestamp=RecordTimestamp.SENDING_TIME,
    )
    task = writer(sent, WorkerResources())
    task.write([record], [0])
    task.prepare_commit()
    kind, at = content(kafka_servers, topic)[-1].timestamp()
    assert kind == 1 and now_ms <= at <= int(time.time() * 1000)


def test_keys_go_where_javas_client_brings_them(kafka_servers: str) -> None:
    """The numbers are those of murmur2 with Kafka's seed, made positive, modulo 7."""
    topic = new_topic(kafka_servers, 7)
    made = KafkaSink(bootstrap_servers=kafka_servers, record_serializer=Whole())
    keys = [b"ann", b"bob", b"kafka", b"21"]
    write(made, 0, *(KafkaProducerRecord(topic, b"v", key) for key in keys))
    found = {message.key(): message.partition() for message in content(kafka_servers, topic)}
    assert found == {key: (murmur2(key) & 0x7FFFFFFF) % 7 for key in keys}


def murmur2(data: bytes) -> int:
    """Austin Appleby's MurmurHash2, 32 bits, with the seed of Kafka's partitioner."""
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    found = 0x9747B28C ^ len(data)
    whole = len(data) - len(data) % 4
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        found = found * m & mask ^ k
    if whole < len(data):
        found = (found ^ int.from_bytes(data[whole:], "little")) * m & mask
    found = (found ^ found >> 13) * m & mask
    return found ^ found >> 15


def test_a_partition_may_go_from_worker_to_worker_and_back(kafka_servers: str) -> None:
    topic = f"__{uuid.uuid4().hex[:12]}"  # such a topic need not be Kafka's own
    topics.create(kafka_servers, topic, 1)
    workers, made = [WorkerResources(), WorkerResources()], sink_to(kafka_servers, topic)
    for batch in range(4):
        write(made, batch, str(batch), worker=workers[batch % 2])
    for batch in range(4):
        write(made, batch, str(batch), worker=workers[batch % 2])
    assert values_of(kafka_servers, topic) == [*"0123"]


def test_two_that_write_at_once_are_reported(kafka_servers: str) -> None:
    topic = new_topic(kafka_servers)
    made = sink_to(kafka_servers, topic, transactional_id_prefix=f"p-{topic}")
    first, second = writer(made, WorkerResources()), writer(made, WorkerResources(), 7, "sink-2")
    first.write(["a"], [None])
    second.write(["b"], [None])
    with pytest.raises(JobError, match="another producer has taken over the transactional id"):
        first.prepare_commit()
    first.abort()
    second.prepare_commit()
    assert values_of(kafka_servers, topic) == ["b"]


@pytest.mark.proof
@pytest.mark.timeout(120)
def test_a_transaction_that_was_open_for_too_long_is_reported_and_run_again(
    kafka_servers: str,
) -> None:
    topic = new_topic(kafka_servers)
    properties = {"transaction.timeout.ms": "1000"}
    made, worker = sink_to(kafka_servers, topic, properties=properties), WorkerResources()
    task = writer(made, worker)
    task.write(["a"], [None])
    time.sleep(13)  # coordinators look every ten seconds
    with pytest.raises(JobError, match=r"was open for 1\d s, but the brokers abort it after 1 s"):
        task.prepare_commit()
    task.abort()
    write(made, 0, "a", worker=worker)
    assert values_of(kafka_servers, topic) == ["a"]


@pytest.mark.parametrize(
    "guarantee", [DeliveryGuarantee.EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE]
)
def test_what_the_topic_does_not_take_is_reported(
    kafka_servers: str, guarantee: DeliveryGuarantee
) -> None:
    topic = new_topic(kafka_servers, 1, **{"max.message.bytes": "2000"})
    made = sink_to(kafka_servers, topic, delivery_guarantee=guarantee)
    worker = WorkerResources()
    task = writer(made, worker)
    with pytest.raises(JobError, match=r"refuses a record.*too large") as caught:
        noise = random.Random(SEED).randbytes(4000).hex()  # it cannot be compressed to a third
        task.write([noise], [None])
        task.prepare_commit()
    assert caught.value.where["topic"] == topic and "8001 bytes" in caught.value.where["size"]
    task.abort()
    write(made, 0, "a", worker=worker)
    assert values_of(kafka_servers, topic) == ["a"]


def test_a_missing_topic_and_a_partition_that_is_not_there_are_reported(kafka_servers: str) -> None:
    with pytest.raises(JobError, match="there is no topic 'nowhere-at-all' to write to"):
        write(sink_to(kafka_servers, "nowhere-at-all", unreachable_timeout=2000), 0, "a")
    topic = new_topic(kafka_servers)
    record = KafkaProducerRecord(topic, b"v", partition=9)
    with pytest.raises(JobError, match="refuses a record"):
        write(KafkaSink(bootstrap_servers=kafka_servers, record_serializer=Whole()), 0, record)


@pytest.mark.proof
@pytest.mark.timeout(300)
def test_killed_at_any_moment_each_record_is_committed_once(kafka_servers: str) -> None:
    """A writer is killed at random moments, and started again where its micro-batches stood."""
    topic, chance = new_topic(kafka_servers, 3), random.Random(SEED)
    command = [sys.executable, "-m", "tests.connectors.killed_writer", kafka_servers, topic]
    first, deaths = 0, 0
    while first < BATCHES:
        child = subprocess.Popen([*command, str(first)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        for line in child.stdout:  # one line per micro-batch that is through
            first = int(line) + 1
            if deaths < KILLS and chance.random() < 0.5:
                time.sleep(chance.random() * 0.02)
                child.send_signal(signal.SIGKILL)
                deaths += 1
                first = max(first - chance.randint(0, 1), 0)  # its commit is not noted
                break
        child.wait(60)
        child.stdout.close()
    written = values_of(kafka_servers, topic)
    assert Counter(written) == Counter(expected_of(range(BATCHES))) and deaths == KILLS
    for key in "abc":
        of_key = [int(value[1:]) for value in written if value[0] == key]
        assert of_key == sorted(of_key)

"""The Kafka sink's real producers, with librdkafka's own broker: it has no transactions to read."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.connector import DeliveryGuarantee, WorkerResources, WriterContext
from headrace.datastream.connectors.kafka import (
    KafkaProducerRecord,
    KafkaRecordSerializationSchema,
    KafkaSink,
)
from headrace.errors import JobError

kafka = pytest.importorskip("confluent_kafka", reason="missing: pip install 'headrace[kafka]'")

pytestmark = pytest.mark.spark

EXACTLY, AT_LEAST = DeliveryGuarantee.EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE


class AsItIs(KafkaRecordSerializationSchema):
    def serialize(self, element: Any, context: Any, timestamp: int | None) -> Any:
        return KafkaProducerRecord(*element)._replace(timestamp=timestamp)


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    from tests.connectors.mock_broker import mock_broker

    producer, address = mock_broker()
    yield address
    producer.flush(1)


def sink(servers: str, guarantee: DeliveryGuarantee, **given: Any) -> KafkaSink:
    # The mock broker never says what the settings of a topic are: each sink waits so long for them.
    settings = {"properties": {"log_level": 0}, "unreachable_timeout": 2_000, **given}
    return KafkaSink(
        bootstrap_servers=servers,
        record_serializer=AsItIs(),
        delivery_guarantee=guarantee,
        **settings,
    )


def write(made: KafkaSink, worker: WorkerResources, batch: int, *values: Any) -> None:
    task = made.writer(WriterContext("sink-1", "job", batch, 0, "a", 2, worker))
    task.write(values, [1000 + batch] * len(values))
    task.prepare_commit()


@pytest.mark.parametrize("guarantee", [EXACTLY, AT_LEAST])
def test_records_arrive(servers: str, guarantee: DeliveryGuarantee) -> None:
    from tests.connectors.topic import content

    topic, worker = f"t-{guarantee.value}", WorkerResources()
    made = sink(servers, guarantee)
    write(made, worker, 0, (topic, b"a", b"k"), (topic, None, b"k"))
    write(made, worker, 1, (topic, b"b", b"k"))
    found = content(servers, topic)
    assert [(m.key(), m.value(), m.timestamp()[1]) for m in found] == [
        (b"k", b"a", 1000),
        (b"k", None, 1000),
        (b"k", b"b", 1001),
    ]
    if guarantee is EXACTLY:
        write(made, worker, 1, (topic, b"b", b"k"))
        assert len(content(servers, topic)) == 3
    worker.close()


@pytest.mark.parametrize("guarantee", [EXACTLY, AT_LEAST])
def test_a_record_that_is_too_large_for_the_client(
    servers: str, guarantee: DeliveryGuarantee
) -> None:
    worker = WorkerResources()
    with pytest.raises(JobError, match=r"refuses a record.*too large") as caught:
        write(sink(servers, guarantee), worker, 0, ("large", b"x" * 1_000_001))
    assert caught.value.where == {"topic": "large", "size": "1000001 bytes, key and value"}
    worker.close()


@pytest.mark.parametrize("guarantee", [EXACTLY, AT_LEAST])
def test_no_broker(guarantee: DeliveryGuarantee) -> None:
    worker, began_s = WorkerResources(), time.monotonic()
    with pytest.raises(JobError, match=r"no Kafka broker answers: .*Connection refused"):
        write(sink("127.0.0.1:1", guarantee, unreachable_timeout=200), worker, 0, ("t", b"a"))
    assert 0.1 < time.monotonic() - began_s < 5
    worker.close()

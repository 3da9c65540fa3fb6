"""What the job writes to Kafka, and how two runs' results are compared."""

from __future__ import annotations

import json
import pickle
from decimal import Decimal
from typing import Any

import pytest

pytest.importorskip("confluent_kafka", reason="missing: pip install 'headrace[kafka]'")
pytest.importorskip("fastavro", reason="missing: pip install 'headrace[avro]'")

from headrace.datastream.connectors.kafka import BadKafkaRecord, KafkaRecordSerializationSchema
from headrace.datastream.formats.avro import AvroDeserializationSchema
from headrace.demo.trades.events import Anomaly, NormalisedEvent
from headrace.demo.trades.hierarchy import OrderDocument
from headrace.demo.trades.kafka import topics
from headrace.demo.trades.kafka.comparing import Difference, differences
from headrace.demo.trades.kafka.records import (
    AnomalyRecords,
    NormalisedRecords,
    OrderRecords,
    documents_of,
    make_malformed_anomaly,
)
from headrace.demo.trades.kafka.topics import OutputTopics
from headrace.demo.trades.kafka.watching import Latencies, percentile

DOCUMENT: dict[str, Any] = {
    "root": "ALPHA:1",
    "version": 2,
    "as_of_ms": 5,
    "instrument_id": "I1",
    "currency": "GBP",
    "client": None,
    "orders": [
        {
            "order_id": "ALPHA:1",
            "ids": ["ALPHA:1", "ALPHA:2"],
            "parent": None,
            "side": "BUY",
            "quantity": "123456789012345678901234567890.5",
            "price": "0.1",
            "cum_qty": "1",
            "avg_px": "0.1",
            "leaves_qty": "2",
            "executed_below": "0",
            "status": "PARTIALLY_FILLED",
            "executions": [
                {"exec_id": "E", "quantity": "1", "price": "0.1", "time_ms": 4, "busted": False}
            ],
        }
    ],
}


class NoContext:
    def get_partitions_for_topic(self, topic: str) -> list[int]:
        raise AssertionError("nobody asks")

    def get_parallel_instance_id(self) -> int:
        raise AssertionError("nobody asks")


def written(schema: KafkaRecordSerializationSchema, element: Any, timestamp: int | None) -> Any:
    """The record that a worker writes, which got the schema from the driver."""
    return pickle.loads(pickle.dumps(schema)).serialize(element, NoContext(), timestamp)


def test_a_document() -> None:
    document = OrderDocument("ALPHA:1", 2, json.dumps(DOCUMENT), event_id="ALPHA:9")
    record = written(OrderRecords("orders.b", None), document, 77)
    assert (record.topic, record.key, record.timestamp) == ("orders.b", b"ALPHA:1", 77)
    assert record.headers == (("event_id", b"ALPHA:9"),)
    assert documents_of(None)(record.value) == DOCUMENT


def test_a_normalised_event() -> None:
    event = NormalisedEvent(
        "BETA:4", "BETA", 4, "EXECUTION", 99, "BETA:o", None, None, "BETA:x", "I1", "GBP", None,
        Decimal("1E+2"), Decimal("0.500"), None, None, None,
    )  # fmt: skip
    record = written(NormalisedRecords("events.normalised", None), event, 5)
    assert (record.key, record.timestamp) == (b"I1", 99)
    found = AvroDeserializationSchema(topics.NORMALISED_EVENT).deserialize(record.value)
    assert (found["quantity"], found["price"], found["side"]) == ("100", "0.5", None)
    assert found["event_id"] == "BETA:4" and "sequence" not in found


def test_an_anomaly_has_its_bytes() -> None:
    bad = BadKafkaRecord(b"\xff\x00", "no line", "alpha.fix-1", 7, "alpha.fix", 1)
    record = written(AnomalyRecords("anomalies", None), make_malformed_anomaly(bad), None)
    assert record.headers == (("kind", b"MALFORMED"),) and record.key is None
    found = AvroDeserializationSchema(topics.ANOMALY).deserialize(record.value)
    assert (found["source"], found["position"], found["raw"]) == ("alpha.fix-1", 7, b"\xff\x00")
    known = Anomaly("DUPLICATE", "BETA:4", reason="again")
    assert written(AnomalyRecords("anomalies", None), known, 3).key == b"BETA:4"


def test_orders_are_compacted_and_nothing_is_deleted_by_age() -> None:
    outputs = OutputTopics(".b")
    assert topics.topic_settings(outputs.orders_topic) == {"cleanup.policy": "compact"}
    for name in (*topics.FEED_TOPICS, outputs.normalised_topic, outputs.anomalies_topic):
        assert topics.topic_settings(name) == {"retention.ms": "-1"}


def changed(**order: Any) -> dict[str, Any]:
    return DOCUMENT | {"orders": [DOCUMENT["orders"][0] | order]}


@pytest.mark.parametrize(
    ("second", "differing_fields", "fields"),
    [
        (DOCUMENT | {"version": 3}, ("version",), ("version",)),
        (changed(status="FILLED"), ("orders.ALPHA:1.status",), ("orders.status",)),
        (
            changed(order_id="ALPHA:3"),
            ("orders.ALPHA:1", "orders.ALPHA:3"),
            ("orders",),
        ),
        (None, (), ("document",)),
    ],
)
def test_where_two_documents_differ(
    second: dict[str, Any] | None, differing_fields: tuple[str, ...], fields: tuple[str, ...]
) -> None:
    found = Difference("ALPHA:1", DOCUMENT, second)
    assert (found.differing_fields, found.fields) == (differing_fields, fields)


def test_only_roots_that_differ_are_reported() -> None:
    def text(version: int) -> bytes:
        return json.dumps({"version": version, "orders": []}).encode()

    first = {b"a": text(1), b"b": text(2), b"c": text(3), b"d": b" " + text(4)}
    second = {b"a": text(1), b"b": text(9), b"d": text(4), b"e": text(5)}
    found = differences(first, second, json.loads)
    assert [each.root for each in found] == ["b", "c", "e"]
    assert [each.fields for each in found] == [("version",), ("document",), ("document",)]


def test_percentiles() -> None:
    values = list(range(1, 101))
    assert [percentile(values, p) for p in (0, 50, 99, 99.5, 100)] == [1, 50, 99, 100, 100]
    assert percentile([7], 50) == 7 and percentile([], 99) is None


def test_latencies_of_the_last_ten_seconds() -> None:
    latencies = Latencies()
    for seen_ms in (0, 5_000, 12_000):
        latencies.add(seen_ms, seen_ms // 10)
    assert latencies.recent(14_000) == [500, 1_200]
    assert latencies.all() == [0, 500, 1_200]

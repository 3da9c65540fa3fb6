"""The records of each topic: deserialization and serialization."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from headrace.common.serialization import DeserializationSchema
from headrace.datastream.connectors.kafka import (
    BadKafkaRecord,
    KafkaProducerRecord,
    KafkaRecordSerializationSchema,
    KafkaSinkContext,
)
from headrace.datastream.formats.avro import AvroDeserializationSchema, AvroSerializationSchema
from headrace.datastream.formats.registry import TopicNameStrategy
from headrace.demo.trades import beta, fix, gamma
from headrace.demo.trades.events import Anomaly, DecodedEvent, NormalisedEvent
from headrace.demo.trades.exact import plain
from headrace.demo.trades.hierarchy import OrderDocument
from headrace.demo.trades.kafka import topics
from headrace.demo.trades.kafka.topics import ALPHA, BETA, GAMMA

EVENT_HEADER = "event_id"
KIND_HEADER = "kind"


class LineMessages(DeserializationSchema):
    """(event, message) of a message that is a line of a feed; ``decode`` parses it."""

    def __init__(self, decode: Callable[[bytes], DecodedEvent]) -> None:
        self._decode = decode

    def deserialize(self, data: bytes) -> tuple[DecodedEvent, bytes]:
        """Raises DecodeError for the first error."""
        return self._decode(data), data


class GammaMessages(DeserializationSchema):
    """(event, message) of GAMMA's messages in Avro."""

    def __init__(self, registry: str | None) -> None:
        self._avro = AvroDeserializationSchema(topics.GAMMA_MESSAGE, registry=registry)

    def deserialize(self, data: bytes) -> tuple[DecodedEvent, bytes]:
        """Raises DecodeError for the first error."""
        record = self._avro.deserialize(data)
        record["seq"] = str(record["seq"])
        return gamma.event_of(record.get), data


def messages_of(topic: str, registry: str | None) -> DeserializationSchema:
    """Return the deserialization schema of a system's topic."""
    if topic == GAMMA:
        return GammaMessages(registry)
    return LineMessages({ALPHA: fix.decode, BETA: beta.decode}[topic])


def make_malformed_anomaly(bad: BadKafkaRecord) -> Anomaly:
    """Return the anomaly for a message that could not be decoded.

    Its position is partition and offset.
    """
    return Anomaly("MALFORMED", None, bad.split, bad.offset, bad.reason, bad.raw)


def avro_of(schema: str, registry: str | None, topic: str) -> AvroSerializationSchema:
    """Return the Avro serialization schema of a topic, registered under the topic's name."""
    subject = TopicNameStrategy(topic) if registry else None
    return AvroSerializationSchema(schema, registry=registry, subject=subject)


class _Records(KafkaRecordSerializationSchema):
    """Records of one topic in Avro."""

    schema: str

    def __init__(self, topic: str, registry: str | None) -> None:
        self._topic = topic
        self._avro = avro_of(self.schema, registry, topic)

    @property
    def topic(self) -> str:
        """The topic."""
        return self._topic


class NormalisedRecords(_Records):
    """Normalised events, keyed by instrument."""

    schema = topics.NORMALISED_EVENT

    def serialize(
        self, element: NormalisedEvent, context: KafkaSinkContext, timestamp: int | None
    ) -> KafkaProducerRecord:
        """Return the event, with its event time."""
        value = self._avro.serialize(
            {
                "event_id": element.event_id,
                "system": element.system,
                "kind": element.kind,
                "event_time_ms": element.event_time_ms,
                "order_id": element.order_id,
                "replaces": element.replaces,
                "parent_order_id": element.parent_order_id,
                "exec_id": element.exec_id,
                "instrument_id": element.instrument_id,
                "currency": element.currency,
                "side": element.side,
                "quantity": None if element.quantity is None else plain(element.quantity),
                "price": None if element.price is None else plain(element.price),
                "account": element.account,
                "client": element.client,
                "desk": element.desk,
            }
        )
        return KafkaProducerRecord(
            self._topic, value, element.instrument_id.encode(), element.event_time_ms
        )


class OrderRecords(_Records):
    """Documents, keyed by root; a header contains the event that made each."""

    schema = topics.ORDER_DOCUMENT

    def serialize(
        self, element: OrderDocument, context: KafkaSinkContext, timestamp: int | None
    ) -> KafkaProducerRecord:
        """Return the document, with the time of its timer."""
        value = self._avro.serialize(json.loads(element.text))
        headers = ((EVENT_HEADER, element.event_id.encode()),)
        return KafkaProducerRecord(
            self._topic, value, element.root.encode(), timestamp, headers=headers
        )


class AnomalyRecords(_Records):
    """Anomalies, keyed by event if it is known; a header contains the kind."""

    schema = topics.ANOMALY

    def serialize(
        self, element: Anomaly, context: KafkaSinkContext, timestamp: int | None
    ) -> KafkaProducerRecord:
        """Return the anomaly, with the raw message if there is one."""
        value = self._avro.serialize(
            {
                "kind": element.kind,
                "event_id": element.event_id,
                "source": element.source,
                "position": element.position,
                "reason": element.reason,
                "raw": element.raw,
            }
        )
        key = None if element.event_id is None else element.event_id.encode()
        headers = ((KIND_HEADER, element.kind.encode()),)
        return KafkaProducerRecord(self._topic, value, key, headers=headers)


def documents_of(registry: str | None) -> Callable[[bytes], dict[str, Any]]:
    """Return the deserialization schema of an ``orders`` topic."""
    read: Callable[[bytes], dict[str, Any]] = AvroDeserializationSchema(
        topics.ORDER_DOCUMENT, registry=registry
    ).deserialize
    return read

"""The trade job from topics to topics.

    alpha.fix  ─▶ time ─▶ normalise ─┐
    beta.json  ─▶ time ─▶ normalise ─┼─┬─▶ by instrument ─▶ link ─▶ orders
    gamma.avro ─▶ time ─▶ normalise ─┘ │         └────────────────▶ anomalies
        └──────────────────────────────┼──────────────────────────────▶
                                       └─────────────────▶ events.normalised

The sources decode: what they cannot read goes to the anomalies with partition and offset. The
same program is a stream and a batch. It reads each partition between two offsets, and the stream
may begin before the messages are there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.common import Duration, WatermarkStrategy
from headrace.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from headrace.datastream.connectors.base import DeliveryGuarantee
from headrace.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicPartition,
)
from headrace.demo.trades.hierarchy import OrderDocument
from headrace.demo.trades.job import ANOMALIES, Link, Normalise
from headrace.demo.trades.kafka.records import (
    AnomalyRecords,
    NormalisedRecords,
    OrderRecords,
    make_malformed_anomaly,
    messages_of,
)
from headrace.demo.trades.kafka.topics import FEED_TOPICS, OutputTopics
from headrace.demo.trades.linker import WAIT_MS
from headrace.demo.trades.reference import Enricher

UNREADABLE = OutputTag("unreadable")

Offsets = Mapping[tuple[str, int], int]
"""Offsets of (topic, partition)."""


@dataclass(frozen=True)
class Brokers:
    """The addresses of Kafka and the schema registry."""

    kafka: str
    registry: str


@dataclass(frozen=True)
class Version:
    """The settings in which versions of the job differ."""

    out_of_orderness_ms: int = 5_000
    allowed_lateness_ms: int = 0
    wait_ms: int = WAIT_MS
    """How long an event waits for what it refers to, in event time."""


class LinkDocuments(Link):
    """Emits complete documents: a record also needs their root and their event."""

    def _format_document(self, document: OrderDocument) -> Any:
        return document


@dataclass(frozen=True)
class Streams:
    """The job's output streams."""

    normalised: DataStream
    orders: DataStream
    anomalies: DataStream


def build(
    env: StreamExecutionEnvironment,
    brokers: Brokers,
    reference: Path,
    stop: Offsets,
    *,
    bounded: bool,
    version: Version | None = None,
) -> Streams:
    """Return the streams over the messages of each partition, from its beginning to ``stop``.

    ``reference``: the folder of the reference data. ``bounded``: for a batch.
    """
    version = version or Version()
    enricher = Enricher.read(reference)
    times = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(version.out_of_orderness_ms)
    ).with_timestamp_assigner(lambda pair: pair[0].event_time_ms)
    normalised: list[DataStream] = []
    anomalies: list[DataStream] = []
    for topic in FEED_TOPICS:
        source = _make_source(brokers, topic, stop, bounded)
        decoded = env.from_source(source, times, topic).uid(f"read-{topic}")
        events = (
            decoded.process(Normalise(enricher))
            .name(f"normalise {topic}")
            .uid(f"normalise-{topic}")
        )
        normalised.append(events)
        unreadable = decoded.get_side_output(UNREADABLE).map(make_malformed_anomaly)
        unreadable.name(f"malformed {topic}").uid(f"malformed-{topic}")
        anomalies += [unreadable, events.get_side_output(ANOMALIES)]
    events = normalised[0].union(*normalised[1:])
    linked = (
        events.key_by(lambda event: event.instrument_id)
        .process(LinkDocuments(version.allowed_lateness_ms, version.wait_ms))
        .name("link orders")
        .uid("link")
    )
    found = anomalies[0].union(*anomalies[1:], linked.get_side_output(ANOMALIES))
    return Streams(events, linked, found)


def write(streams: Streams, brokers: Brokers, outputs: OutputTopics) -> None:
    """Write all three to Kafka, exactly once."""
    for stream, name, records in (
        (streams.normalised, outputs.normalised_topic, NormalisedRecords),
        (streams.orders, outputs.orders_topic, OrderRecords),
        (streams.anomalies, outputs.anomalies_topic, AnomalyRecords),
    ):
        sink = _make_sink(brokers, records(name, brokers.registry), name)
        stream.sink_to(sink).name(name).uid(name)


def _make_source(brokers: Brokers, topic: str, stop: Offsets, bounded: bool) -> KafkaSource:
    topic_partitions = {
        KafkaTopicPartition(*topic_partition): at
        for topic_partition, at in stop.items()
        if topic_partition[0] == topic
    }
    ends = KafkaOffsetsInitializer.offsets(topic_partitions)
    builder = (
        KafkaSource.builder()
        .set_bootstrap_servers(brokers.kafka)
        .set_partitions(topic_partitions)
        .set_group_id("trades")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(messages_of(topic, brokers.registry))
        .on_error(UNREADABLE)
    )
    return (builder.set_bounded(ends) if bounded else builder.set_unbounded(ends)).build()


def _make_sink(brokers: Brokers, records: KafkaRecordSerializationSchema, name: str) -> KafkaSink:
    return (
        KafkaSink.builder()
        .set_bootstrap_servers(brokers.kafka)
        .set_record_serializer(records)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(f"trades-{name}")
        .build()
    )

"""The connectors ``kafka`` and ``upsert-kafka``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from headrace.common.changelog_mode import ChangelogMode
from headrace.datastream.connectors._kafka.client.consumer import Clients
from headrace.datastream.connectors._kafka.sink.producers import Producers
from headrace.datastream.connectors._kafka.source.offsets import KafkaOffsetsInitializer
from headrace.errors import SqlValidationError
from headrace.table._connectors.connector import Connector, TableRequest, TableSink, TableSource
from headrace.table._connectors.kafka.options import (
    DISCOVERY,
    ID_PREFIX,
    KAFKA_OPTIONS,
    PARTITIONER,
    PATTERN,
    TOPIC,
    UPSERT_OPTIONS,
    guarantee_of,
    missing_offsets_policy,
    properties_of,
    starting_offsets,
    stopping_offsets,
)
from headrace.table._connectors.kafka.parts import MessageParts, check_writable, parts_of
from headrace.table._connectors.kafka.sink import TableKafkaSink, TableRecordSerializer
from headrace.table._connectors.kafka.source import TableKafkaSource, TableMessages

_OF_CONSUMERS = (
    "auto.offset.",
    "commit.offsets.",
    "enable.auto.",
    "fetch.",
    "group.",
    "isolation.",
    "max.poll.",
    "partition.",
)
"""How properties begin that a table's producers leave out: the table may be read, too."""
_PARTITIONERS = ("default", "fixed", "round-robin")


@dataclass(frozen=True)
class KafkaConnector(Connector):
    """Tables of messages. ``clients``, ``producers``: other Kafka clients, for tests."""

    clients: Clients | None = None
    producers: Producers | None = None

    identifier: ClassVar[str] = "kafka"
    upserts: ClassVar[bool] = False
    writes_metadata: ClassVar[bool] = True

    def source(self, request: TableRequest) -> TableSource:
        """Return a source of messages."""
        options, parts = self._parts(request)
        topics, pattern = _topics(request.name, options)
        properties = _properties(request)
        reset = properties.pop("auto.offset.reset", None)
        policy = missing_offsets_policy(request.name, reset)
        starting = (
            KafkaOffsetsInitializer.earliest()
            if self.upserts
            else starting_offsets(request.name, options, topics, properties, reset)
        )
        interval_ms = options[DISCOVERY.key]
        properties.setdefault("partition.discovery.interval.ms", str(interval_ms))
        mode = ChangelogMode.upsert() if self.upserts else parts.value.gives
        stopping = stopping_offsets(request.name, options, topics, properties)
        source = TableKafkaSource(
            topics=topics,
            topic_pattern=pattern,
            deserializer=TableMessages(parts),
            starting_offsets=starting,
            stopping_offsets=stopping,
            properties=properties,
            clients=self.clients,
            on_missing_offsets=policy,
            on_changed_topic=policy,
            mode=mode,
        )
        return TableSource(source, mode)

    def sink(self, request: TableRequest) -> TableSink:
        """Return a sink of messages."""
        options, parts = self._parts(request)
        check_writable(request)
        topics, _ = _topics(request.name, options)
        if len(topics) != 1:
            raise SqlValidationError(
                f"table {request.name!r} cannot be written: only a single 'topic' can be"
            )
        partitioner = options.get(PARTITIONER.key) or "default"
        if partitioner not in _PARTITIONERS:
            raise SqlValidationError(
                f"table {request.name!r}: there is no partitioner {partitioner!r}",
                where={"partitioners": ", ".join(_PARTITIONERS)},
            )
        if partitioner == "round-robin" and parts.key is not None:
            raise SqlValidationError(
                f"table {request.name!r}: 'round-robin' is only for messages without keys"
            )
        mode = ChangelogMode.upsert() if self.upserts else parts.value.accepts
        sink = TableKafkaSink(
            record_serializer=TableRecordSerializer(parts, topics[0], partitioner),
            delivery_guarantee=guarantee_of(request.name, options),
            transactional_id_prefix=options[ID_PREFIX.key],
            properties={
                key: value
                for key, value in _properties(request).items()
                if not key.startswith(_OF_CONSUMERS)
            },
            producers=self.producers,
            mode=mode,
        )
        return TableSink(sink)

    def _parts(self, request: TableRequest) -> tuple[dict[str, Any], MessageParts]:
        declared = UPSERT_OPTIONS if self.upserts else KAFKA_OPTIONS
        options, parts = parts_of(request, declared, upserts=self.upserts)
        inserts = ChangelogMode.insert_only()
        if self.upserts and not parts.value.gives.kinds <= inserts.kinds:
            raise SqlValidationError(
                f"table {request.name!r}: 'upsert-kafka' doesn't support"
                f" {parts.value.identifier!r} as value format, because it has changes of its own"
            )
        return options, parts


class UpsertKafkaConnector(KafkaConnector):
    """Tables with a primary key, whose messages replace and delete rows."""

    identifier = "upsert-kafka"
    upserts = True


def _topics(table: str, options: dict[str, Any]) -> tuple[tuple[str, ...], str | None]:
    topics, pattern = options[TOPIC.key], options[PATTERN.key]
    if bool(topics) == (pattern is not None):
        raise SqlValidationError(
            f"table {table!r} needs one of the options 'topic' and 'topic-pattern'"
        )
    return tuple(topics or ()), pattern


def _properties(request: TableRequest) -> dict[str, object]:
    found = properties_of(request.options)
    if "bootstrap.servers" not in found:
        raise SqlValidationError(
            f"table {request.name!r} needs the option 'properties.bootstrap.servers'"
        )
    return found

"""``KafkaSink`` and its builder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.common._extras import check_installed
from headrace.common.time import TimeAmount, milliseconds_of
from headrace.connector import (
    CommitBy,
    Committer,
    CommitterContext,
    DeliveryGuarantee,
    Sink,
    SinkWriter,
    WriterContext,
)
from headrace.datastream.connectors._kafka.client.builder import KafkaBuilder
from headrace.datastream.connectors._kafka.client.properties import Properties
from headrace.datastream.connectors._kafka.sink.producers import LibrdkafkaProducers, Producers
from headrace.datastream.connectors._kafka.sink.serialization import (
    BuiltRecordSerializer,
    KafkaRecordSerializationSchema,
)
from headrace.datastream.connectors._kafka.sink.timestamps import RecordTimestamp
from headrace.datastream.connectors._kafka.sink.transaction import last_batch
from headrace.datastream.connectors._kafka.sink.writer import AtLeastOnceWriter, ExactlyOnceWriter
from headrace.errors import ConfigurationError, PlanError

UNREACHABLE_TIMEOUT = 300_000
MAXIMUM_PREFIX_BYTES = 6400


@dataclass(frozen=True, kw_only=True)
class KafkaSink(Sink):
    """Writes records to Kafka topics.

    ``EXACTLY_ONCE``: each task writes its records of a micro-batch, and a marker, in one
    transaction. A repeated task finds the marker and drops its records. Readers need
    ``isolation.level=read_committed``. ``transactional_id_prefix`` is the prefix of the
    transactional ids. No other sink may use it while this one runs. A job that starts without its
    checkpoint ends the open transactions with its prefix. By default the prefix is derived from the
    checkpoint and the sink.

    ``AT_LEAST_ONCE``: a micro-batch ends when Kafka has its records; a repeated micro-batch writes
    them again. ``NONE`` means the same here.

    ``record_timestamp``: which timestamp Kafka records get, by default the event time. A custom
    schema receives this timestamp, and may return another one.

    A task waits up to ``unreachable_timeout`` (default 5 minutes) for brokers that do not answer.
    Topics must exist: the sink does not create them.
    """

    bootstrap_servers: str = ""
    record_serializer: KafkaRecordSerializationSchema | None = None
    delivery_guarantee: DeliveryGuarantee = DeliveryGuarantee.NONE
    transactional_id_prefix: str = ""
    properties: Mapping[str, object] | Properties = field(default_factory=Properties)
    unreachable_timeout: TimeAmount = UNREACHABLE_TIMEOUT
    record_timestamp: RecordTimestamp = RecordTimestamp.EVENT_TIME
    producers: Producers | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        given = self.properties
        properties = given if isinstance(given, Properties) else Properties.of(given)
        set_(self, "properties", properties)
        servers = self.bootstrap_servers or properties.get("bootstrap.servers") or ""
        set_(self, "bootstrap_servers", servers)
        timeout = milliseconds_of(self.unreachable_timeout, "the unreachable timeout", at_least=1)
        set_(self, "unreachable_timeout", timeout)
        self._check_arguments(properties)
        if self.producers is None:
            check_installed("confluent_kafka")
            set_(self, "producers", LibrdkafkaProducers(servers, properties))

    def _check_arguments(self, properties: Properties) -> None:
        """Raise PlanError for a wrong argument, or ConfigurationError for a wrong property."""
        if not self.bootstrap_servers:
            raise PlanError(
                "a Kafka sink needs the address of a broker",
                hint="KafkaSink.builder().set_bootstrap_servers('localhost:9092')",
            )
        if not isinstance(self.record_serializer, KafkaRecordSerializationSchema):
            raise PlanError(
                f"a Kafka sink needs a record serializer, not {self.record_serializer!r:.100}",
                hint="set_record_serializer(KafkaRecordSerializationSchema.builder()….build())",
            )
        if not isinstance(self.delivery_guarantee, DeliveryGuarantee):
            raise PlanError(f"{self.delivery_guarantee!r:.100} is no DeliveryGuarantee")
        if not isinstance(self.record_timestamp, RecordTimestamp):
            raise PlanError(
                f"{self.record_timestamp!r:.100} is no RecordTimestamp",
                hint="RecordTimestamp.EVENT_TIME or RecordTimestamp.SENDING_TIME",
            )
        prefix = self.transactional_id_prefix
        if not isinstance(prefix, str) or len(prefix.encode()) > MAXIMUM_PREFIX_BYTES:
            raise PlanError(
                f"a transactional id prefix is a str of at most {MAXIMUM_PREFIX_BYTES} bytes"
            )
        if self.is_exact:
            self._check_transactions(properties)

    def _check_transactions(self, properties: Properties) -> None:
        """Raise ConfigurationError for a property with which exactly once is not possible."""
        if properties.get("transactional.id") is not None:
            raise ConfigurationError(
                "transactional.id cannot be set: each task has a different one",
                hint="set_transactional_id_prefix sets their prefix",
            )
        for key, needed in (("enable.idempotence", ("true",)), ("acks", ("all", "-1"))):
            text = properties.get(key)
            if text is not None and text not in needed:
                raise ConfigurationError(f"exactly once needs {key}={needed[0]}, not {text}")

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """Return a new builder."""
        return KafkaSinkBuilder()

    @property
    def is_exact(self) -> bool:
        """True if the delivery guarantee is EXACTLY_ONCE."""
        return self.delivery_guarantee is DeliveryGuarantee.EXACTLY_ONCE

    @property
    def commits(self) -> CommitBy:
        """TASK with EXACTLY_ONCE; otherwise DRIVER, whose committer has nothing to do."""
        return CommitBy.TASK if self.is_exact else CommitBy.DRIVER

    @property
    def kind(self) -> str:
        """``kafka``, which checkpoints store."""
        return "kafka"

    @property
    def locator(self) -> str:
        """The topic; empty if records go to different topics."""
        assert self.record_serializer is not None
        return self.record_serializer.topic

    @property
    def exclusive_name(self) -> str:
        """The prefix of the transactional ids, with the brokers; empty if none is set."""
        if not self.is_exact or not self.transactional_id_prefix:
            return ""
        prefix = self.transactional_id_prefix
        return f"transactional id prefix {prefix!r} at {self.bootstrap_servers}"

    def get_transformer(self) -> None:
        """Return None: the sink needs no preceding step to choose topics, unlike PyFlink's."""

    @property
    def record_encoder(self) -> Callable[[Any], Any] | None:
        """Serializes keys and values in the tasks that emit records; None for custom schemas."""
        schema = self.record_serializer
        return schema.encoder if isinstance(schema, BuiltRecordSerializer) else None

    @property
    def writes_in_thread(self) -> bool:
        """True unless the schema is a custom one: the user's code must not run in a thread."""
        return self.record_encoder is not None

    def writer(self, context: WriterContext) -> SinkWriter:
        """Return a writer; its producer is reused while the worker process lives."""
        assert self.record_serializer is not None
        assert self.producers is not None
        assert isinstance(self.unreachable_timeout, int)
        timeout_s = self.unreachable_timeout / 1000
        schema, producers, timestamp = self.record_serializer, self.producers, self.record_timestamp
        if self.is_exact:
            prefix = self.transactional_id_prefix
            return ExactlyOnceWriter(context, schema, producers, timeout_s, timestamp, prefix)
        return AtLeastOnceWriter(context, schema, producers, timeout_s, timestamp)

    def last_batch(self, context: CommitterContext) -> int | None:
        """Return the greatest marker; None if the guarantee is not EXACTLY_ONCE.

        Raises:
            JobError: Kafka refuses the request, or no broker answers.
        """
        if not self.is_exact:
            return None
        assert self.producers is not None
        assert isinstance(self.unreachable_timeout, int)
        return last_batch(self.producers, context.sink_id, self.unreachable_timeout / 1000)

    def committer(self, context: CommitterContext) -> Committer:
        """Return a committer that does nothing: written records are already visible."""
        return _NothingToCommit()


class _NothingToCommit(Committer):
    def commit(self, batch_id: int, committables: Sequence[Any]) -> None:
        """Do nothing: the writers have committed."""


class KafkaSinkBuilder(KafkaBuilder):
    """Builds a ``KafkaSink``."""

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
        """Set the guarantee after a failure (default ``NONE``)."""
        return self._set(delivery_guarantee=delivery_guarantee)

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> KafkaSinkBuilder:
        """Set the prefix of the transactional ids; no other sink may use it.

        It must be the same in each run.
        """
        return self._set(transactional_id_prefix=transactional_id_prefix)

    def set_record_serializer(
        self, record_serializer: KafkaRecordSerializationSchema
    ) -> KafkaSinkBuilder:
        """Set the schema that converts records of the stream to Kafka records."""
        return self._set(record_serializer=record_serializer)

    def set_kafka_producer_config(self, props: Mapping[str, object]) -> KafkaSinkBuilder:
        """Set several client properties, as Flink's builder for Java does."""
        self._properties.update(props)
        return self

    def set_unreachable_timeout(self, timeout: TimeAmount) -> KafkaSinkBuilder:
        """Set how long a task waits for brokers that do not answer (default 5 minutes)."""
        return self._set(unreachable_timeout=timeout)

    def set_record_timestamp(self, record_timestamp: RecordTimestamp) -> KafkaSinkBuilder:
        """Set which timestamp Kafka records get (default: the event time)."""
        return self._set(record_timestamp=record_timestamp)

    def build(self) -> KafkaSink:
        """Return the sink.

        Raises:
            PlanError: brokers or a record serializer are missing.
            ConfigurationError: a property cannot be used.
            MissingExtraError: confluent-kafka is not installed.
        """
        return KafkaSink(**self._given, properties=self._properties)

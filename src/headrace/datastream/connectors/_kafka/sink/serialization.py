"""Serialization schemas of Kafka records, and selectors of topics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from headrace.common.serialization import SerializationSchema
from headrace.connector import ColumnChunk
from headrace.datastream.formats._registry.registration import RegisteringSchema
from headrace.errors import PlanError, WrongFunctionError

Headers = tuple[tuple[str, str | bytes | None], ...]
Encoded = tuple[Sequence[bytes | None], Sequence[bytes | None]]
"""Keys and values of records."""


class KafkaProducerRecord(NamedTuple):
    """A record as it is written to Kafka.

    Fields:
        value: None deletes the key in a compacted topic.
        timestamp: milliseconds since the epoch, greater than 0; None for the time of sending.
        partition: None lets the client choose: by the key's hash, as Java's client does.
        headers: names and values, in order; a name may occur twice.
    """

    topic: str
    value: bytes | None
    key: bytes | None = None
    timestamp: int | None = None
    partition: int | None = None
    headers: Headers = ()


class KafkaSinkContext(Protocol):
    """The context of a serialization schema."""

    def get_partitions_for_topic(self, topic: str) -> Sequence[int]:
        """Return the numbers of a topic's partitions.

        Raises:
            JobError: there is no such topic, or no broker answers.
        """

    def get_parallel_instance_id(self) -> int:
        """Return the number of the task that writes, from 0."""


class KafkaTopicSelector(ABC):
    """Chooses the topic of a record."""

    @abstractmethod
    def apply(self, data: Any) -> str:
        """Return the name of the topic for a record."""


class KafkaRecordSerializationSchema(ABC):
    """Converts records of the stream to Kafka records. Subclasses must be picklable.

    ``builder()`` makes one from a topic and serialization schemas.
    """

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        """Return a new builder."""
        return KafkaRecordSerializationSchemaBuilder()

    @abstractmethod
    def serialize(
        self, element: Any, context: KafkaSinkContext, timestamp: int | None
    ) -> KafkaProducerRecord | None:
        """Return the Kafka record, or None to write no record.

        ``timestamp``: the element's event time; None if it has none, or if the sink writes the
        time of sending.
        """

    def serialize_all(
        self, elements: Sequence[Any], context: KafkaSinkContext, timestamps: Sequence[int | None]
    ) -> Iterable[KafkaProducerRecord | None]:
        """Return the Kafka record of each element; by default, ``serialize`` for each."""
        serialize = self.serialize
        return (
            serialize(element, context, timestamp)
            for element, timestamp in zip(elements, timestamps, strict=True)
        )

    def encode_columns(self, chunk: ColumnChunk) -> Encoded | None:
        """Return the records of a chunk, if they are only keys and values for one ``topic``.

        None: records are made of its rows. Called only if the sink ``takes_columns``.
        """
        return None

    @property
    def topic(self) -> str:
        """The topic of all records; empty if records go to different topics."""
        return ""


Partitioner = Callable[[Any, bytes | None, bytes | None, str, Sequence[int]], int]
HeaderProvider = Callable[[Any], "Headers | Mapping[str, Any] | Iterable[tuple[str, Any]] | None"]


@dataclass(frozen=True, kw_only=True)
class BuiltRecordSerializer(KafkaRecordSerializationSchema):
    """Makes each part of a record separately. One of ``fixed_topic`` and ``selector`` is set.

    A schema that registers itself does so for the topic of the record.
    """

    fixed_topic: str
    selector: Callable[[Any], str] | None
    value_schema: SerializationSchema
    key_schema: SerializationSchema | None = None
    headers: HeaderProvider | None = None
    partitioner: Partitioner | None = None
    _of_topics: dict[tuple[str, bool], SerializationSchema] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if self.selector is None:
            for name, is_key in (("value_schema", False), ("key_schema", True)):
                schema = getattr(self, name)
                object.__setattr__(self, name, _bind_to_topic(schema, self.fixed_topic, is_key))

    @property
    def topic(self) -> str:
        """The topic of all records; empty if each has its own."""
        return self.fixed_topic

    @property
    def is_plain(self) -> bool:
        """Whether records have one topic, and only key, value and timestamp."""
        return self.selector is None and self.headers is None and self.partitioner is None

    @property
    def encoder(self) -> Callable[[Any], Any] | None:
        """Encodes the value of a plain record, or key and value; None if it is not plain."""
        if not self.is_plain:
            return None
        return self.value_schema.serialize if self.key_schema is None else self._key_and_value

    def _key_and_value(self, element: Any) -> tuple[bytes | None, bytes | None]:
        assert self.key_schema is not None
        return self.key_schema.serialize(element), self.value_schema.serialize(element)

    def serialize(
        self, element: Any, context: KafkaSinkContext, timestamp: int | None
    ) -> KafkaProducerRecord:
        """Return all parts; the timestamp is the record's event time."""
        key_schema, value_schema, topic = self.key_schema, self.value_schema, self.fixed_topic
        if self.selector is not None:
            topic = self.selector(element)
            value_schema = self._schema_for_topic(topic, value_schema, False)
            key_schema = (
                None if key_schema is None else self._schema_for_topic(topic, key_schema, True)
            )
        key = None if key_schema is None else key_schema.serialize(element)
        value = value_schema.serialize(element)
        partition = None
        if self.partitioner is not None:
            there = context.get_partitions_for_topic(topic)
            partition = self.partitioner(element, key, value, topic, there)
        headers = () if self.headers is None else to_headers(self.headers(element))
        return KafkaProducerRecord(topic, value, key, timestamp, partition, headers)

    def _schema_for_topic(
        self, topic: str, schema: SerializationSchema, is_key: bool
    ) -> SerializationSchema:
        """Return the schema for a topic; cached."""
        found = self._of_topics.get((topic, is_key))
        if found is None:
            found = self._of_topics[topic, is_key] = _bind_to_topic(schema, topic, is_key)
        return found


def _bind_to_topic(schema: Any, topic: str, is_key: bool) -> Any:
    return schema.for_topic(topic, is_key) if isinstance(schema, RegisteringSchema) else schema


def to_headers(given: Any) -> Headers:
    """Convert a mapping or pairs to headers; None becomes no headers."""
    pairs = given.items() if isinstance(given, Mapping) else given or ()
    return tuple((str(name), value) for name, value in pairs)


class KafkaRecordSerializationSchemaBuilder:
    """Builds a schema from a topic and schemas for key, value and headers."""

    def __init__(self) -> None:
        self._topic = ""
        self._selector: Callable[[Any], str] | None = None
        self._key: SerializationSchema | None = None
        self._value: SerializationSchema | None = None
        self._headers: HeaderProvider | None = None
        self._partitioner: Partitioner | None = None

    def set_topic(self, topic: str) -> KafkaRecordSerializationSchemaBuilder:
        """Write all records to one topic."""
        if not isinstance(topic, str) or not topic:
            raise PlanError(f"the name of a topic is a text, not {topic!r:.100}")
        self._require_no_topic()
        self._topic = topic
        return self

    def set_topic_selector(
        self, topic_selector: Callable[[Any], str] | KafkaTopicSelector
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Choose the topic of each record with a function or a ``KafkaTopicSelector``."""
        self._require_no_topic()
        self._selector = _to_callable(topic_selector, "apply", "a topic selector")
        return self

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Set the schema of keys. Without it records have no keys."""
        self._key = _require_schema(key_serialization_schema)
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Set the schema of values. If it returns None, the record is a tombstone for its key."""
        self._value = _require_schema(value_serialization_schema)
        return self

    def set_header_provider(
        self, header_provider: HeaderProvider
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Set a function (or an object with ``get_headers``) from a record to its headers.

        The headers are a dict or pairs.
        """
        self._headers = _to_callable(header_provider, "get_headers", "a header provider")
        return self

    def set_partitioner(self, partitioner: Partitioner) -> KafkaRecordSerializationSchemaBuilder:
        """Set a function (or an object with ``partition``) that chooses the partition of a record.

        It receives record, key, value, topic and the numbers of the topic's partitions.
        """
        self._partitioner = _to_callable(partitioner, "partition", "a partitioner")
        return self

    def build(self) -> KafkaRecordSerializationSchema:
        """Return the schema.

        Raises:
            PlanError: the topic or the schema of the values is missing.
        """
        if not self._topic and self._selector is None:
            raise PlanError(
                "records for Kafka need a topic", hint="set_topic('events'), or set_topic_selector"
            )
        if self._value is None:
            raise PlanError(
                "records for Kafka need a schema for their values",
                hint="set_value_serialization_schema(SimpleStringSchema())",
            )
        return BuiltRecordSerializer(
            fixed_topic=self._topic,
            selector=self._selector,
            value_schema=self._value,
            key_schema=self._key,
            headers=self._headers,
            partitioner=self._partitioner,
        )

    def _require_no_topic(self) -> None:
        """Raise PlanError if a topic or a topic selector is set already."""
        if self._topic or self._selector is not None:
            raise PlanError("set the topic of records for Kafka once: a topic or a topic selector")


def _to_callable(value: Any, method: str, description: str) -> Any:
    """Return the method of an object, or the function itself.

    Raises:
        WrongFunctionError: the argument is neither of them.
    """
    found = getattr(value, method, value)
    if not callable(found) or isinstance(value, type):
        raise WrongFunctionError(
            f"{description} is a function or has {method}(), not {value!r:.100}"
        )
    return found


def _require_schema(value: Any) -> SerializationSchema:
    """Return ``value``; raise PlanError if it is not a ``SerializationSchema``."""
    if not isinstance(value, SerializationSchema):
        raise PlanError(
            f"{value!r:.100} is no SerializationSchema",
            hint="an object of it: SimpleStringSchema()",
        )
    return value

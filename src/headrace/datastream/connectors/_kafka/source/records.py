"""Deserialization schemas of Kafka records, and bad records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

from headrace.common.serialization import DeserializationSchema
from headrace.connector import BadRecord


class KafkaRecord(NamedTuple):
    """A record as it is read from Kafka.

    Fields:
        timestamp: milliseconds since the epoch, or None. The stream's record gets this timestamp.
        key, value: bytes, or None. A value of None deletes the key in a compacted topic.
        headers: names and values, in order; a name may occur twice.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class KafkaRecordDeserializationSchema(ABC):
    """Converts Kafka records to records of the stream. Subclasses must be picklable."""

    @abstractmethod
    def deserialize(self, record: KafkaRecord) -> Any:
        """Return the record of the stream, or None to skip the Kafka record.

        Raises:
            DecodeError: the record cannot be decoded; the engine reports it, or stops.
        """

    @staticmethod
    def value_only(
        deserialization_schema: DeserializationSchema,
    ) -> KafkaRecordDeserializationSchema:
        """Return a schema that deserializes only values; records without a value are skipped."""
        return ValueOnly(deserialization_schema)


@dataclass(frozen=True)
class ValueOnly(KafkaRecordDeserializationSchema):
    """Gives the value to another schema."""

    schema: DeserializationSchema

    def deserialize(self, record: KafkaRecord) -> Any:
        """Return the deserialized value of a record; None if the record has no value."""
        return None if record.value is None else self.schema.deserialize(record.value)


@dataclass(frozen=True)
class BadKafkaRecord(BadRecord):
    """A Kafka record that cannot be deserialized: ``raw`` is its value, ``position`` its offset."""

    topic: str = ""
    partition: int = 0
    key: bytes | None = None
    timestamp: int | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    @property
    def offset(self) -> int:
        """The record's offset in the partition."""
        return self.position

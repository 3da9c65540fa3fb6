"""From Kafka's records to the job's: deserialization schemas, and bad records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

from headrace.common.serialization import DeserializationSchema
from headrace.connector import BadRecord


class KafkaRecord(NamedTuple):
    """A record as Kafka has it.

    Fields:
        timestamp: milliseconds since the epoch, or None. The stream's records have it as theirs.
        key, value: bytes, or None. A value of None is a deletion in a compacted topic.
        headers: names and values, in order; a name may come twice.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class KafkaRecordDeserializationSchema(ABC):
    """Makes a record of the job from a record of Kafka. Subclasses are picklable."""

    @abstractmethod
    def deserialize(self, record: KafkaRecord) -> Any:
        """The job's record; None leaves the record out.

        Raises:
            DecodeError: it cannot be decoded; the engine reports it, or stops, as configured.
        """

    @staticmethod
    def value_only(
        deserialization_schema: DeserializationSchema,
    ) -> KafkaRecordDeserializationSchema:
        """A schema that sees the value alone; a record without one gives none."""
        return ValueOnly(deserialization_schema)


@dataclass(frozen=True)
class ValueOnly(KafkaRecordDeserializationSchema):
    """Gives the value to another schema."""

    schema: DeserializationSchema

    def deserialize(self, record: KafkaRecord) -> Any:
        """What the schema makes of the value; None without a value."""
        return None if record.value is None else self.schema.deserialize(record.value)


@dataclass(frozen=True)
class BadKafkaRecord(BadRecord):
    """A record that could not be deserialized: ``raw`` is its value, ``position`` its offset."""

    topic: str = ""
    partition: int = 0
    key: bytes | None = None
    timestamp: int | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    @property
    def offset(self) -> int:
        """The offset in the partition."""
        return self.position

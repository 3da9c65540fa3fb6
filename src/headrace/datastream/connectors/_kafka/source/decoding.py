"""Converts a partition's messages to a chunk of the job's records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import NoneType
from typing import Any

from headrace.connector import Chunk
from headrace.datastream.connectors._kafka.source.records import (
    BadKafkaRecord,
    KafkaRecord,
    KafkaRecordDeserializationSchema,
    ValueOnly,
)
from headrace.datastream.connectors._kafka.source.split import Split
from headrace.errors import DecodeError, JobError

RAW_SHOWN_BYTES = 200


class Decoding:
    """Deserializes messages of one partition.

    ``tagged``: a record that cannot be deserialized becomes a bad record with the error as reason.
    """

    def __init__(
        self, split: Split, schema: KafkaRecordDeserializationSchema, tagged: bool
    ) -> None:
        self._split, self._schema, self._tagged = split, schema, tagged
        self._decode_values: Callable[[Sequence[bytes]], list[Any]] | None = None
        if isinstance(schema, ValueOnly):
            self._decode_values = schema.schema.deserialize_all

    def chunks(self, messages: Sequence[Any]) -> Iterator[Chunk]:
        """Yield the records of messages (see ``chunk``)."""
        yield self.chunk(messages)

    def chunk(self, messages: Sequence[Any]) -> Chunk:
        """Return the records of messages, with Kafka's timestamps.

        Raises:
            DecodeError: a record cannot be deserialized, and that is not tagged.
        """
        return self._decode_together(messages) or self._decode_each(messages)

    def _decode_together(self, messages: Sequence[Any]) -> Chunk | None:
        """Return the chunk, from one call of the schema with all values.

        Return None if that is not possible.

        A message without a value gives no record, nor does one for which the schema returns None:
        both are common in a compacted topic.
        """
        if self._decode_values is None:
            return None
        data = [message.value() for message in messages]
        if _has_none(data):
            messages = [message for message in messages if message.value() is not None]
            data = [value for value in data if value is not None]
        try:
            found = self._decode_values(data)
        except JobError:
            raise  # the registry is down, and was waited for
        except Exception:
            return None  # decoding one by one raises it again, with the record
        timestamps = [
            at if kind else None for kind, at in [message.timestamp() for message in messages]
        ]
        if _has_none(found):
            indexes = [index for index, value in enumerate(found) if value is not None]
            return Chunk([found[n] for n in indexes], [timestamps[n] for n in indexes])
        return Chunk(found, timestamps)

    def _decode_each(self, messages: Sequence[Any]) -> Chunk:
        chunk = Chunk([], [])
        assert chunk.timestamps is not None
        for message in messages:
            record = self._to_kafka_record(message)
            try:
                value = self._schema.deserialize(record)
            except Exception as error:
                # If the registry does not answer, the record may be valid.
                if not self._tagged or isinstance(error, JobError):
                    raise self._add_location(error, record) from error
                chunk.bad.append((len(chunk.values), self._to_bad_record(error, record)))
                continue
            if value is not None:
                chunk.values.append(value)
                chunk.timestamps.append(record.timestamp)
        return chunk

    def _to_kafka_record(self, message: Any) -> KafkaRecord:
        return KafkaRecord(
            self._split.topic,
            self._split.partition,
            message.offset(),
            _event_time_ms(message),
            message.key(),
            message.value(),
            tuple(message.headers() or ()),
        )

    def _to_bad_record(self, error: Exception, record: KafkaRecord) -> BadKafkaRecord:
        return BadKafkaRecord(
            record.value or b"",
            error.message if isinstance(error, DecodeError) else f"{type(error).__name__}: {error}",
            f"{record.topic}-{record.partition}",
            record.offset,
            record.topic,
            record.partition,
            record.key,
            record.timestamp,
            record.headers,
        )

    def _add_location(self, error: Exception, record: KafkaRecord) -> Exception:
        """Return the schema's exception, with topic, partition and offset."""
        location = f"topic {record.topic!r}, partition {record.partition}, offset {record.offset}"
        if not isinstance(error, DecodeError):
            error.add_note(f"while a Kafka record was deserialized: {location}")
            return error
        raw = record.value or b""
        shown = repr(raw[:RAW_SHOWN_BYTES]) + ("…" if len(raw) > RAW_SHOWN_BYTES else "")
        return DecodeError(
            f"a Kafka record cannot be deserialized: {error.message}",
            where={
                "topic": record.topic,
                "partition": str(record.partition),
                "offset": str(record.offset),
                "value": shown,
            },
            hint="send such records to a side output: KafkaSource…on_error(OutputTag('bad'))",
        )


def _has_none(values: Sequence[Any]) -> bool:
    """Return whether a value is None.

    It compares types, because values may define their own equality.
    """
    return NoneType in {*map(type, values)}


def _event_time_ms(message: Any) -> int | None:
    kind, timestamp_ms = message.timestamp()
    found: int | None = timestamp_ms if kind else None
    return found

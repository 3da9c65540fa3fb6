"""Avro messages: records from and to bytes, with or without a registered schema's id."""

from __future__ import annotations

from typing import Any

from headrace.common.serialization import DeserializationSchema, SerializationSchema
from headrace.common.typeinfo import RowTypeInfo
from headrace.common.types import Row
from headrace.datastream.formats._avro.classes import RecordType
from headrace.datastream.formats._avro.coding import Decode, decoder, encoder
from headrace.datastream.formats._avro.nodes import Mismatch
from headrace.datastream.formats._avro.resolution import reason
from headrace.datastream.formats._avro.schema import (
    AvroSchema,
    check_class,
    inline_imports,
    schema_of,
)
from headrace.datastream.formats._avro.types import row_type_of_schema
from headrace.datastream.formats._class_hints import all_hints, remember
from headrace.datastream.formats._registry.client import client_of
from headrace.datastream.formats._registry.registration import RegisteringSchema, SchemaRegistration
from headrace.datastream.formats._registry.registry import (
    HEADER_BYTES,
    SchemaRegistry,
    SubjectStrategy,
    registry_of,
    schema_id,
)
from headrace.errors import DecodeError, PlanError, TypeMismatchError, UnsupportedError


class AvroDeserializationSchema(DeserializationSchema):
    """Deserializes records from Avro messages.

    Arguments:
        schema: the reader's schema, to which all records are converted: an ``AvroSchema``, its
            text, or a dataclass. None: each record keeps its writer's schema.
        into: the class of records: dict, ``Row``, or a dataclass. The default is the dataclass that
            was given as the schema, otherwise dict.
        registry: the registry with the writers' schemas. With it, messages have Confluent's header.
        writer_schema: the schema of messages without a header; by default the reader's schema.
    """

    def __init__(
        self,
        schema: AvroSchema | str | type | None = None,
        into: Any = None,
        registry: SchemaRegistry | str | None = None,
        writer_schema: AvroSchema | str | type | None = None,
    ) -> None:
        if into is None:
            into = schema if isinstance(schema, type) else dict
        self._shape = RecordType.of(into)
        self._reader = None if schema is None else schema_of(schema)
        self._writer = self._reader if writer_schema is None else schema_of(writer_schema)
        self._registry = registry_of(registry)
        if self._registry is None and self._writer is None:
            raise PlanError("Avro without a registry needs the schema of the messages")
        if self._registry is not None and writer_schema is not None:
            raise PlanError("with a registry each message names its writer's schema")
        if self._reader is not None:
            check_class(into, self._reader)
        self._prepare()

    def _prepare(self) -> None:
        self._by_header: dict[bytes, Decode | str] = {}
        self._bare: Decode | None = None
        if self._registry is None and self._writer is not None:
            try:
                self._bare = decoder(self._writer, self._reader or self._writer, self._shape)
            except Mismatch as error:
                raise PlanError(
                    f"the schema cannot read what writer_schema writes: {reason(error)}"
                ) from error

    def __getstate__(self) -> dict[str, Any]:
        return {
            "_shape": self._shape,
            "_reader": self._reader,
            "_writer": self._writer,
            "_registry": self._registry,
            "_hints": all_hints(self._shape.hint),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        remember(state.pop("_hints"))
        self.__dict__.update(state)
        self._prepare()

    def deserialize(self, data: bytes | None) -> Any:
        """Return the record in the message.

        None, which deletes a key in a compacted topic, is returned as None.

        Raises:
            DecodeError: the message contains no such record; the error says why in one line.
            JobError: the registry does not answer.
        """
        if data is None:
            return None
        if self._bare is not None:
            return self._bare(data)
        decode = self._by_header.get(data[:HEADER_BYTES])
        if decode is None:
            decode = self._by_header[data[:HEADER_BYTES]] = self._make_decoder(schema_id(data))
        if isinstance(decode, str):
            raise DecodeError(decode)
        return decode(data[HEADER_BYTES:])

    def _make_decoder(self, identifier: int) -> Decode | str:
        """Return the decoder for a writer's schema, or the reason why there is none."""
        assert self._registry is not None
        client = client_of(self._registry)
        found = client.schema(identifier)
        if found.kind != "AVRO":
            return f"schema {identifier} is {found.kind}, not Avro"
        try:
            writer = AvroSchema(inline_imports(found, client))
            return decoder(writer, self._reader or writer, self._shape)
        except Mismatch as error:
            return f"schema {identifier} does not match the reader's: {reason(error)}"
        except PlanError as error:
            return f"schema {identifier} of the registry cannot be used: {error.message}"


class AvroSerializationSchema(RegisteringSchema):
    """Serializes dicts, dataclasses or rows to Avro messages.

    Arguments:
        schema: an ``AvroSchema``, its text, or a dataclass.
        registry: where the schema is registered. With it, messages have Confluent's header.
        subject: the subject of the schema; by default the topic's name and ``-value``.
        register: True registers a missing schema; False requires that it is registered.
    """

    def __init__(
        self,
        schema: AvroSchema | str | type,
        registry: SchemaRegistry | str | None = None,
        subject: SubjectStrategy | str | None = None,
        register: bool = True,
    ) -> None:
        self._schema = schema_of(schema)
        self._registered = SchemaRegistration.of(registry, subject, register)
        self._encode = encoder(self._schema)

    def __getstate__(self) -> dict[str, Any]:
        return {"_schema": self._schema, "_registered": self._registered}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._encode = encoder(self._schema)

    def serialize(self, value: Any) -> bytes:
        """Return the record as a message.

        Raises:
            TypeMismatchError: the record does not fit the schema.
            JobError: the registry does not answer, or refuses the schema.
        """
        body, registered = self._encode(value), self._registered
        if registered is None:
            return body
        known = registered.known
        if known is None:
            known = registered.header(self._schema.name, self._schema.text, "AVRO")
        return known + body


class AvroRowDeserializationSchema(DeserializationSchema):
    """Deserializes rows from Avro messages without a header.

    Timestamps have no time zone and are in UTC; times have milliseconds. As in Flink, bytes after
    the record are ignored.
    """

    def __init__(
        self, record_class: str | None = None, avro_schema_string: str | None = None
    ) -> None:
        self._schema = _schema_from_arguments(record_class, avro_schema_string)
        self._row_type = row_type_of_schema(self._schema)
        self._decode = decoder(
            self._schema, self._schema, RecordType(Row, legacy=True), exact=False
        )

    def __reduce__(self) -> tuple[object, ...]:
        return (AvroRowDeserializationSchema, (None, self._schema.text))

    def get_produced_type(self) -> RowTypeInfo:
        """Return the type of the rows."""
        return self._row_type

    def deserialize(self, data: bytes) -> Any:
        """Return the row in the message.

        Raises:
            DecodeError: the message contains no such row.
        """
        try:
            return self._decode(data)
        except DecodeError as error:
            raise DecodeError(error.message, where={"record": repr(data[:200])}) from error


class AvroRowSerializationSchema(SerializationSchema):
    """Serializes rows to Avro messages without a header; timestamps without a zone are in UTC."""

    def __init__(
        self, record_class: str | None = None, avro_schema_string: str | None = None
    ) -> None:
        self._schema = _schema_from_arguments(record_class, avro_schema_string)
        row_type_of_schema(self._schema)
        self._encode = encoder(self._schema)

    def __reduce__(self) -> tuple[object, ...]:
        return (AvroRowSerializationSchema, (None, self._schema.text))

    def serialize(self, value: Any) -> bytes:
        """Return the row as a message.

        Raises:
            TypeMismatchError: the row does not fit the schema.
        """
        return self._encode(value)


def _schema_from_arguments(record_class: str | None, avro_schema_string: str | None) -> AvroSchema:
    if record_class is not None:
        raise UnsupportedError(
            f"the Java class {record_class!r} is not available: there is no JVM of Flink's",
            hint="pass avro_schema_string, which the class was generated from",
        )
    if avro_schema_string is None:
        raise TypeMismatchError("an Avro row schema needs avro_schema_string")
    return AvroSchema.parse_string(avro_schema_string)

"""Protobuf messages: objects of a generated class, with or without a schema id."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message

from headrace.common.serialization import DeserializationSchema
from headrace.datastream.formats._registry.client import Reference, RegistryClient
from headrace.datastream.formats._registry.registration import RegisteringSchema, SchemaRegistration
from headrace.datastream.formats._registry.registry import (
    HEADER_BYTES,
    SchemaRegistry,
    SubjectStrategy,
    schema_id,
)
from headrace.errors import DecodeError, PlanError, TypeMismatchError

__all__ = ["ProtobufDeserializationSchema", "ProtobufSerializationSchema"]

_ALWAYS_THERE = ("google/protobuf/", "google/type/", "confluent/")


class ProtobufDeserializationSchema(DeserializationSchema):
    """Deserializes records from Protobuf messages.

    Arguments:
        message_class: a class that protoc generated; its module must be importable where the job
            runs.
        into: the class of records: None for objects of the message class, or dict with the field
            names of the .proto file; fields without a value are left out.
        registered: whether messages have Confluent's header. The registry is not contacted: fields
            that were added or removed are identified by their numbers.
    """

    def __init__(
        self, message_class: type[Message], into: type | None = None, registered: bool = False
    ) -> None:
        self._class = _check_message_class(message_class)
        if into not in (None, dict):
            raise PlanError(f"records cannot become {into!r:.120}", hint="pass dict or nothing")
        self._into, self._registered = into, registered

    def deserialize(self, data: bytes | None) -> Any:
        """Return the record in the message.

        None, which deletes a key in a compacted topic, is returned as None.

        Raises:
            DecodeError: the message contains no such record.
        """
        if data is None:
            return None
        if self._registered:
            schema_id(data)
            data = data[_after_indexes(data) :]
        message = self._class()
        try:
            message.ParseFromString(data)
        except Exception as error:
            # the class of its error differs between implementations of Protobuf
            raise DecodeError(f"it is no {self._class.DESCRIPTOR.full_name}: {error}") from error
        if self._into is None:
            return message
        return json_format.MessageToDict(message, preserving_proto_field_name=True)


class ProtobufSerializationSchema(RegisteringSchema):
    """Serializes objects of a generated class, or dicts of its fields, to Protobuf messages.

    Arguments:
        registry, subject, register: as for ``AvroSerializationSchema``. Imported .proto files are
            registered under their own names.
    """

    def __init__(
        self,
        message_class: type[Message],
        registry: SchemaRegistry | str | None = None,
        subject: SubjectStrategy | str | None = None,
        register: bool = True,
    ) -> None:
        self._class = _check_message_class(message_class)
        self._registered = SchemaRegistration.of(registry, subject, register)
        self._indexes = _indexes_of(message_class.DESCRIPTOR)

    def serialize(self, value: Any) -> bytes:
        """Return the record as a message.

        Raises:
            TypeMismatchError: the record is not an object of the class or a dict of its fields.
            JobError: the registry does not answer, or refuses the schema.
        """
        body: bytes = self._to_message(value).SerializeToString()
        registered = self._registered
        if registered is None:
            return body
        known = registered.known
        if known is None:
            made = self._class.DESCRIPTOR
            known = registered.header(
                made.full_name, _encode_descriptor(made.file), "PROTOBUF", self._register_imports
            )
        return known + self._indexes + body

    def _to_message(self, value: Any) -> Message:
        if isinstance(value, self._class):
            return value
        try:
            if isinstance(value, dict):
                return json_format.ParseDict(value, self._class())
        except json_format.ParseError as error:
            raise TypeMismatchError(
                f"a record does not fit {self._class.__name__}: {error}"
            ) from error
        raise TypeMismatchError(
            f"a {type(value).__name__} is no {self._class.__name__}: {value!r:.120}",
            hint="map the records to objects of the class, or to dicts",
        )

    def _register_imports(self, client: RegistryClient) -> Iterable[Reference]:
        assert self._registered is not None
        return _register_references(self._class.DESCRIPTOR.file, client, self._registered.register)


def _check_message_class(message_class: Any) -> type[Message]:
    """Return the class; raise PlanError if protoc has not generated it."""
    if isinstance(message_class, type) and issubclass(message_class, Message):
        return message_class
    raise PlanError(
        f"{message_class!r:.120} is no class of Protobuf's messages",
        hint="pass a class that protoc generated",
    )


def _encode_descriptor(file: Any) -> str:
    """Return a .proto file as registries accept it: its descriptor in base64."""
    return base64.b64encode(file.serialized_pb).decode()


def _register_references(file: Any, client: RegistryClient, register: bool) -> list[Reference]:
    found = []
    for imported in file.dependencies:
        if imported.name.startswith(_ALWAYS_THERE):
            continue
        inner = _register_references(imported, client, register)
        client.identifier(imported.name, _encode_descriptor(imported), "PROTOBUF", register, inner)
        version = client.version(imported.name, _encode_descriptor(imported), "PROTOBUF", inner)
        found.append(Reference(imported.name, imported.name, version))
    return found


def _indexes_of(descriptor: Any) -> bytes:
    """Return the message's position in its file: the enclosing messages' indexes, then its own."""
    path: list[int] = []
    while descriptor is not None:
        outer = descriptor.containing_type
        siblings = outer.nested_types if outer is not None else _list_top_messages(descriptor.file)
        path.insert(0, [part.name for part in siblings].index(descriptor.name))
        descriptor = outer
    if path == [0]:
        return b"\x00"  # short form: the first message of the file
    return b"".join(map(_write_index, (len(path), *path)))


def _list_top_messages(file: Any) -> list[Any]:
    return list(file.message_types_by_name.values())


def _write_index(number: int) -> bytes:
    number <<= 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*out, number))


def _after_indexes(data: bytes) -> int:
    """Return the offset at which the message begins, after the header and the message indexes.

    Raises:
        DecodeError: the numbers do not end.
    """
    count, at = _read_index(data, HEADER_BYTES)
    if count < 0:
        raise DecodeError("it does not match the schema: a negative number of indexes")
    for _ in range(min(count, len(data))):
        _, at = _read_index(data, at)
    return at


def _read_index(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 64:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return (value >> 1) ^ -(value & 1), at
    raise DecodeError("it is truncated: the indexes of the message do not end")

"""JSON messages: dicts or dataclasses from and to bytes, with or without a schema id."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from headrace.common.serialization import DeserializationSchema
from headrace.datastream.formats._class_hints import all_hints, remember
from headrace.datastream.formats._json.classes import object_maker
from headrace.datastream.formats._json_text import parse_all, parse_json, write_json
from headrace.datastream.formats._lines import DECODE_ERRORS
from headrace.datastream.formats._registry.registration import RegisteringSchema, SchemaRegistration
from headrace.datastream.formats._registry.registry import HEADER_BYTES, SubjectStrategy, schema_id
from headrace.errors import DecodeError, PlanError


class JsonDeserializationSchema(DeserializationSchema):
    """Deserializes records from JSON messages.

    Arguments:
        into: dict (any JSON object), or a dataclass. Fields are found by name, and values converted
            to the fields' types. Fields that the class does not have are dropped.
        registered: whether messages have Confluent's header. The registry is not contacted: JSON
            needs no schema to be read.
    """

    def __init__(self, into: type = dict, registered: bool = False) -> None:
        self._into, self._registered = into, registered
        self._make = None if into is dict else object_maker(into)

    def __reduce__(self) -> tuple[object, ...]:
        return (_json_schema, (self._into, self._registered, all_hints(self._into)))

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
            data = data[HEADER_BYTES:]
        try:
            value = parse_json(data)
            if type(value) is not dict:
                raise ValueError(f"a JSON object was expected, not {type(value).__name__}")
            return value if self._make is None else self._make(value)
        except DecodeError:
            raise
        except DECODE_ERRORS as error:
            raise DecodeError(f"it is not JSON: {error}") from error

    def deserialize_all(self, data: Sequence[bytes]) -> list[Any]:
        """Deserialize several messages; for dicts this is faster than one by one."""
        is_plain = self._make is None and not self._registered
        if is_plain and type(self).deserialize is JsonDeserializationSchema.deserialize:
            found = parse_all(data)
            if {dict}.issuperset(map(type, found)):
                return found
        return super().deserialize_all(data)


def _json_schema(into: type, registered: bool, hints: Any) -> JsonDeserializationSchema:
    remember(hints)
    return JsonDeserializationSchema(into, registered)


class JsonSerializationSchema(RegisteringSchema):
    """Serializes dicts, dataclasses and rows to JSON messages, as ``JsonLinesEncoder`` does.

    Arguments:
        json_schema: the JSON schema to register; required with a registry. Records are not checked
            against it.
        registry, subject, register: as for ``AvroSerializationSchema``.
    """

    def __init__(
        self,
        json_schema: str | None = None,
        registry: Any = None,
        subject: SubjectStrategy | str | None = None,
        register: bool = True,
    ) -> None:
        self._registered = SchemaRegistration.of(registry, subject, register)
        if self._registered is not None and json_schema is None:
            raise PlanError("a registry needs the JSON schema of the messages: json_schema='{…}'")
        self._text = json_schema or "{}"
        self._name = str(json.loads(self._text).get("title", ""))

    def serialize(self, value: Any) -> bytes:
        """Return the record as a message.

        Raises:
            TypeMismatchError: a value cannot be represented in JSON.
            JobError: the registry does not answer, or refuses the schema.
        """
        body, registered = write_json(value), self._registered
        if registered is None:
            return body
        known = registered.known
        if known is None:
            known = registered.header(self._name, self._text, "JSON")
        return known + body

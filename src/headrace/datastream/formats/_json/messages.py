"""Messages of JSON: dicts or dataclasses, bare or with the id of a registered schema."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from headrace.common.serialization import DeserializationSchema
from headrace.datastream.formats._class_hints import all_hints, remember
from headrace.datastream.formats._json.classes import object_maker
from headrace.datastream.formats._json.rows import JsonLinesEncoder, plain_json
from headrace.datastream.formats._lines import DECODE_ERRORS, json_parser
from headrace.datastream.formats._registry.registration import RegisteringSchema, SchemaRegistration
from headrace.datastream.formats._registry.registry import HEADER_BYTES, SubjectStrategy, schema_id
from headrace.errors import DecodeError, PlanError

_ORJSON = find_spec("orjson") is not None
if _ORJSON:
    import orjson

    _WRITE = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_SUBCLASS
    _WRITE |= orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_APPEND_NEWLINE

_DIGITS = bytes(ord("0" if chr(code).isdecimal() else " ") for code in range(128)) + b" " * 128
_LONG_NUMBER = b"0" * 19
"""orjson reads whole numbers of more than 64 bits as floats; those have at least 19 digits. With
all digits made zeros this is found in 0.2 µs in a message of 100 bytes; a pattern takes 1.1."""
_PARSE = json_parser(decimal=False)
_LINES = JsonLinesEncoder()


def parse_json(data: bytes) -> Any:
    """The value in a JSON text; the same whether orjson is installed or not.

    Raises:
        ValueError: it is none (RFC 8259, so NaN is none).
    """
    if _ORJSON and data.translate(_DIGITS).find(_LONG_NUMBER) < 0:
        try:
            return orjson.loads(data)
        except ValueError:
            pass  # what else the standard library can read, and its words for what it cannot
    return _PARSE(data.decode())


def write_json(value: Any) -> bytes:
    """A record as JSON in UTF-8, as ``JsonLinesEncoder`` writes it, without a line's end.

    Exponents of floats may have other digits (1e-8, 1e-08), by whether orjson is installed.

    Raises:
        TypeMismatchError: it holds something that has no form in JSON, or NaN.
    """
    if _ORJSON:
        try:
            line: bytes = orjson.dumps(value, plain_json, _WRITE)
            # orjson writes null for NaN; "in" would take 0.1 µs more
            if line.find(b"null") < 0 or not _has_nan(value):
                # What orjson gives keeps a kilobyte of memory apart; what is cut off it does not.
                return line[:-1]
        except TypeError:
            pass  # keys that are no strings, numbers of more than 64 bits, or what is refused
    return _LINES.encode(value)[:-1]


def _has_nan(value: Any) -> bool:
    if type(value) is float:
        return not math.isfinite(value)
    if type(value) is dict:
        return any(map(_has_nan, value.values()))
    if type(value) in (list, tuple):
        return any(map(_has_nan, value))
    # of others the slower way looks inside
    return not (value is None or type(value) in (str, int, bool))


class JsonDeserializationSchema(DeserializationSchema):
    """Records from messages of JSON.

    Arguments:
        into: dict (any JSON object), or a dataclass. Fields are found by name, and values converted
            to the fields' types. Fields that the class does not have are dropped.
        registered: whether messages have Confluent's header. The registry is not asked: JSON needs
            no schema to be read.
    """

    def __init__(self, into: type = dict, registered: bool = False) -> None:
        self._into, self._registered = into, registered
        self._make = None if into is dict else object_maker(into)

    def __reduce__(self) -> tuple[object, ...]:
        return (_json_schema, (self._into, self._registered, all_hints(self._into)))

    def deserialize(self, data: bytes | None) -> Any:
        """The record in the message; None for None, which deletes a key in a compacted topic.

        Raises:
            DecodeError: there is none.
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
        """The same for several: dicts take 0.4 µs less each."""
        is_plain = self._make is None and not self._registered
        if _ORJSON and is_plain and type(self).deserialize is JsonDeserializationSchema.deserialize:
            long_number = b" ".join(data).translate(_DIGITS).find(_LONG_NUMBER)
            found = [] if long_number >= 0 else [*map(orjson.loads, data)]
            if found and {dict}.issuperset(map(type, found)):
                return found
        return super().deserialize_all(data)


def _json_schema(into: type, registered: bool, hints: Any) -> JsonDeserializationSchema:
    remember(hints)
    return JsonDeserializationSchema(into, registered)


class JsonSerializationSchema(RegisteringSchema):
    """Messages of JSON from dicts, dataclasses and rows, as ``JsonLinesEncoder`` writes them.

    Arguments:
        json_schema: the JSON schema that is registered; needed with a registry. Records are not
            checked against it.
        registry, subject, register: as those of ``AvroSerializationSchema``.
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
        """The record as a message.

        Raises:
            TypeMismatchError: it holds something that has no form in JSON.
            JobError: the registry does not answer, or refuses the schema.
        """
        body, registered = write_json(value), self._registered
        if registered is None:
            return body
        known = registered.known
        if known is None:
            known = registered.header(self._name, self._text, "JSON")
        return known + body

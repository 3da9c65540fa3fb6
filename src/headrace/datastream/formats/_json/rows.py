"""JSON: rows of a declared type from and to bytes, and lines of JSON for files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common._types.information import TypeInformation
from headrace.common.serialization import DeserializationSchema, SerializationSchema
from headrace.common.typeinfo import RowTypeInfo, Types
from headrace.datastream.formats._json.values import from_json, to_text
from headrace.datastream.formats._json_text import json_parser, write_line
from headrace.datastream.formats._lines import DECODE_ERRORS
from headrace.errors import DecodeError, PlanError


class JsonRowDeserializationSchema(DeserializationSchema):
    """Deserializes rows of a declared type from JSON objects; unknown fields are dropped."""

    def __init__(
        self, row_type: RowTypeInfo, fail_on_missing_field: bool, ignore_parse_errors: bool
    ) -> None:
        self._arguments = (row_type, fail_on_missing_field, ignore_parse_errors)
        self._ignore = ignore_parse_errors
        self._parse = json_parser(decimal=True)
        self._convert = from_json(row_type, fail_on_missing_field)

    def __reduce__(self) -> tuple[object, ...]:
        return (JsonRowDeserializationSchema, self._arguments)

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        """Return a new builder."""
        return JsonRowDeserializationSchema.Builder()

    def get_produced_type(self) -> RowTypeInfo:
        """Return the type of the rows."""
        return self._arguments[0]

    def deserialize(self, data: bytes) -> Any:
        """Return the row; None if it cannot be parsed and parse errors are ignored.

        Raises:
            DecodeError: the message cannot be parsed, and parse errors are not ignored.
        """
        try:
            value = self._parse(data.decode())
            if type(value) is not dict:
                raise ValueError(f"a JSON object was expected, not {type(value).__name__}")
            return self._convert(value)
        except DECODE_ERRORS as error:
            if self._ignore:
                return None
            raise DecodeError(str(error), where={"record": repr(data[:200])}) from error

    class Builder:
        """Builds a ``JsonRowDeserializationSchema``."""

        def __init__(self) -> None:
            self._type_info: RowTypeInfo | None = None
            self._fail_on_missing_field = False
            self._ignore_parse_errors = False

        def type_info(self, type_info: TypeInformation) -> JsonRowDeserializationSchema.Builder:
            """Set the type of the rows: ``Types.ROW_NAMED(names, types)``."""
            self._type_info = row_type_of(type_info)
            return self

        def json_schema(self, json_schema: str) -> JsonRowDeserializationSchema.Builder:
            """Set the type of the rows from a JSON schema (type, properties, items, format)."""
            self._type_info = row_type_of(type_of_json_schema(json.loads(json_schema)))
            return self

        def fail_on_missing_field(self) -> JsonRowDeserializationSchema.Builder:
            """Treat a missing field as a parse error; by default it becomes None."""
            self._fail_on_missing_field = True
            return self

        def ignore_parse_errors(self) -> JsonRowDeserializationSchema.Builder:
            """Return None for messages that cannot be parsed, instead of an error."""
            self._ignore_parse_errors = True
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """Return the schema.

            Raises:
                PlanError: the type is missing, or both options for parse errors are set.
            """
            if self._type_info is None:
                raise PlanError("a JSON row schema needs type_info or json_schema")
            if self._fail_on_missing_field and self._ignore_parse_errors:
                raise PlanError("fail_on_missing_field and ignore_parse_errors exclude each other")
            return JsonRowDeserializationSchema(
                self._type_info, self._fail_on_missing_field, self._ignore_parse_errors
            )


class JsonRowSerializationSchema(SerializationSchema):
    """Serializes rows of a declared type to JSON objects; decimals become exact numbers."""

    def __init__(self, row_type: RowTypeInfo) -> None:
        self._row_type = row_type
        self._write = to_text(row_type)

    def __reduce__(self) -> tuple[object, ...]:
        return (JsonRowSerializationSchema, (self._row_type,))

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """Return a new builder."""
        return JsonRowSerializationSchema.Builder()

    def serialize(self, value: Any) -> bytes:
        """Return the row as JSON in UTF-8."""
        return self._write(self._row_type.coerce(value)).encode()

    class Builder:
        """Builds a ``JsonRowSerializationSchema``."""

        def __init__(self) -> None:
            self._type_info: RowTypeInfo | None = None

        def with_type_info(self, type_info: TypeInformation) -> JsonRowSerializationSchema.Builder:
            """Set the type of the rows."""
            self._type_info = row_type_of(type_info)
            return self

        def build(self) -> JsonRowSerializationSchema:
            """Return the schema."""
            if self._type_info is None:
                raise PlanError("a JSON row schema needs with_type_info")
            return JsonRowSerializationSchema(self._type_info)


def row_type_of(type_info: Any) -> RowTypeInfo:
    """Return the argument, if it is a row type.

    Raises:
        PlanError: the argument is not a row type.
    """
    if not isinstance(type_info, RowTypeInfo):
        raise PlanError(
            f"the type of a row is needed here, not {type_info}",
            hint="use Types.ROW_NAMED(['name', …], [Types.STRING(), …])",
        )
    return type_info


def type_of_json_schema(schema: Any) -> TypeInformation:
    """Return the declared type that a JSON schema describes.

    Raises:
        PlanError: a part of the schema has no declared type (``$ref``, several types, …).
    """
    kind = schema.get("type") if isinstance(schema, dict) else None
    if isinstance(kind, list):
        kinds = [name for name in kind if name != "null"]
        kind = kinds[0] if len(kinds) == 1 else kind
    if kind == "object" and "properties" in schema:
        properties = schema["properties"]
        types = [type_of_json_schema(part) for part in properties.values()]
        return Types.ROW_NAMED(list(properties), types)
    if kind == "array" and isinstance(schema.get("items"), dict):
        return Types.OBJECT_ARRAY(type_of_json_schema(schema["items"]))
    if kind == "string":
        return _STRING_FORMATS.get(schema.get("format", ""), Types.STRING())
    if isinstance(kind, str) and kind in _SCHEMA_TYPES:
        return _SCHEMA_TYPES[kind]
    raise PlanError(
        "this part of the JSON schema has no declared type",
        where={"schema": json.dumps(schema)[:120]},
        hint="declare the rows with type_info(Types.ROW_NAMED(…)) instead",
    )


_SCHEMA_TYPES = {
    "boolean": Types.BOOLEAN(),
    "number": Types.BIG_DEC(),
    "integer": Types.BIG_INT(),
}
_STRING_FORMATS = {
    "date-time": Types.SQL_TIMESTAMP(),
    "date": Types.SQL_DATE(),
    "time": Types.SQL_TIME(),
}


@dataclass(frozen=True)
class JsonLinesEncoder:
    """Encodes each record as one JSON line in UTF-8; keys keep their order.

    Dictionaries, dataclasses and named rows become objects; tuples, lists and other rows become
    arrays. Values without a JSON type become strings: ``Decimal`` with its exact digits (without an
    exponent), dates and times in ISO 8601, bytes in base64. Enums are written as their value.
    """

    def encode(self, value: Any) -> bytes:
        """Return the record's line.

        Raises:
            TypeMismatchError: a value cannot be represented in JSON, or is NaN.
        """
        return write_line(value)

    def encode_all(self, values: Sequence[Any]) -> bytes:
        """Return the lines of several records."""
        return b"".join(map(write_line, values))

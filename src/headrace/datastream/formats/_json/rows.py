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
    """Rows of a declared type from JSON objects; fields that the type does not have are dropped."""

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
        """A new builder."""
        return JsonRowDeserializationSchema.Builder()

    def get_produced_type(self) -> RowTypeInfo:
        """The type of the rows."""
        return self._arguments[0]

    def deserialize(self, data: bytes) -> Any:
        """The row; None for what does not parse, if that was asked for."""
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
        """Collects what the schema needs."""

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
            """Take an object without one of the fields for undecodable, instead of None."""
            self._fail_on_missing_field = True
            return self

        def ignore_parse_errors(self) -> JsonRowDeserializationSchema.Builder:
            """Give None for what does not parse."""
            self._ignore_parse_errors = True
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """The schema."""
            if self._type_info is None:
                raise PlanError("a JSON row schema needs type_info or json_schema")
            if self._fail_on_missing_field and self._ignore_parse_errors:
                raise PlanError("fail_on_missing_field and ignore_parse_errors exclude each other")
            return JsonRowDeserializationSchema(
                self._type_info, self._fail_on_missing_field, self._ignore_parse_errors
            )


class JsonRowSerializationSchema(SerializationSchema):
    """JSON objects from rows of a declared type; decimals are numbers, exact."""

    def __init__(self, row_type: RowTypeInfo) -> None:
        self._row_type = row_type
        self._write = to_text(row_type)

    def __reduce__(self) -> tuple[object, ...]:
        return (JsonRowSerializationSchema, (self._row_type,))

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """A new builder."""
        return JsonRowSerializationSchema.Builder()

    def serialize(self, value: Any) -> bytes:
        """The row as JSON, in UTF-8."""
        return self._write(self._row_type.coerce(value)).encode()

    class Builder:
        """Collects what the schema needs."""

        def __init__(self) -> None:
            self._type_info: RowTypeInfo | None = None

        def with_type_info(self, type_info: TypeInformation) -> JsonRowSerializationSchema.Builder:
            """Set the type of the rows."""
            self._type_info = row_type_of(type_info)
            return self

        def build(self) -> JsonRowSerializationSchema:
            """The schema."""
            if self._type_info is None:
                raise PlanError("a JSON row schema needs with_type_info")
            return JsonRowSerializationSchema(self._type_info)


def row_type_of(type_info: Any) -> RowTypeInfo:
    """The argument, if it is the type of a row.

    Raises:
        PlanError: it is neither.
    """
    if not isinstance(type_info, RowTypeInfo):
        raise PlanError(
            f"the type of a row is needed here, not {type_info}",
            hint="use Types.ROW_NAMED(['name', …], [Types.STRING(), …])",
        )
    return type_info


def type_of_json_schema(schema: Any) -> TypeInformation:
    """The declared type that a JSON schema describes.

    Raises:
        PlanError: it uses what has no type here (``$ref``, several types, …).
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
    """One line of JSON per record, in UTF-8, keys in the record's own order.

    Dictionaries, dataclasses and rows with names become objects; tuples, lists and rows without
    names arrays. What JSON has no word for is a string: ``Decimal`` in its exact digits (never an
    exponent), dates and times in ISO 8601, bytes in base64, enums by their value.
    """

    def encode(self, value: Any) -> bytes:
        """The record's line.

        Raises:
            TypeMismatchError: it holds something that has no form in JSON, or NaN.
        """
        return write_line(value)

    def encode_all(self, values: Sequence[Any]) -> bytes:
        """The lines of many records."""
        return b"".join(map(write_line, values))

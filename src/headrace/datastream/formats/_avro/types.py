"""Declared types for Avro: generic records, and the row types of schemas."""

from __future__ import annotations

import json
from typing import Any

from headrace.common._types.data import TypeData
from headrace.common._types.information import Coercer, mismatch
from headrace.common.typeinfo import RowTypeInfo, TypeInformation, Types
from headrace.datastream.formats._avro.classes import RecordType
from headrace.datastream.formats._avro.coding import decoder, encoder
from headrace.datastream.formats._avro.nodes import (
    Mismatch,
    Node,
    Walker,
    logical_type,
    parsed,
)
from headrace.datastream.formats._avro.resolution import reason
from headrace.datastream.formats._avro.schema import AvroSchema, schema_of
from headrace.errors import PlanError, TypeMismatchError


class GenericRecordAvroTypeInfo(TypeInformation):
    """The type of dicts that fit an Avro schema.

    Values are converted as if they were written to Avro and read back: missing fields get their
    defaults, rows and objects become dicts.
    """

    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema_of(schema)

    def _arguments(self) -> tuple[Any, ...]:
        return (self._schema,)

    def to_data(self) -> TypeData:
        return {**super().to_data(), "schema": self._schema.text}

    def __str__(self) -> str:
        return f"GenericRecord({self._schema.name})"

    def coercer(self) -> Coercer | None:
        """Return a function that writes a record to Avro and reads it back, as PyFlink does."""
        encode = encoder(self._schema)
        decode = decoder(self._schema, self._schema, RecordType(dict, generic=True))

        def coerce(value: Any) -> Any:
            if value is None:
                return None
            try:
                return decode(encode(value))
            except TypeMismatchError as error:
                raise mismatch(value, self, error.message) from None

        return coerce

    @staticmethod
    def stored_conversion(before: TypeData, now: TypeData) -> Coercer | None:
        """Return a function that converts records of one schema to another, by Avro's resolution.

        Raises:
            TypeMismatchError: no record of the one can be read with the other.
        """
        writer, reader = AvroSchema(before["schema"]), AvroSchema(now["schema"])
        encode = encoder(writer)
        try:
            decode = decoder(writer, reader, RecordType(dict, generic=True))
        except Mismatch as error:
            raise TypeMismatchError(reason(error)) from None
        return lambda value: None if value is None else decode(encode(value))

    def _format(self, value: Any) -> str:
        return json.dumps(value, default=str, ensure_ascii=False)


def row_type_of_schema(schema: AvroSchema) -> RowTypeInfo:
    """Return the type of the rows into which Flink converts records of a schema.

    Raises:
        PlanError: the schema is not a record, or a record in it is recursive.
    """
    node, named = parsed(schema.text)
    found = _RowTypes(named).visit(node, ())
    if not isinstance(found, RowTypeInfo):
        raise PlanError(f"a record's schema is needed here, not {schema.name}")
    return found


class _RowTypes(Walker[TypeInformation]):
    """The type of each part. ``outer``: the names of the enclosing records."""

    def union(self, node: list[Node], outer: tuple[str, ...]) -> TypeInformation:
        branches = [branch for branch in node if branch != "null"]
        if len(branches) == 1:
            return self.visit(branches[0], outer)
        return Types.PICKLED_BYTE_ARRAY()

    def record(self, node: Node, outer: tuple[str, ...]) -> TypeInformation:
        if node["name"] in outer:
            raise PlanError(f"{node['name']} is recursive: a row type cannot be")
        inside = (*outer, node["name"])
        types = [self.visit(field["type"], inside) for field in node["fields"]]
        return Types.ROW_NAMED([field["name"] for field in node["fields"]], types)

    def array(self, node: Node, outer: tuple[str, ...]) -> TypeInformation:
        return Types.OBJECT_ARRAY(self.visit(node["items"], outer))

    def map(self, node: Node, outer: tuple[str, ...]) -> TypeInformation:
        return Types.MAP(Types.STRING(), self.visit(node["values"], outer))

    def scalar(self, node: Node, kind: str, outer: tuple[str, ...]) -> TypeInformation:
        return _SCALARS.get(f"{kind}-{logical_type(node)}") or _SCALARS[kind]


_BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())
_SCALARS: dict[str, TypeInformation] = {
    "null": Types.PICKLED_BYTE_ARRAY(),
    "boolean": Types.BOOLEAN(),
    "int": Types.INT(),
    "long": Types.LONG(),
    "float": Types.FLOAT(),
    "double": Types.DOUBLE(),
    "string": Types.STRING(),
    "enum": Types.STRING(),
    "bytes": _BYTES,
    "fixed": _BYTES,
    "bytes-decimal": Types.BIG_DEC(),
    "fixed-decimal": Types.BIG_DEC(),
    "int-date": Types.SQL_DATE(),
    "int-time-millis": Types.SQL_TIME(),
    "long-time-micros": Types.SQL_TIME(),
    "long-timestamp-millis": Types.SQL_TIMESTAMP(),
    "long-timestamp-micros": Types.SQL_TIMESTAMP(),
    "long-local-timestamp-millis": Types.SQL_TIMESTAMP(),
    "long-local-timestamp-micros": Types.SQL_TIMESTAMP(),
}

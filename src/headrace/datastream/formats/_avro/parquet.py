"""Records of an Avro schema in Parquet files: PyFlink's ``AvroParquetReaders`` and ``…Writers``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

import pyarrow as pa

from headrace.common.serialization import BulkWriterFactory
from headrace.connector import BadRecord, Chunk
from headrace.datastream.formats._avro.coding import MISFITS, UNREADABLE, misfit, preparation
from headrace.datastream.formats._avro.nodes import (
    Convert,
    Node,
    Walker,
    default_maker,
    kind_of,
    logical_type,
    parsed,
)
from headrace.datastream.formats._avro.schema import AvroSchema, schema_of
from headrace.datastream.formats._parquet.reader import ParquetFormat
from headrace.datastream.formats._parquet.writers import ParquetWriter
from headrace.errors import DecodeError, HeadraceError, PlanError

SCHEMA_KEY = b"parquet.avro.schema"
"""Where a Parquet file keeps the Avro schema of its records."""


class AvroParquetReaders:
    """Makes formats that read Parquet files as dicts of an Avro schema."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> AvroParquetFormat:
        """Return a format; fields are found by name, and a missing field gets its default value."""
        return AvroParquetFormat(schema_of(schema))


class AvroParquetWriters:
    """Makes Parquet writers for records of an Avro schema."""

    @staticmethod
    def for_generic_record(
        schema: AvroSchema, *, compression: str = "zstd"
    ) -> AvroParquetWriterFactory:
        """Return a writer of dicts, dataclasses or rows that fit the schema.

        Raises:
            PlanError: a part of the schema cannot be written to Parquet.
        """
        found = schema_of(schema)
        arrow_schema_of(found)
        return AvroParquetWriterFactory(found, compression)


@dataclass(frozen=True)
class AvroParquetFormat(ParquetFormat):
    """Reads dicts of an Avro schema from Parquet files."""

    schema: AvroSchema | None = None

    def __init__(self, schema: AvroSchema) -> None:
        super().__init__()
        object.__setattr__(self, "schema", schema)
        arrow_schema_of(schema)

    @property
    def has_columns(self) -> bool:
        return False  # values may differ from those in the file

    def _list_fields(self) -> Sequence[Mapping[str, Any]]:
        assert self.schema is not None
        fields: Sequence[Mapping[str, Any]] = parsed(self.schema.text)[0]["fields"]
        return fields

    def column_names(self, schema: Any) -> list[str]:
        """Return the schema's fields that the file has."""
        there = set(schema.names)
        return [field["name"] for field in self._list_fields() if field["name"] in there]

    def chunk(self, path: str, row: int, batch: Any) -> Chunk:
        """Return the rows of an Arrow batch as dicts.

        Rows that do not fit the schema are bad records.
        """
        chunk = Chunk([])
        try:
            convert = self._make_converter(batch.schema)
        except DecodeError as error:
            chunk.bad = [
                (0, BadRecord(b"", error.message, path, row + number))
                for number in range(batch.num_rows)
            ]
            return chunk
        for number, found in enumerate(batch.to_pylist(), row):
            try:
                chunk.values.append(convert(found))
            except (*UNREADABLE, AttributeError, HeadraceError) as error:
                reason = error.message if isinstance(error, HeadraceError) else str(error)
                bad = BadRecord(repr(found).encode(), reason, path, number)
                chunk.bad.append((len(chunk.values), bad))
        return chunk

    def _make_converter(self, found: Any) -> Convert:
        assert self.schema is not None
        named = parsed(self.schema.text)[1]
        parts: list[tuple[str, Convert | None, Callable[[], Any] | None]] = []
        for field in self._list_fields():
            name = field["name"]
            if name in found.names:
                parts.append((name, _FromArrow(named).visit(field["type"]), None))
            elif "default" in field:
                made = default_maker(field["type"], named, field["default"], None)
                parts.append((name, None, made))
            else:
                raise DecodeError(f"the file has no column {name!r}, which has no default")

        def convert(row: dict[str, Any]) -> dict[str, Any]:
            return {
                name: make() if make is not None else _apply_conversion(turn, row[name])
                for name, turn, make in parts
            }

        return convert


def _apply_conversion(turn: Convert | None, value: Any) -> Any:
    return value if turn is None else turn(value)


class _FromArrow(Walker[Convert | None]):
    """A function from pyarrow's value to the schema's; None: they are the same."""

    def union(self, node: list[Node], nullable: bool = False) -> Convert | None:
        return self.visit(only_branch(node), nullable="null" in node)

    def record(self, node: Node, nullable: bool = False) -> Convert | None:
        parts = [(field["name"], self.visit(field["type"])) for field in node["fields"]]
        return _make_null_check(
            lambda value: {name: _apply_conversion(part, value[name]) for name, part in parts},
            *(kind_of(node), nullable),
        )

    def array(self, node: Node, nullable: bool = False) -> Convert | None:
        each = self.visit(node["items"])
        return _make_null_check(
            lambda values: [_apply_conversion(each, value) for value in values], "array", nullable
        )

    def map(self, node: Node, nullable: bool = False) -> Convert | None:
        convert = self.visit(node["values"])
        return _make_null_check(
            lambda pairs: {key: _apply_conversion(convert, value) for key, value in pairs},
            "map",
            nullable,
        )

    def scalar(self, node: Node, kind: str, nullable: bool = False) -> Convert | None:
        return None if nullable else _make_null_check(None, kind, nullable)


def _make_null_check(turn: Convert | None, kind: str, nullable: bool) -> Convert:
    """Return a conversion that raises DecodeError for a null, unless ``nullable``."""

    def convert(value: Any) -> Any:
        if value is None:
            if nullable:
                return None
            raise DecodeError(f"a value is null where the schema has {kind}")
        return _apply_conversion(turn, value)

    return convert


@dataclass(frozen=True)
class AvroParquetWriterFactory(BulkWriterFactory):
    """Writes records of an Avro schema as Parquet."""

    schema: AvroSchema
    compression: str = "zstd"

    def create(self, file: IO[bytes]) -> AvroParquetWriter:
        """Return a writer into an open file."""
        return AvroParquetWriter(self.schema, file, self.compression)


class AvroParquetWriter(ParquetWriter):
    """Writes records into one file, a row group at a time."""

    def __init__(self, schema: AvroSchema, file: IO[bytes], compression: str) -> None:
        super().__init__(arrow_schema_of(schema), None, file, compression)
        self._avro, self._prepare = schema, preparation(schema)

    def write(self, values: Sequence[Any]) -> None:
        """Add records to the file.

        Raises:
            TypeMismatchError: a record does not fit the schema.
        """
        prepare = self._prepare
        value = None
        try:
            prepared = []
            for value in values:
                prepared.append(value if prepare is None else prepare(value))
        except MISFITS as error:
            raise misfit(self._avro, value, error) from error
        super().write(prepared)


def arrow_schema_of(schema: AvroSchema) -> Any:
    """Return the Arrow schema for records of an Avro schema; the Avro schema is in its metadata.

    Raises:
        PlanError: the schema is not a record, or Parquet has no type for a part of it.
    """
    node, named = parsed(schema.text)
    if kind_of(node) != "record":
        raise PlanError(f"a record's schema is needed here, not {schema.name}")
    return pa.schema(_ArrowTypes(named).fields(node), metadata={SCHEMA_KEY: schema.text.encode()})


class _ArrowTypes(Walker[tuple[Any, bool]]):
    """The Arrow type of a part, and whether it is nullable. ``outer``: the enclosing records."""

    def union(self, node: list[Node], outer: tuple[str, ...]) -> tuple[Any, bool]:
        return self.visit(only_branch(node), outer)[0], "null" in node

    def record(self, node: Node, outer: tuple[str, ...]) -> tuple[Any, bool]:
        return pa.struct(self.fields(node, outer)), False

    def array(self, node: Node, outer: tuple[str, ...]) -> tuple[Any, bool]:
        return pa.list_(self._make_field("element", node["items"], outer)), False

    def map(self, node: Node, outer: tuple[str, ...]) -> tuple[Any, bool]:
        return pa.map_(pa.string(), self._make_field("value", node["values"], outer)), False

    def scalar(self, node: Node, kind: str, outer: tuple[str, ...]) -> tuple[Any, bool]:
        if logical_type(node) == "decimal" and kind in ("bytes", "fixed"):
            return pa.decimal128(node["precision"], node.get("scale", 0)), False
        if kind == "fixed":
            return pa.binary(node["size"]), False
        found = _ARROW.get(f"{kind}-{logical_type(node)}") or _ARROW.get(kind)
        if found is None:
            raise PlanError(f"Parquet cannot represent Avro's {kind}")
        return found, False

    def fields(self, node: Node, outer: tuple[str, ...] = ()) -> list[Any]:
        """Return the fields of a record."""
        if node["name"] in outer:
            raise PlanError(f"Parquet cannot represent {node['name']}, which is recursive")
        inside = (*outer, node["name"])
        return [self._make_field(field["name"], field["type"], inside) for field in node["fields"]]

    def _make_field(self, name: str, node: Node, outer: tuple[str, ...]) -> Any:
        return pa.field(name, *self.visit(node, outer))


def only_branch(union: list[Node]) -> Node:
    """Return the single type of a union besides null.

    Raises:
        PlanError: the union has several other types.
    """
    parts = [part for part in union if part != "null"]
    if len(parts) != 1:
        raise PlanError("Parquet cannot represent a union of several types")
    return parts[0]


_ARROW: dict[str, Any] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "enum": pa.string(),
    "bytes": pa.binary(),
    "int-date": pa.date32(),
    "int-time-millis": pa.time32("ms"),
    "long-time-micros": pa.time64("us"),
    "long-timestamp-millis": pa.timestamp("ms", "UTC"),
    "long-timestamp-micros": pa.timestamp("us", "UTC"),
    "long-local-timestamp-millis": pa.timestamp("ms"),
    "long-local-timestamp-micros": pa.timestamp("us"),
}

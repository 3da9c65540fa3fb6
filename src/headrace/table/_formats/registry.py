"""Formats by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from headrace.sql.rel import Columns
from headrace.table._formats.format import TableFormat
from headrace.table._options import TableOption, find_named

_FORMATS = {
    "json": "headrace.table._formats.json.format:JsonTableFormat",
    "csv": "headrace.table._formats.csv.format:CsvTableFormat",
    "debezium-json": "headrace.table._formats.debezium_json:DebeziumJsonFormat",
    "avro": "headrace.table._formats.avro.format:AvroTableFormat",
    "avro-confluent": "headrace.table._formats.avro.confluent:AvroConfluentFormat",
    "parquet": "headrace.table._formats.parquet:ParquetTableFormat",
    "raw": "headrace.table._formats.raw:RawFormat",
}


def find_format(
    identifier: str | None, table: str = "", others: Iterable[str] = ()
) -> type[TableFormat]:
    """Return the class of a format. ``table``, ``others``: as ``find_named`` has them.

    Raises:
        SqlValidationError: there is none of this name.
    """
    module, _, name = find_named("format", identifier, _FORMATS, table, others).partition(":")
    found: type[TableFormat] = getattr(import_module(module), name)
    return found


def format_options(kind: type[TableFormat], prefix: str = "") -> list[TableOption]:
    """Return a format's options as a table has them, such as ``json.ignore-parse-errors``."""
    return [option.prefixed(f"{prefix}{kind.identifier}.") for option in kind.options]


def make_format(
    kind: type[TableFormat],
    table: str,
    columns: Columns,
    options: Mapping[str, Any],
    prefix: str = "",
) -> TableFormat:
    """Return a format for columns, with its part of a table's parsed options."""
    before = f"{prefix}{kind.identifier}."
    own = {option.key: options[before + option.key] for option in kind.options}
    return kind.create(table, columns, own)

"""Formats by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from headrace.errors import SqlValidationError
from headrace.sql.rel import Columns
from headrace.table._formats.format import Place, TableFormat
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
    identifier: str | None,
    table: str = "",
    others: Iterable[str] = (),
    place: Place | None = None,
) -> type[TableFormat]:
    """Return the class of a format. ``table``, ``others``: as ``find_named`` has them.

    ``place``: where its values are to be.

    Raises:
        SqlValidationError: there is none of this name, or it is not for the place.
    """
    found = _load(find_named("format", identifier, _FORMATS, table, others))
    if place is not None and place not in found.places:
        fitting = [name for name, path in _FORMATS.items() if place in _load(path).places]
        raise SqlValidationError(
            f"table {table!r}: the format {identifier!r} is not for {place}",
            where={f"formats of {place}": ", ".join(fitting)},
        )
    return found


def _load(path: str) -> type[TableFormat]:
    module, _, name = path.partition(":")
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

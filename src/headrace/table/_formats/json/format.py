"""JSON as a format of tables: an object is a row, and an array of objects several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from headrace.common._options.values import ValueKind
from headrace.errors import SqlValidationError
from headrace.sql.rel import Columns
from headrace.sql.types import (
    CharacterType,
    Field,
    MapType,
    MultisetType,
    NullType,
    RowType,
    SqlType,
    to_arrow,
)
from headrace.table._formats.format import Decoded, TableFormat
from headrace.table._formats.json.columns import JsonColumns
from headrace.table._formats.json.encode import JsonWriting, lines_encoder
from headrace.table._formats.json.values import JsonRules, parse_text, row_reader
from headrace.table._formats.rows import RowsBuilder, decode_in_parts
from headrace.table._options import TableOption

_TIMESTAMPS = TableOption(
    "timestamp-format.standard", ValueKind.CHOICE, "SQL", choices=("SQL", "ISO-8601")
)
_FAIL_ON_MISSING = TableOption("fail-on-missing-field", ValueKind.BOOLEAN, False)
_IGNORE_ERRORS = TableOption("ignore-parse-errors", ValueKind.BOOLEAN, False)
_NULL_KEYS = TableOption(
    "map-null-key.mode", ValueKind.CHOICE, "FAIL", choices=("FAIL", "DROP", "LITERAL")
)
_NULL_KEY = TableOption("map-null-key.literal", default="null")
_PLAIN_DECIMALS = TableOption("encode.decimal-as-plain-number", ValueKind.BOOLEAN, False)
_IGNORE_NULLS = TableOption("encode.ignore-null-fields", ValueKind.BOOLEAN, False)
_PARSER = TableOption("decode.json-parser.enabled", ValueKind.BOOLEAN, True)

JSON_OPTIONS = (
    _FAIL_ON_MISSING,
    _IGNORE_ERRORS,
    _TIMESTAMPS,
    _NULL_KEYS,
    _NULL_KEY,
    _PLAIN_DECIMALS,
    _IGNORE_NULLS,
)


@dataclass(frozen=True)
class JsonTableFormat(TableFormat):
    """Rows as JSON objects."""

    rules: JsonRules = field(default_factory=JsonRules)
    writing: JsonWriting = field(default_factory=JsonWriting)

    identifier = "json"
    options = (*JSON_OPTIONS, _PARSER)
    encodes_arrays = True

    @classmethod
    def create(cls, table: str, columns: Columns, options: Mapping[str, Any]) -> Self:
        if options["fail-on-missing-field"] and options["ignore-parse-errors"]:
            raise SqlValidationError(
                f"table {table!r}: fail-on-missing-field and ignore-parse-errors shouldn't both be"
                " enabled"
            )
        for column in columns:
            check_json_type(table, column.name, column.type)
        iso = options["timestamp-format.standard"] == "ISO-8601"
        return cls(
            columns,
            JsonRules(iso, options["fail-on-missing-field"], options["ignore-parse-errors"]),
            JsonWriting(
                iso,
                options["map-null-key.mode"],
                options["map-null-key.literal"],
                options["encode.decimal-as-plain-number"],
                options["encode.ignore-null-fields"],
            ),
        )

    def decode(self, values: Sequence[bytes]) -> Decoded:
        return decode_in_parts(values, self._decode_block, self._decode_one_by_one)

    def decode_lines(self, lines: bytes) -> Decoded:
        batch = self._decode_block(lines)
        return super().decode_lines(lines) if batch is None else Decoded(batch)

    def encode(self, columns: Sequence[Sequence[Any]], kinds: Sequence[int] | None) -> list[bytes]:
        return self._encode(columns)

    def _decode_block(self, block: bytes, count: int | None = None) -> Any | None:
        return self._columns.batch(block, count) if self._columns.usable else None

    @cached_property
    def _columns(self) -> JsonColumns:
        return JsonColumns(self.columns, self.rules)

    @cached_property
    def _read(self) -> Callable[[Any], Any]:
        return row_reader(row_type(self.columns), self.rules)

    @cached_property
    def _encode(self) -> Callable[[Sequence[Sequence[Any]]], list[bytes]]:
        return lines_encoder(row_type(self.columns), self.writing)

    def _decode_one_by_one(self, values: Sequence[bytes], first: int) -> Decoded:
        read, rows = self._read, RowsBuilder(self.schema, first, self.rules.ignore_errors)
        for index, value in enumerate(values):
            if not value:
                continue
            try:
                found = parse_text(value.decode())
                for each in found if isinstance(found, list) else (found,):
                    if not isinstance(each, dict):
                        raise ValueError("a JSON object was expected")
                    rows.add(index, [*read(each).values()])
            except (ValueError, ArithmeticError, RecursionError) as error:
                rows.bad(index, str(error) or type(error).__name__)
        return rows.build(len(values))


def row_type(columns: Columns) -> RowType:
    """Return the row with the columns as fields."""
    return RowType(tuple(Field(column.name, column.type) for column in columns))


def check_json_type(table: str, name: str, kind: SqlType) -> None:
    """Raise SqlValidationError for a type that JSON does not have."""
    if isinstance(kind, NullType):
        raise SqlValidationError(f"column {name!r} of table {table!r} has no type for JSON")
    if isinstance(kind, MapType | MultisetType):
        key = kind.key if isinstance(kind, MapType) else kind.element
        if not isinstance(key, CharacterType):
            raise SqlValidationError(
                f"column {name!r} of table {table!r}: JSON format doesn't support non-string as"
                f" key type of map. The type is: {kind}"
            )
    if isinstance(kind, RowType):
        for each in kind.fields:
            check_json_type(table, name, each.type)
    to_arrow(kind)

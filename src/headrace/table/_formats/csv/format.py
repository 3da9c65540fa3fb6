"""CSV as a format of tables: a line is a row."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

from headrace.common._options.values import ValueKind
from headrace.common.typeinfo import TypeInformation, Types
from headrace.datastream.formats._csv.fields import CsvDialect
from headrace.datastream.formats._csv.schema import CsvSchema
from headrace.errors import SqlValidationError
from headrace.sql.rel import Columns, arrow_schema, chosen_columns
from headrace.table._formats.csv.columns import TableCsvColumns, read_as
from headrace.table._formats.csv.encode import CsvWriting, line_encoder
from headrace.table._formats.csv.quoted import QuotedFields, quotes_whole_fields
from headrace.table._formats.csv.values import CsvRules, arrays_of, field_reader
from headrace.table._formats.format import Decoded, TableFormat, split_lines
from headrace.table._formats.rows import RowsBuilder, decode_in_parts
from headrace.table._options import TableOption

_DELIMITER = TableOption("field-delimiter", default=",")
_NO_QUOTE = TableOption("disable-quote-character", ValueKind.BOOLEAN, False)
_QUOTE = TableOption("quote-character", default='"')
_BLANK_BEGIN = re.compile(rb"^[ \t]|#", re.MULTILINE)
_COMMENTS = TableOption("allow-comments", ValueKind.BOOLEAN, False)
_IGNORE_ERRORS = TableOption("ignore-parse-errors", ValueKind.BOOLEAN, False)
_ELEMENTS = TableOption("array-element-delimiter", default=";")
_ESCAPE = TableOption("escape-character")
_NULL = TableOption("null-literal")
# Flink 2.3 writes the same with both values.
_SCIENTIFIC = TableOption("write-bigdecimal-in-scientific-notation", ValueKind.BOOLEAN, True)


@dataclass(frozen=True)
class CsvTableFormat(TableFormat):
    """Rows as lines of CSV."""

    dialect: CsvDialect = field(default_factory=CsvDialect)
    rules: CsvRules = field(default_factory=CsvRules)
    allow_comments: bool = False
    projection: tuple[str, ...] | None = None
    """The names of the columns to decode; None: all. A line has the fields of all columns."""

    identifier = "csv"
    encodes_arrays = True
    options = (
        _DELIMITER,
        _NO_QUOTE,
        _QUOTE,
        _COMMENTS,
        _IGNORE_ERRORS,
        _ELEMENTS,
        _ESCAPE,
        _NULL,
        _SCIENTIFIC,
    )

    @classmethod
    def create(cls, table: str, columns: Columns, options: Mapping[str, Any]) -> Self:
        quote = None if options["disable-quote-character"] else options["quote-character"]
        delimiter = unescape(options["field-delimiter"])
        for name, char in (
            ("field-delimiter", delimiter),
            ("quote-character", quote),
            ("escape-character", options["escape-character"]),
        ):
            if char is not None and len(char) != 1:
                raise SqlValidationError(
                    f"table {table!r}: csv.{name} is {char!r}, but must be one character"
                )
        return cls(
            columns,
            CsvDialect(delimiter, quote, options["escape-character"]),
            CsvRules(
                options["null-literal"],
                options["array-element-delimiter"],
                options["ignore-parse-errors"],
            ),
            options["allow-comments"],
        )

    def of_columns(self, names: Collection[str]) -> Self:
        return replace(self, projection=tuple(names))

    @cached_property
    def schema(self) -> Any:
        return arrow_schema(self._decoded)

    @cached_property
    def _decoded(self) -> Columns:
        return chosen_columns(self.columns, self.projection)

    def decode(self, values: Sequence[bytes]) -> Decoded:
        return decode_in_parts(values, self._decode_block, self._decode_one_by_one)

    def decode_lines(self, lines: bytes) -> Decoded:
        count = lines.count(b"\n") + (not lines.endswith(b"\n"))
        batch = self._decode_block(lines, count)
        if batch is not None:
            return Decoded(batch)
        if self.may_span_lines and self._quoted_fields.span_lines(lines):
            return self._decode_one_by_one(self._quoted_fields.records(lines), 0)
        return self.decode(split_lines(lines))

    @property
    def may_span_lines(self) -> bool:
        return self.dialect.quote is not None

    def is_open(self, lines: bytes, opened: bool = False) -> bool:
        return self.may_span_lines and self._quoted_fields.is_open(lines, opened)

    def encode(self, columns: Sequence[Sequence[Any]], kinds: Sequence[int] | None) -> list[bytes]:
        return self._encode(columns)

    def _decode_block(self, block: bytes, count: int) -> Any | None:
        import pyarrow as pa

        if self.allow_comments and _BLANK_BEGIN.search(block):
            return None  # blanks before a comment or the first field are skipped
        if block.count(b"\n") + (not block.endswith(b"\n")) != count:
            return None
        quoted = self.dialect.quote == '"' and self.dialect.escape is None and b'"' in block
        if quoted and not quotes_whole_fields(block, self.dialect.delimiter):
            return None
        readers = self._quoted_columns if quoted else self._columns
        batches = (reader.batch(block) for reader in readers)
        found = next((batch for batch in batches if batch is not None), None)
        if found is None or found.num_rows != count:
            return None
        arrays = arrays_of(found.columns, [column.type for column in self._decoded])
        return None if arrays is None else pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    @cached_property
    def _quoted_fields(self) -> QuotedFields:
        return QuotedFields(self.dialect, comments=self.allow_comments)

    @cached_property
    def _columns(self) -> list[TableCsvColumns]:
        return self._readers(quoted=False)

    @cached_property
    def _quoted_columns(self) -> list[TableCsvColumns]:
        return self._readers(quoted=True)

    def _readers(self, *, quoted: bool) -> list[TableCsvColumns]:
        """Return the reader of numbers and texts; and that of texts, for what it refuses."""
        texts = [Types.STRING() for _ in self._decoded]
        kinds = [read_as(column.type) for column in self._decoded]
        dialect = replace(self.dialect, quote=None) if quoted else self.dialect
        return [
            self._reader(each, dialect, quoted)
            for each in ([kinds, texts] if kinds != texts else [texts])
        ]

    def _reader(
        self, kinds: Sequence[TypeInformation], dialect: CsvDialect, quoted: bool
    ) -> TableCsvColumns:
        names = tuple(column.name for column in self._decoded)
        schema = CsvSchema(
            names, tuple(kinds), ("",) * len(names), dialect, allow_comments=self.allow_comments
        )
        of_lines = tuple(column.name for column in self.columns)
        return TableCsvColumns(schema, of_lines, self.rules.null_literal, quoted)

    @cached_property
    def _encode(self) -> Callable[[Sequence[Sequence[Any]]], list[bytes]]:
        writing = CsvWriting(self.dialect, self.rules)
        return line_encoder([column.type for column in self.columns], writing)

    @cached_property
    def _reads(self) -> list[Any]:
        csv.field_size_limit(max(csv.field_size_limit(), sys.maxsize))
        decoded = {column.name for column in self._decoded}
        return [
            field_reader(column.type, self.rules) if column.name in decoded else None
            for column in self.columns
        ]

    def _decode_one_by_one(self, values: Sequence[bytes | None], first: int) -> Decoded:
        reads, rows = self._reads, RowsBuilder(self.schema, first, self.rules.ignore_errors)
        options, escape = self.dialect.options(), self.dialect.escape
        escaped = None if escape is None else re.compile(f"({re.escape(escape)})(.)", re.DOTALL)
        for index, value in enumerate(values):
            if value is None:
                continue
            try:
                text = value.decode()
                if self.allow_comments:
                    text = text.lstrip(" \t")
                    if text.startswith("#"):
                        continue
                if escaped is not None:
                    text = escaped.sub(_control_character, text)
                fields = next(csv.reader([text], **options), None) or [""]
                if escaped is not None:
                    fields = [field.translate(_STOOD_FOR) for field in fields]
                rows.add(index, self._row_of(fields, reads))
            except (ValueError, ArithmeticError, csv.Error) as error:
                rows.bad(index, str(error) or type(error).__name__)
        return rows.build(len(values))

    def _row_of(self, fields: list[str], reads: Sequence[Any]) -> list[Any]:
        """Return the values of a row. Where errors are ignored, missing fields are NULL.

        Raises:
            ValueError: a field is wrong, or there are too many or too few.
        """
        if len(fields) == len(reads):
            return [read(text) for read, text in zip(reads, fields, strict=True) if read]
        if len(fields) > len(reads) or not self.rules.ignore_errors:
            raise ValueError(
                f"Row length mismatch. {len(reads)} fields expected but was {len(fields)}."
            )
        found = [read(text) for read, text in zip(reads, fields, strict=False) if read]
        return found + [None] * sum(read is not None for read in reads[len(fields) :])


_CONTROLS = {"n": "\ue000", "t": "\ue001", "r": "\ue002", "0": "\ue003"}
"""What stands for control characters while Python's csv module reads a line."""
_STOOD_FOR = {0xE000: "\n", 0xE001: "\t", 0xE002: "\r", 0xE003: "\0"}


def _control_character(found: re.Match[str]) -> str:
    r"""Return an escaped character; ``\n``, say, is a line end."""
    return _CONTROLS.get(found[2], found[0])


def unescape(text: str) -> str:
    r"""Return a delimiter as it is given in SQL: ``\t`` is a tab."""
    names = {"\\t": "\t", "\\n": "\n", "\\r": "\r", "\\b": "\b", "\\f": "\f", "\\\\": "\\"}
    if text.startswith("\\u") and len(text) == 6:
        return chr(int(text[2:], 16))
    return names.get(text, text)

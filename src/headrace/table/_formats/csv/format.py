"""CSV as a format of tables: a line is a row."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

from headrace.common._options.values import ValueKind
from headrace.common.typeinfo import Types
from headrace.datastream.formats._csv.columns import CsvColumns
from headrace.datastream.formats._csv.fields import CsvDialect
from headrace.datastream.formats._csv.schema import CsvSchema
from headrace.errors import SqlValidationError
from headrace.sql.rel import Columns
from headrace.table._formats.csv.encode import CsvWriting, line_encoder
from headrace.table._formats.csv.quoted import (
    QuotedCsvColumns,
    QuotedFields,
    quotes_whole_fields,
)
from headrace.table._formats.csv.values import CsvRules, arrays_of_texts, field_reader
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

    identifier = "csv"
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
        if self.dialect.quote == '"' and self.dialect.escape is None and b'"' in block:
            if not quotes_whole_fields(block, self.dialect.delimiter):
                return None
            found = self._quoted_texts.batch(block)
        else:
            found = self._texts.batch(block)
        if found is None or found.num_rows != count:
            return None
        kinds = [column.type for column in self.columns]
        arrays = arrays_of_texts(found.columns, kinds, self.rules)
        return None if arrays is None else pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    @cached_property
    def _quoted_fields(self) -> QuotedFields:
        return QuotedFields(self.dialect, comments=self.allow_comments)

    @cached_property
    def _texts(self) -> CsvColumns:
        return CsvColumns(self._text_schema(self.dialect), self._names)

    @cached_property
    def _quoted_texts(self) -> CsvColumns:
        without = replace(self.dialect, quote=None)
        return QuotedCsvColumns(self._text_schema(without), self._names)

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def _text_schema(self, dialect: CsvDialect) -> CsvSchema:
        names = self._names
        return CsvSchema(
            names,
            (Types.STRING(),) * len(names),
            ("",) * len(names),
            dialect,
            allow_comments=self.allow_comments,
        )

    @cached_property
    def _encode(self) -> Callable[[Sequence[Sequence[Any]]], list[bytes]]:
        writing = CsvWriting(self.dialect, self.rules)
        return line_encoder([column.type for column in self.columns], writing)

    @cached_property
    def _reads(self) -> list[Any]:
        csv.field_size_limit(max(csv.field_size_limit(), sys.maxsize))
        return [field_reader(column.type, self.rules) for column in self.columns]

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
            return [read(text) for read, text in zip(reads, fields, strict=True)]
        if len(fields) > len(reads) or not self.rules.ignore_errors:
            raise ValueError(
                f"Row length mismatch. {len(reads)} fields expected but was {len(fields)}."
            )
        found = [read(text) for read, text in zip(reads, fields, strict=False)]
        return found + [None] * (len(reads) - len(found))


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

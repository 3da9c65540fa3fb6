"""Rows of a declared type from and to single lines of CSV."""

from __future__ import annotations

import csv
from dataclasses import replace
from typing import Any

from headrace.common.serialization import DeserializationSchema, SerializationSchema
from headrace.common.typeinfo import RowTypeInfo, TypeInformation
from headrace.common.types import row_of
from headrace.datastream.formats._csv.fields import (
    CsvDialect,
    CsvLines,
    field_reader,
    field_writer,
)
from headrace.datastream.formats._json.rows import row_type_of
from headrace.datastream.formats._lines import DECODE_ERRORS, without_end
from headrace.errors import DecodeError


class CsvRowDeserializationSchema(DeserializationSchema):
    """Rows of a declared type, each from one line of CSV."""

    def __init__(
        self,
        row_type: RowTypeInfo,
        dialect: CsvDialect,
        array_separator: str = ";",
        allow_comments: bool = False,
        ignore_parse_errors: bool = False,
    ) -> None:
        self._arguments = (
            row_type, dialect, array_separator, allow_comments, ignore_parse_errors,
        )  # fmt: skip
        self._options = dialect.options()
        self._comments, self._ignore = allow_comments, ignore_parse_errors
        self._names = tuple(row_type.get_field_names())
        self._reads = [
            field_reader(kind, array_separator, dialect.null) for kind in row_type.get_field_types()
        ]

    def __reduce__(self) -> tuple[object, ...]:
        return (CsvRowDeserializationSchema, self._arguments)

    def get_produced_type(self) -> RowTypeInfo:
        """The type of the rows."""
        return self._arguments[0]

    def deserialize(self, data: bytes) -> Any:
        """The row; None for a comment, and for what does not parse if that was asked for."""
        try:
            text = without_end(data).decode()
            if self._comments and text.startswith("#"):
                return None
            rows = list(csv.reader([text], **self._options))
            fields = rows[0] if rows else []
            if len(fields) != len(self._reads):
                raise ValueError(f"{len(fields)} fields where {len(self._reads)} were expected")
            return row_of(
                self._names, [read(part) for read, part in zip(self._reads, fields, strict=True)]
            )
        except DECODE_ERRORS as error:
            if self._ignore:
                return None
            raise DecodeError(str(error), where={"record": repr(data[:200])}) from error

    class Builder:
        """Collects what the schema needs."""

        def __init__(self, type_info: TypeInformation) -> None:
            self._row_type = row_type_of(type_info)
            self._dialect = CsvDialect()
            self._array_separator = ";"
            self._allow_comments = False
            self._ignore_parse_errors = False

        def set_field_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            """Set the character between fields; a comma otherwise."""
            self._dialect = replace(self._dialect, delimiter=delimiter)
            return self

        def set_allow_comments(self, allow_comments: bool) -> CsvRowDeserializationSchema.Builder:
            """Give None for lines that begin with ``#``."""
            self._allow_comments = allow_comments
            return self

        def set_array_element_delimiter(
            self, delimiter: str
        ) -> CsvRowDeserializationSchema.Builder:
            """Set the text between the elements of arrays; a semicolon otherwise."""
            self._array_separator = delimiter
            return self

        def set_quote_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """Set the character around fields; a double quote otherwise."""
            self._dialect = replace(self._dialect, quote=c)
            return self

        def set_escape_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """Set the character that takes the next one literally; none otherwise."""
            self._dialect = replace(self._dialect, escape=c)
            return self

        def set_null_literal(self, null_literal: str) -> CsvRowDeserializationSchema.Builder:
            """Set the text that stands for None."""
            self._dialect = replace(self._dialect, null=null_literal)
            return self

        def set_ignore_parse_errors(
            self, ignore_parse_errors: bool
        ) -> CsvRowDeserializationSchema.Builder:
            """Give None for what does not parse."""
            self._ignore_parse_errors = ignore_parse_errors
            return self

        def build(self) -> CsvRowDeserializationSchema:
            """The schema."""
            return CsvRowDeserializationSchema(
                self._row_type,
                self._dialect,
                self._array_separator,
                self._allow_comments,
                self._ignore_parse_errors,
            )


class CsvRowSerializationSchema(SerializationSchema):
    """Lines of CSV (with their end) from rows of a declared type."""

    def __init__(
        self, row_type: RowTypeInfo, dialect: CsvDialect, array_separator: str = ";"
    ) -> None:
        self._arguments = (row_type, dialect, array_separator)
        self._lines = CsvLines(
            [
                field_writer(kind, array_separator, dialect.null or "")
                for kind in row_type.get_field_types()
            ],
            dialect,
        )

    def __reduce__(self) -> tuple[object, ...]:
        return (CsvRowSerializationSchema, self._arguments)

    def serialize(self, value: Any) -> bytes:
        """The row's line, in UTF-8."""
        return self._lines.of([self._arguments[0].coerce(value)])

    class Builder:
        """Collects what the schema needs."""

        def __init__(self, type_info: TypeInformation) -> None:
            self._row_type = row_type_of(type_info)
            self._dialect = CsvDialect()
            self._array_separator = ";"

        def set_field_delimiter(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set the character between fields; a comma otherwise."""
            self._dialect = replace(self._dialect, delimiter=c)
            return self

        def set_line_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            r"""Set what ends a line; ``\n`` otherwise, and nothing where it is empty."""
            self._dialect = replace(self._dialect, line_end=delimiter)
            return self

        def set_array_element_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """Set the text between the elements of arrays; a semicolon otherwise."""
            self._array_separator = delimiter
            return self

        def disable_quote_character(self) -> CsvRowSerializationSchema.Builder:
            """Let no character quote a field."""
            self._dialect = replace(self._dialect, quote=None)
            return self

        def set_quote_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set the character around fields; a double quote otherwise."""
            self._dialect = replace(self._dialect, quote=c)
            return self

        def set_escape_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set the character that takes the next one literally; none otherwise."""
            self._dialect = replace(self._dialect, escape=c)
            return self

        def set_null_literal(self, s: str) -> CsvRowSerializationSchema.Builder:
            """Set the text that stands for None; empty otherwise."""
            self._dialect = replace(self._dialect, null=s)
            return self

        def build(self) -> CsvRowSerializationSchema:
            """The schema."""
            return CsvRowSerializationSchema(self._row_type, self._dialect, self._array_separator)

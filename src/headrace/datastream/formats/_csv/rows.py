"""Converts rows of a declared type from and to CSV lines."""

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
    """Deserializes rows of a declared type, each from one CSV line."""

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
        """Return the type of the rows."""
        return self._arguments[0]

    def deserialize(self, data: bytes) -> Any:
        """Return the row; None for an allowed comment, or if parse errors are ignored.

        Raises:
            DecodeError: the line cannot be parsed, and parse errors are not ignored.
        """
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
        """Builds a ``CsvRowDeserializationSchema``."""

        def __init__(self, type_info: TypeInformation) -> None:
            self._row_type = row_type_of(type_info)
            self._dialect = CsvDialect()
            self._array_separator = ";"
            self._allow_comments = False
            self._ignore_parse_errors = False

        def set_field_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            """Set the character between fields (default comma)."""
            self._dialect = replace(self._dialect, delimiter=delimiter)
            return self

        def set_allow_comments(self, allow_comments: bool) -> CsvRowDeserializationSchema.Builder:
            """Set whether lines that begin with ``#`` are comments, which become None."""
            self._allow_comments = allow_comments
            return self

        def set_array_element_delimiter(
            self, delimiter: str
        ) -> CsvRowDeserializationSchema.Builder:
            """Set the text between the elements of arrays (default semicolon)."""
            self._array_separator = delimiter
            return self

        def set_quote_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """Set the character that quotes fields (default double quote)."""
            self._dialect = replace(self._dialect, quote=c)
            return self

        def set_escape_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """Set the character that escapes the next one (default none)."""
            self._dialect = replace(self._dialect, escape=c)
            return self

        def set_null_literal(self, null_literal: str) -> CsvRowDeserializationSchema.Builder:
            """Set the text that means None (default none)."""
            self._dialect = replace(self._dialect, null=null_literal)
            return self

        def set_ignore_parse_errors(
            self, ignore_parse_errors: bool
        ) -> CsvRowDeserializationSchema.Builder:
            """Set whether lines that cannot be parsed become None instead of an error."""
            self._ignore_parse_errors = ignore_parse_errors
            return self

        def build(self) -> CsvRowDeserializationSchema:
            """Return the schema."""
            return CsvRowDeserializationSchema(
                self._row_type,
                self._dialect,
                self._array_separator,
                self._allow_comments,
                self._ignore_parse_errors,
            )


class CsvRowSerializationSchema(SerializationSchema):
    """Serializes rows of a declared type to CSV lines, including the line end."""

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
        """Return the row's line in UTF-8."""
        return self._lines.of([self._arguments[0].coerce(value)])

    class Builder:
        """Builds a ``CsvRowSerializationSchema``."""

        def __init__(self, type_info: TypeInformation) -> None:
            self._row_type = row_type_of(type_info)
            self._dialect = CsvDialect()
            self._array_separator = ";"

        def set_field_delimiter(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set the character between fields (default comma)."""
            self._dialect = replace(self._dialect, delimiter=c)
            return self

        def set_line_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            r"""Set the line end (default ``\n``); it may be empty."""
            self._dialect = replace(self._dialect, line_end=delimiter)
            return self

        def set_array_element_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """Set the text between the elements of arrays (default semicolon)."""
            self._array_separator = delimiter
            return self

        def disable_quote_character(self) -> CsvRowSerializationSchema.Builder:
            """Never quote fields."""
            self._dialect = replace(self._dialect, quote=None)
            return self

        def set_quote_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set the character that quotes fields (default double quote)."""
            self._dialect = replace(self._dialect, quote=c)
            return self

        def set_escape_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set the character that escapes the next one (default none)."""
            self._dialect = replace(self._dialect, escape=c)
            return self

        def set_null_literal(self, s: str) -> CsvRowSerializationSchema.Builder:
            """Set the text that is written for None (default empty)."""
            self._dialect = replace(self._dialect, null=s)
            return self

        def build(self) -> CsvRowSerializationSchema:
            """Return the schema."""
            return CsvRowSerializationSchema(self._row_type, self._dialect, self._array_separator)

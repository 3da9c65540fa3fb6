"""CSV files written by ``FileSink``: an encoder of records, and a writer of rows of a schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import IO, Any

from headrace.common.serialization import BulkWriterFactory
from headrace.common.types import row_of
from headrace.datastream.formats._csv.fields import CsvDialect, CsvLines, field_writer, fields_of
from headrace.datastream.formats._csv.schema import CsvSchema
from headrace.errors import PlanError

_PLAIN = frozenset({str, int, float, Decimal})
"""Types that the csv module writes correctly; it would write True and None as Python does."""


@dataclass(frozen=True)
class CsvEncoder:
    """Encodes each record as one CSV line in UTF-8, for ``FileSink.for_row_format``.

    ``columns`` names the fields of dictionaries, dataclasses and named rows to write, in order;
    tuples, lists and other rows are written by position. ``header`` writes the names to the first
    line of each file. None becomes ``null_value``; decimals are exact, times are in ISO 8601.
    """

    columns: tuple[str, ...] | None = None
    header: bool = False
    separator: str = ","
    quote: str | None = '"'
    null_value: str = ""

    def __init__(
        self,
        columns: Sequence[str] | None = None,
        header: bool = False,
        separator: str = ",",
        quote: str | None = '"',
        null_value: str = "",
    ) -> None:
        if header and not columns:
            raise PlanError("a CSV header needs the names of the columns")
        object.__setattr__(self, "columns", tuple(columns) if columns is not None else None)
        for name, value in (
            ("header", header), ("separator", separator), ("quote", quote),
            ("null_value", null_value),
        ):  # fmt: skip
            object.__setattr__(self, name, value)
        self._make_dialect()

    def _make_dialect(self) -> CsvDialect:
        return CsvDialect(self.separator, self.quote)

    def head(self) -> bytes:
        """Return the header line for the beginning of each file; empty without ``header``."""
        if not self.header or self.columns is None:
            return b""
        return CsvLines([str] * len(self.columns), self._make_dialect()).of([self.columns])

    def encode(self, value: Any) -> bytes:
        """Return the record's line."""
        return self.encode_all((value,))

    def encode_all(self, values: Sequence[Any]) -> bytes:
        """Return the lines of several records."""
        write, names = field_writer(None, "", self.null_value), self.columns
        rows = [
            [part if type(part) in _PLAIN else write(part) for part in fields_of(value, names)]
            for value in values
        ]
        return CsvLines((), self._make_dialect()).of_fields(rows)


class CsvBulkWriters:
    """Makes CSV writers for ``FileSink.for_bulk_format``."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvBulkWriterFactory:
        """Return a writer of the schema's columns, with a header if the schema has one."""
        return CsvBulkWriterFactory(schema)


@dataclass(frozen=True)
class CsvBulkWriterFactory(BulkWriterFactory):
    """Writes rows of a schema."""

    schema: CsvSchema

    def create(self, file: IO[bytes]) -> CsvBulkWriter:
        """Return a writer into an open file."""
        return CsvBulkWriter(self.schema, file)


class CsvBulkWriter:
    """Writes rows into one file."""

    def __init__(self, schema: CsvSchema, file: IO[bytes]) -> None:
        self._file, self._names = file, schema.names
        null = schema.dialect.null or ""
        writes = [
            field_writer(kind, separator, null)
            for kind, separator in zip(schema.types, schema.separators, strict=True)
        ]
        self._lines = CsvLines(writes, schema.dialect)
        self._coerce = schema.row_type.coerce
        if schema.use_header:
            file.write(CsvLines([str] * len(self._names), schema.dialect).of([self._names]))

    def write(self, values: Sequence[Any]) -> None:
        """Add records."""
        coerce, names = self._coerce, self._names
        rows = [coerce(row_of(None, list(fields_of(value, names)))) for value in values]
        self._file.write(self._lines.of(rows))

    def finish(self) -> None:
        """Complete the file; the caller closes it."""

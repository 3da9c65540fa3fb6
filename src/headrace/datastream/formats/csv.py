"""CSV at PyFlink's path: schema, reader, encoder and writers."""

from __future__ import annotations

from headrace.datastream.formats._csv.reader import CsvReaderFormat
from headrace.datastream.formats._csv.rows import (
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
)
from headrace.datastream.formats._csv.schema import CsvSchema, CsvSchemaBuilder
from headrace.datastream.formats._csv.writers import CsvBulkWriters, CsvEncoder

__all__ = [
    "CsvBulkWriters",
    "CsvEncoder",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
]

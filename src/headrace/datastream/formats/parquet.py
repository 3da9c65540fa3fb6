"""Parquet at PyFlink's path: formats and writers."""

from __future__ import annotations

from headrace.datastream.formats._avro.parquet import AvroParquetReaders, AvroParquetWriters
from headrace.datastream.formats._parquet.reader import (
    ParquetColumnarRowInputFormat,
    ParquetFormat,
)
from headrace.datastream.formats._parquet.writers import ParquetBulkWriters

__all__ = [
    "AvroParquetReaders",
    "AvroParquetWriters",
    "ParquetBulkWriters",
    "ParquetColumnarRowInputFormat",
    "ParquetFormat",
]

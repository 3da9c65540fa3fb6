"""Parquet at PyFlink's path: what reads its files and what writes them."""

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

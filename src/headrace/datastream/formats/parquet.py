"""Parquet at PyFlink's path: what reads its files and what writes them."""

from __future__ import annotations

from headrace.datastream.formats.avro_parquet import AvroParquetReaders, AvroParquetWriters
from headrace.datastream.formats.parquet_reader import (
    ParquetColumnarRowInputFormat,
    ParquetFormat,
)
from headrace.datastream.formats.parquet_writers import ParquetBulkWriters

__all__ = [
    "AvroParquetReaders",
    "AvroParquetWriters",
    "ParquetBulkWriters",
    "ParquetColumnarRowInputFormat",
    "ParquetFormat",
]

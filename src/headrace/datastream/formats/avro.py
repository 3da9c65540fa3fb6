"""Avro at PyFlink's path: schemas, messages, rows and container files."""

from __future__ import annotations

from headrace.datastream.formats.avro_classes import AvroType
from headrace.datastream.formats.avro_files import (
    AvroBulkWriters,
    AvroFormat,
    AvroInputFormat,
)
from headrace.datastream.formats.avro_messages import (
    AvroDeserializationSchema,
    AvroSerializationSchema,
)
from headrace.datastream.formats.avro_rows import (
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
)
from headrace.datastream.formats.avro_schema import AvroSchema
from headrace.datastream.formats.avro_types import GenericRecordAvroTypeInfo

__all__ = [
    "AvroBulkWriters",
    "AvroDeserializationSchema",
    "AvroFormat",
    "AvroInputFormat",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "AvroSchema",
    "AvroSerializationSchema",
    "AvroType",
    "GenericRecordAvroTypeInfo",
]

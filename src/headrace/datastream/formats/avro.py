"""Avro at PyFlink's path: schemas, messages, rows and container files."""

from __future__ import annotations

from headrace.datastream.formats._avro.classes import AvroType
from headrace.datastream.formats._avro.files import (
    AvroBulkWriters,
    AvroFormat,
    AvroInputFormat,
)
from headrace.datastream.formats._avro.messages import (
    AvroDeserializationSchema,
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSerializationSchema,
)
from headrace.datastream.formats._avro.schema import AvroSchema
from headrace.datastream.formats._avro.types import GenericRecordAvroTypeInfo

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

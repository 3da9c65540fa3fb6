"""JSON: rows, dicts and dataclasses from and to messages, and JSON lines in files."""

from headrace.datastream.formats._json.messages import (
    JsonDeserializationSchema,
    JsonSerializationSchema,
)
from headrace.datastream.formats._json.rows import (
    JsonLinesEncoder,
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from headrace.datastream.formats._lines import JsonLinesFormat

__all__ = [
    "JsonDeserializationSchema",
    "JsonLinesEncoder",
    "JsonLinesFormat",
    "JsonRowDeserializationSchema",
    "JsonRowSerializationSchema",
    "JsonSerializationSchema",
]

"""The contract of sources and sinks, at PyFlink's path; it is written in ``headrace.connector``."""

from headrace.connector import (
    BadRecord,
    Budget,
    Chunk,
    Committer,
    CommitterContext,
    DeliveryGuarantee,
    JsonValue,
    Progress,
    ServedBy,
    Sink,
    SinkWriter,
    Source,
    SplitEnumerator,
    SplitRange,
    SplitReader,
    WriterContext,
)

__all__ = [
    "BadRecord",
    "Budget",
    "Chunk",
    "Committer",
    "CommitterContext",
    "DeliveryGuarantee",
    "JsonValue",
    "Progress",
    "ServedBy",
    "Sink",
    "SinkWriter",
    "Source",
    "SplitEnumerator",
    "SplitRange",
    "SplitReader",
    "WriterContext",
]

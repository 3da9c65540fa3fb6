"""Confluent's schema registry: its address, and the subjects of registered schemas."""

from headrace.datastream.formats._registry.header import ConfluentHeaderStripper
from headrace.datastream.formats._registry.registry import (
    FixedSubject,
    RecordNameStrategy,
    SchemaRegistry,
    SubjectStrategy,
    TopicNameStrategy,
    TopicRecordNameStrategy,
)

__all__ = [
    "ConfluentHeaderStripper",
    "FixedSubject",
    "RecordNameStrategy",
    "SchemaRegistry",
    "SubjectStrategy",
    "TopicNameStrategy",
    "TopicRecordNameStrategy",
]

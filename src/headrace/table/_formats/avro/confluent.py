"""``avro-confluent``: messages that name their schema in a registry."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from headrace.common._options.values import ValueKind
from headrace.datastream.formats._avro.messages import (
    AvroDeserializationSchema,
    AvroSerializationSchema,
)
from headrace.datastream.formats._registry.registry import SchemaRegistry
from headrace.errors import DecodeError, SqlValidationError
from headrace.sql.rel import Columns
from headrace.table._formats.avro.format import LEGACY
from headrace.table._formats.avro.schema import schema_of_columns
from headrace.table._formats.avro.values import record_converter, records_of
from headrace.table._formats.format import Decoded, TableFormat
from headrace.table._formats.rows import RowsBuilder
from headrace.table._options import TableOption

_URL = TableOption("url", required=True)
SUBJECT = TableOption("subject")
_SCHEMA = TableOption("schema")
_CREDENTIALS = TableOption("basic-auth.credentials-source")
_USER = TableOption("basic-auth.user-info")
_BEARER = TableOption("bearer-auth.token")
_BEARER_SOURCE = TableOption("bearer-auth.credentials-source")
_PROPERTIES = TableOption("properties", ValueKind.MAP, {})


@dataclass(frozen=True)
class AvroConfluentFormat(TableFormat):
    """Rows as records; a message begins with the id of its schema in the registry."""

    schema_text: str
    registry: SchemaRegistry
    subject: str | None = None

    identifier = "avro-confluent"
    places = ("messages",)
    options = (
        _URL,
        SUBJECT,
        _SCHEMA,
        _CREDENTIALS,
        _USER,
        _BEARER,
        _BEARER_SOURCE,
        _PROPERTIES,
        LEGACY,
    )

    @classmethod
    def create(cls, table: str, columns: Columns, options: Mapping[str, Any]) -> Self:
        made = schema_of_columns(table, columns, legacy=options[LEGACY.key])
        text = options[_SCHEMA.key] or json.dumps(made)
        if options[_CREDENTIALS.key] not in (None, "USER_INFO", "URL"):
            raise SqlValidationError(
                f"table {table!r}: 'basic-auth.credentials-source' is USER_INFO or URL"
            )
        config = dict(options[_PROPERTIES.key])
        if options[_USER.key]:
            config["basic.auth.user.info"] = options[_USER.key]
        if options[_BEARER.key]:
            config["bearer.auth.credentials.source"] = "STATIC_TOKEN"
            config["bearer.auth.token"] = options[_BEARER.key]
        registry = SchemaRegistry(options[_URL.key], config or None)
        return cls(columns, text, registry, options[SUBJECT.key])

    def with_default_subject(self, subject: str) -> Self:
        """Return the same format, which writes to a subject if none is set."""
        return self if self.subject else replace(self, subject=subject)

    def decode(self, values: Sequence[bytes]) -> Decoded:
        reader, convert = self._reader, record_converter(self.columns)
        rows = RowsBuilder(self.schema)
        for index, value in enumerate(values):
            try:
                rows.add(index, convert(reader.deserialize(value)))
            except DecodeError as error:
                rows.bad(index, error.message)
        return rows.build(len(values))

    def encode(self, columns: Sequence[Sequence[Any]], kinds: Sequence[int] | None) -> list[bytes]:
        return [*map(self._writer.serialize, records_of(columns, self.columns))]

    @cached_property
    def _reader(self) -> AvroDeserializationSchema:
        return AvroDeserializationSchema(self.schema_text, registry=self.registry)

    @cached_property
    def _writer(self) -> AvroSerializationSchema:
        if self.subject is None:
            raise SqlValidationError(
                "a table that writes avro-confluent needs the option 'avro-confluent.subject'"
            )
        return AvroSerializationSchema(
            self.schema_text, registry=self.registry, subject=self.subject
        )

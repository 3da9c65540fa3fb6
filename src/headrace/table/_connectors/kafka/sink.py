"""Rows of a table as messages of Kafka."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.common.changelog_mode import ChangelogMode
from headrace.common.types import Row, RowKind
from headrace.connector import ColumnChunk
from headrace.datastream.connectors._kafka.sink.serialization import (
    Encoded,
    Headers,
    KafkaProducerRecord,
    KafkaRecordSerializationSchema,
    KafkaSinkContext,
)
from headrace.datastream.connectors._kafka.sink.sink import KafkaSink
from headrace.runtime.columns.shapes import NAMED_ROWS
from headrace.table._connectors.chunks import python_columns
from headrace.table._connectors.kafka.parts import MessageParts
from headrace.table._formats.value_text import map_items

_DELETIONS = frozenset({RowKind.DELETE.value, RowKind.UPDATE_BEFORE.value})


@dataclass(frozen=True)
class TableRecordSerializer(KafkaRecordSerializationSchema):
    """Encodes many rows together. ``partitioner``: default, fixed or round-robin."""

    parts: MessageParts
    to_topic: str
    partitioner: str = "default"

    @property
    def topic(self) -> str:
        return self.to_topic

    def serialize(
        self, element: Any, context: KafkaSinkContext, timestamp: int | None
    ) -> KafkaProducerRecord | None:
        (record,) = self.serialize_all((element,), context, (timestamp,))
        return record

    def serialize_all(
        self, elements: Sequence[Row], context: KafkaSinkContext, timestamps: Sequence[int | None]
    ) -> Iterator[KafkaProducerRecord]:
        parts = self.parts
        columns = self._by_name(python_columns(elements, len(parts.columns)))
        kinds = [row.get_row_kind().value for row in elements]
        keys, values = self._keys(columns, len(elements)), self._values(columns, kinds)
        # As in Flink, event time is no timestamp of a message: only the metadata column is.
        times: Sequence[int | None] = [None] * len(elements)
        headers: Sequence[Headers] = [()] * len(elements)
        for each in parts.metadata:
            if each.key == "headers":
                headers = [tuple(map_items(found or {})) for found in columns[each.name]]
            else:
                times = [
                    None if moment is None else round(moment.timestamp() * 1000)
                    for moment in columns[each.name]
                ]
        partitions = self._partitions(context, len(elements))
        rows = zip(values, keys, times, partitions, headers, strict=True)
        for value, key, timestamp, partition, of_row in rows:
            yield KafkaProducerRecord(self.to_topic, value, key, timestamp, partition, of_row)

    def encode_columns(self, chunk: ColumnChunk) -> Encoded | None:
        """Return keys and values of rows as columns; None: the rows have to be made first."""
        parts = self.parts
        if parts.metadata or self.partitioner != "default" or chunk.shape != NAMED_ROWS:
            return None
        arrays = [*chunk.batch.columns]
        kinds = [RowKind.INSERT.value] * chunk.count
        if chunk.row_kind is not None:
            kinds = arrays.pop(chunk.batch.schema.get_field_index(chunk.row_kind)).to_pylist()
        columns = self._by_name(arrays)
        return self._keys(columns, chunk.count), self._values(columns, kinds)

    def _by_name(self, columns: Sequence[Sequence[Any]]) -> dict[str, Sequence[Any]]:
        names = [column.name for column in self.parts.columns]
        return dict(zip(names, columns, strict=True))

    def _keys(self, columns: dict[str, Sequence[Any]], count: int) -> Sequence[bytes | None]:
        key = self.parts.key
        if key is None:
            return [None] * count
        return key.encode_arrays([columns[name] for name in self.parts.key_columns], None)

    def _values(
        self, columns: dict[str, Sequence[Any]], kinds: Sequence[int]
    ) -> Sequence[bytes | None]:
        parts = self.parts
        of_value = [columns[name] for name in parts.value_columns]
        if not parts.upserts:
            changes = None if set(kinds) <= {RowKind.INSERT.value} else kinds
            return parts.value.encode_arrays(of_value, changes)
        found: list[bytes | None] = [*parts.value.encode_arrays(of_value, None)]
        for place, kind in enumerate(kinds):
            if kind in _DELETIONS:
                found[place] = None
        return found

    def _partitions(self, context: KafkaSinkContext, count: int) -> Sequence[int | None]:
        if self.partitioner == "default":
            return [None] * count
        there = context.get_partitions_for_topic(self.to_topic)
        task = context.get_parallel_instance_id()
        if self.partitioner == "fixed":
            return [there[task % len(there)]] * count
        return [there[(task + place) % len(there)] for place in range(count)]


@dataclass(frozen=True, kw_only=True)
class TableKafkaSink(KafkaSink):
    """Writes the rows of a table to a topic."""

    mode: ChangelogMode = field(default_factory=ChangelogMode.insert_only)

    @property
    def accepts(self) -> ChangelogMode | None:
        return self.mode

    @property
    def takes_columns(self) -> bool:
        return True

    @property
    def takes_changes(self) -> bool:
        return True

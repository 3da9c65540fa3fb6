"""Messages of Kafka as columns of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.common.changelog_mode import ChangelogMode
from headrace.common.types import RowKind
from headrace.connector import BadRecord, Chunk, ColumnChunk, SplitRange, SplitReader
from headrace.datastream.connectors._kafka.source.decoding import RAW_SHOWN_BYTES
from headrace.datastream.connectors._kafka.source.reader import KafkaReader
from headrace.datastream.connectors._kafka.source.records import (
    BadKafkaRecord,
    KafkaRecord,
    KafkaRecordDeserializationSchema,
)
from headrace.datastream.connectors._kafka.source.source import KafkaSource
from headrace.datastream.connectors._kafka.source.split import Split
from headrace.errors import DecodeError
from headrace.sql.rel import arrow_schema
from headrace.table._connectors.chunks import as_rows, chunks_of
from headrace.table._connectors.kafka.parts import MessageParts
from headrace.table._formats.format import BadValue, Decoded

CHUNK_MESSAGES = 1 << 15
_TIMESTAMP_TYPES = ("NoTimestampType", "CreateTime", "LogAppendTime")


@dataclass(frozen=True)
class TableMessages(KafkaRecordDeserializationSchema):
    """Names the parts of a table's messages; ``TableKafkaReader`` decodes them together."""

    parts: MessageParts

    def deserialize(self, record: KafkaRecord) -> Any:
        """Messages are decoded together, not one by one."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class TableKafkaSource(KafkaSource):
    """Reads topics as a table."""

    mode: ChangelogMode = field(default_factory=ChangelogMode.insert_only)

    @property
    def gives(self) -> ChangelogMode | None:
        return self.mode

    def reader(self) -> SplitReader:
        """Return a new reader, which connects at the first read."""
        assert self.clients is not None
        assert isinstance(self.unreachable_timeout, int)
        return TableKafkaReader(
            self.clients,
            self.deserializer,
            self.error_tag is not None,
            on_missing=self.on_missing_offsets,
            on_changed=self.on_changed_topic,
            timeout_ms=self.unreachable_timeout,
            chunk_records=CHUNK_MESSAGES,
        )


class TableKafkaReader(KafkaReader):
    """Reads ranges of partitions as columns."""

    def read(self, split_range: SplitRange) -> Iterator[Chunk]:
        return as_rows(super().read(split_range))

    def read_columns(self, split_range: SplitRange) -> Iterator[Chunk | ColumnChunk]:
        return super().read(split_range)

    @property
    def has_columns(self) -> bool:
        return True

    def _make_decoding(self, split: Split) -> Any:
        assert isinstance(self.deserializer, TableMessages)
        return MessageDecoding(split, self.deserializer.parts, self.tagged)


@dataclass
class MessageDecoding:
    """Decodes messages of one partition."""

    split: Split
    parts: MessageParts
    tagged: bool

    def chunks(self, messages: Sequence[Any]) -> Iterator[Chunk | ColumnChunk]:
        """Yield the rows of messages as columns.

        A message without a value deletes the row of its key from a table with upserts; otherwise
        it gives no row.

        Raises:
            DecodeError: a message cannot be decoded, and that is not tagged.
        """
        decoded, keys = self._decode(messages)
        if decoded.bad and not self.tagged:
            raise self._error(messages[decoded.bad[0].index], decoded.bad[0].reason)
        # As in Flink, a row has no timestamp: the time of its message is a column of metadata.
        batch = self._complete(decoded, keys, messages)
        yield from chunks_of(
            decoded, lambda index, reason: self._bad_record(messages[index], reason), batch
        )

    def _decode(self, messages: Sequence[Any]) -> tuple[Decoded, Any | None]:
        """Return the rows of values, by message; and the rows of keys, one for each message."""
        values = [message.value() for message in messages]
        decoded = self._decode_values(values)
        read_keys = self.parts.key is not None and (
            self.parts.upserts or not {*self.parts.key_columns} <= {*self.parts.value_columns}
        )
        if not read_keys:
            return decoded, None
        keys, bad = self._decode_keys([message.key() for message in messages])
        if bad:
            decoded = _without(decoded, bad)
        return decoded, keys

    def _decode_values(self, values: Sequence[bytes | None]) -> Decoded:
        import numpy as np

        upserts, format_ = self.parts.upserts, self.parts.value
        absent = [index for index, value in enumerate(values) if value is None]
        if not absent:
            decoded = format_.decode(values)  # type: ignore[arg-type]
        else:
            present = [index for index, value in enumerate(values) if value is not None]
            found = format_.decode([value for value in values if value is not None])
            decoded = _at_places(found, present)
            if upserts:
                decoded = _with_deletions(decoded, absent)
        if upserts and decoded.kinds is None:
            after = np.full(decoded.batch.num_rows, RowKind.UPDATE_AFTER.value, np.int8)
            decoded.kinds = after
        return decoded

    def _decode_keys(self, keys: Sequence[bytes | None]) -> tuple[Any, list[BadValue]]:
        import numpy as np
        import pyarrow as pa

        assert self.parts.key is not None
        present = [index for index, key in enumerate(keys) if key is not None]
        found = self.parts.key.decode([key for key in keys if key is not None])
        rows = np.full(len(keys), -1, np.int64)
        origins = np.arange(len(present)) if found.origins is None else found.origins
        places = np.array(present, np.int64)
        rows[places[origins]] = np.arange(found.batch.num_rows)
        bad = [BadValue(present[each.index], f"key: {each.reason}") for each in found.bad]
        at = pa.array(rows, mask=rows < 0)
        return pa.RecordBatch.from_arrays(
            [column.take(at) for column in found.batch.columns], schema=found.batch.schema
        ), bad

    def _complete(self, decoded: Decoded, keys: Any | None, messages: Sequence[Any]) -> Any:
        """Return the rows with all columns of the table, in its order."""
        import numpy as np
        import pyarrow as pa

        parts, batch, origins = self.parts, decoded.batch, decoded.origins
        if keys is None and not parts.metadata and len(parts.value_columns) == len(parts.columns):
            return batch
        columns: dict[str, Any] = {}
        index = pa.array(np.arange(batch.num_rows) if origins is None else origins)
        if keys is not None:
            columns = {
                name: column.take(index)
                for name, column in zip(parts.key_columns, keys.columns, strict=True)
            }
        of_values = zip(parts.value_columns, batch.columns, strict=True)
        kept_keys = {*columns} if parts.upserts else set()
        columns |= {name: column for name, column in of_values if name not in kept_keys}
        types = arrow_schema(parts.columns)
        for each in parts.metadata:
            made = pa.array(self._metadata(each.key, messages), _arrow_of(each.key))
            columns[each.name] = made.take(index).cast(types.field(each.name).type)
        return pa.RecordBatch.from_arrays([columns[name] for name in types.names], schema=types)

    def _metadata(self, key: str, messages: Sequence[Any]) -> list[Any]:
        match key:
            case "topic":
                return [self.split.topic] * len(messages)
            case "partition":
                return [self.split.partition] * len(messages)
            case "offset":
                return [message.offset() for message in messages]
            case "timestamp":
                return [message.timestamp()[1] for message in messages]
            case "timestamp-type":
                return [_TIMESTAMP_TYPES[message.timestamp()[0]] for message in messages]
            case "headers":
                # A name that occurs twice has its last value, as in Flink's map.
                return [[*dict(message.headers() or ()).items()] for message in messages]
            case "leader-epoch":
                return [message.leader_epoch() for message in messages]
        raise AssertionError(key)

    def _bad_record(self, message: Any, reason: str) -> BadRecord:
        kind, at = message.timestamp()
        return BadKafkaRecord(
            message.value() or b"",
            reason,
            f"{self.split.topic}-{self.split.partition}",
            message.offset(),
            self.split.topic,
            self.split.partition,
            message.key(),
            at if kind else None,
            tuple(message.headers() or ()),
        )

    def _error(self, message: Any, reason: str) -> DecodeError:
        raw = message.value() or b""
        shown = repr(raw[:RAW_SHOWN_BYTES]) + ("…" if len(raw) > RAW_SHOWN_BYTES else "")
        return DecodeError(
            f"a Kafka record cannot be decoded: {reason}",
            where={
                "topic": self.split.topic,
                "partition": str(self.split.partition),
                "offset": str(message.offset()),
                "value": shown,
            },
            hint=self.parts.value.bad_value_hint,
        )


def _arrow_of(key: str) -> Any:
    import pyarrow as pa

    from headrace.sql.types import to_arrow
    from headrace.table._connectors.kafka.parts import METADATA

    return pa.timestamp("ms", "UTC") if key == "timestamp" else to_arrow(METADATA[key])


def _at_places(decoded: Decoded, places: Sequence[int]) -> Decoded:
    """Return rows of some values with indexes among all of them."""
    import numpy as np

    of = np.array(places, np.int64)
    origins = of if decoded.origins is None else of[decoded.origins]
    bad = [BadValue(places[each.index], each.reason) for each in decoded.bad]
    return replace(decoded, origins=origins, bad=bad)


def _with_deletions(decoded: Decoded, places: Sequence[int]) -> Decoded:
    """Return rows, and one that deletes for each of some further values."""
    import numpy as np
    import pyarrow as pa

    batch, count = decoded.batch, len(places)
    nulls = [pa.nulls(count, field.type) for field in batch.schema]
    deletions = pa.RecordBatch.from_arrays(nulls, schema=batch.schema)
    origins = np.concatenate([decoded.origins, np.array(places, np.int64)])
    kinds = np.full(len(origins), RowKind.UPDATE_AFTER.value, np.int8)
    kinds[batch.num_rows :] = RowKind.DELETE.value
    order = np.argsort(origins, kind="stable")
    table = pa.Table.from_batches([batch, deletions]).take(pa.array(order)).combine_chunks()
    batch = table.to_batches()[0]
    return replace(decoded, batch=batch, origins=origins[order], kinds=kinds[order])


def _without(decoded: Decoded, bad: Sequence[BadValue]) -> Decoded:
    """Return rows without those of some values, which are bad."""
    import numpy as np
    import pyarrow as pa

    origins = decoded.origins
    origins = np.arange(decoded.batch.num_rows) if origins is None else origins
    keep = ~np.isin(origins, [each.index for each in bad])
    by_index = {each.index: each for each in (*bad, *decoded.bad)}
    return replace(
        decoded,
        batch=decoded.batch.filter(pa.array(keep)),
        origins=origins[keep],
        kinds=None if decoded.kinds is None else decoded.kinds[keep],
        bad=[by_index[index] for index in sorted(by_index)],
    )

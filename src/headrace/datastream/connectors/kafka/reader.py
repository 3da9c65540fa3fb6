"""Reads ranges of partitions, and keeps their consumers from one micro-batch to the next."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.connector import Chunk, SplitRange, SplitReader
from headrace.datastream.connectors.kafka.client import Clients, Cluster, OffsetGone, Unreachable
from headrace.datastream.connectors.kafka.cursor import Cursor
from headrace.datastream.connectors.kafka.decoding import Decoding
from headrace.datastream.connectors.kafka.records import KafkaRecordDeserializationSchema
from headrace.datastream.connectors.kafka.split import Split
from headrace.datastream.formats.file_format import CHUNK_RECORDS
from headrace.errors import JobError

_log = logging.getLogger(__name__)

MOST_OPEN = 64
"""So many consumers are kept in a worker; the one that was not used for longest is closed."""

WAIT_S = 1.0


@dataclass
class KafkaReader(SplitReader):
    """Reads ``[start, end)`` of a partition: to the position, however many records lie there."""

    clients: Clients
    deserializer: KafkaRecordDeserializationSchema
    tagged: bool
    on_missing: str = "fail"
    timeout_ms: int = 300_000
    _open: dict[Split, Cursor] = field(default_factory=dict)
    _client: Cluster | None = None

    def read(self, split_range: SplitRange) -> Iterator[Chunk]:
        """The records of one range.

        Raises:
            DecodeError: one of them cannot be deserialized, and no tag was set for that.
            JobError: they are no longer there, or no broker answers.
        """
        split, end = split_range.payload, split_range.end
        cursor = self._cursor(split, split_range.start)
        decoding = Decoding(split, self.deserializer, self.tagged)
        try:
            while cursor.at < end:
                messages = self._take(cursor, split, end)
                if messages:
                    yield decoding.chunk(messages)
        except BaseException:
            self._drop(split)  # where it stands is not certain any more
            raise

    def _take(self, cursor: Cursor, split: Split, end: int) -> Sequence[Any]:
        """The next messages; none where there is a gap.

        Raises:
            JobError: they are no longer there, or do not come.
        """
        silent_s = 0.0
        before = cursor.at
        while True:
            try:
                messages = cursor.take(end, CHUNK_RECORDS, WAIT_S)
            except OffsetGone as error:
                self._skip(cursor, split, end, error)
                return ()
            if messages or cursor.at > before:
                return messages
            silent_s += WAIT_S
            if silent_s * 1000 >= self.timeout_ms:
                raise JobError(
                    "records of Kafka that were there when the micro-batch was planned do not"
                    f" come: nothing for {silent_s:.0f} s",
                    where={**_where(split), "next offset": str(cursor.at), "up to": str(end)},
                    hint="a broker may be down, or a partition may have lost its end",
                )

    def _skip(self, cursor: Cursor, split: Split, end: int, error: OffsetGone) -> None:
        """Go on at what is left of a range, where the policy allows it."""
        try:
            self._check_topic(split)
            first = self._cluster.earliest([split.place]).get(split.place, end)
        except Unreachable as unreachable:
            raise JobError(f"no Kafka broker answers: {unreachable}", where=_where(split)) from None
        if self.on_missing == "fail" or first <= cursor.at:
            raise JobError(
                f"records of Kafka that are to be read are not there any more: {error}",
                where={**_where(split), "offsets": f"{cursor.at} to {end}", "first": str(first)},
                hint="on_missing_offsets('earliest') or ('latest') goes on with what is there",
            ) from None
        _log.warning("%s: offsets %d to %d are gone", split.name, cursor.at, min(first, end))
        cursor.seek(min(first, end))

    def _cursor(self, split: Split, start: int) -> Cursor:
        """The partition's cursor at an offset; the last one used is the last one listed."""
        cursor = self._open.pop(split, None)
        if cursor is None:
            with contextlib.suppress(Unreachable):  # the consumer waits for it
                self._check_topic(split)
            while len(self._open) >= MOST_OPEN:
                self._drop(next(iter(self._open)))
            cursor = Cursor(self.clients.log(split.topic, split.partition))
        self._open[split] = cursor
        cursor.move_to(start)
        return cursor

    def _check_topic(self, split: Split) -> None:
        """Raise unless the topic is the one whose records were planned.

        Raises:
            JobError: it is not.
        """
        if not split.topic_id:
            return
        topic = self._cluster.describe([split.topic]).get(split.topic)
        if topic is None or topic.id != split.topic_id:
            what = "was deleted" if topic is None else "was deleted and created again"
            raise JobError(
                f"the topic {split.topic!r} {what}: records that were planned are lost",
                where=_where(split),
                hint="start the job anew with --fresh to read what is there now",
            )

    @property
    def _cluster(self) -> Cluster:
        if self._client is None:
            self._client = self.clients.cluster()
        return self._client

    def _drop(self, split: Split) -> None:
        cursor = self._open.pop(split, None)
        if cursor is not None:
            cursor.close()

    def close(self) -> None:
        """Close all clients."""
        for split in [*self._open]:
            self._drop(split)
        if self._client is not None:
            self._client.close()
            self._client = None


def _where(split: Split) -> dict[str, str]:
    return {"topic": split.topic, "partition": str(split.partition)}

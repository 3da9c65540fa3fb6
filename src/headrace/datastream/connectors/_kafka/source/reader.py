"""Reads ranges of partitions, and keeps their consumers between micro-batches."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.connector import Chunk, SplitRange, SplitReader
from headrace.datastream.connectors._kafka.client.consumer import (
    RETRY_PAUSE_S,
    Clients,
    Cluster,
    OffsetGone,
    StaleMetadata,
    Unreachable,
)
from headrace.datastream.connectors._kafka.source.cursor import Cursor
from headrace.datastream.connectors._kafka.source.decoding import Decoding
from headrace.datastream.connectors._kafka.source.offset_policies import IN_SQL
from headrace.datastream.connectors._kafka.source.outages import (
    broker_outage,
    no_leader,
    until_answered,
)
from headrace.datastream.connectors._kafka.source.records import KafkaRecordDeserializationSchema
from headrace.datastream.connectors._kafka.source.split import SkippedRange, Split
from headrace.datastream.formats._file_format import CHUNK_RECORDS
from headrace.errors import JobError

_log = logging.getLogger(__name__)

MAX_OPEN_CONSUMERS = 64
"""The maximum number of open consumers per worker; the least recently used one is closed."""

WAIT_S = 1.0


@dataclass
class KafkaReader(SplitReader):
    """Reads ``[start, end)`` of a partition, however many records the offsets contain."""

    clients: Clients
    deserializer: KafkaRecordDeserializationSchema
    tagged: bool
    on_missing: str = "fail"
    on_changed: str = "fail"
    timeout_ms: int = 300_000
    chunk_records: int = CHUNK_RECORDS
    _open: dict[Split, Cursor] = field(default_factory=dict)
    _client: Cluster | None = None

    def read(self, split_range: SplitRange) -> Iterator[Chunk]:
        """Yield the records of one range; offsets that a policy skips are counted.

        Raises:
            DecodeError: a record cannot be deserialized, and there is no tag for bad records.
            JobError: records are deleted, or no broker answers.
        """
        split, at, end = split_range.payload, split_range.start, split_range.end
        if isinstance(split, SkippedRange):
            yield Chunk([], skipped=split.offsets)
            return
        try:
            yield from self._read_chunks(split, at, end)
        except _TopicGone as error:
            self._close_cursor(split)
            if self.on_changed == "fail":
                raise error.job_error(split) from None
            _log.warning(
                "%s: the topic %s; offsets %d to %d are skipped",
                *(split.name, error.what, error.at, end),
            )
            yield Chunk([], skipped=end - error.at)
        except BaseException:
            self._close_cursor(split)  # its position is unknown now
            raise

    def _make_decoding(self, split: Split) -> Any:
        """Return an object whose ``chunks(messages)`` gives the records of some messages."""
        return Decoding(split, self.deserializer, self.tagged)

    def _read_chunks(self, split: Split, at: int, end: int) -> Iterator[Any]:
        """Read a range, as ``read`` does, of a topic that exists.

        Raises:
            _TopicGone: the topic does not exist.
        """
        cursor = self._get_cursor(split, at)
        decoding = self._make_decoding(split)
        retried_s, has_returned_records = 0.0, False
        while cursor.at < end:
            try:
                messages = self._take_messages(cursor, split, end)
            except OffsetGone as error:
                skipped = self._skip(cursor, split, end, error)
                if not skipped and retried_s >= StaleMetadata.confirmed_after_s:
                    raise self._lost_records_error(cursor, split, end, str(error)) from None
                retried_s += RETRY_PAUSE_S
                yield Chunk([], skipped=skipped)
                continue
            if cursor.at >= end:
                self._check_topic_after_read(split, at, has_returned_records=has_returned_records)
            if messages:
                has_returned_records = True
                yield from decoding.chunks(messages)

    def _take_messages(self, cursor: Cursor, split: Split, end: int) -> Sequence[Any]:
        """Return the next messages; none if there is a gap.

        Raises:
            OffsetGone: the messages were deleted.
            JobError: the messages did not arrive in time.
        """
        silent_s = 0.0
        before = cursor.at
        while True:
            messages = cursor.take_messages(end, self.chunk_records, WAIT_S)
            if messages or cursor.at > before:
                return messages
            silent_s += WAIT_S
            if silent_s * 1000 >= self.timeout_ms:
                error = cursor.last_error()
                raise JobError(
                    "Kafka does not return the records that were planned: there was no answer"
                    f" for {silent_s:.0f} s",
                    where={
                        **_error_location(split),
                        "next offset": str(cursor.at),
                        "up to": str(end),
                        **({"last error of the client": error} if error else {}),
                    },
                    hint="a broker may be down, or a partition may have lost its end",
                )

    def _skip(self, cursor: Cursor, split: Split, end: int, error: OffsetGone) -> int:
        """Continue at the first remaining offset of a range, if the policy allows it.

        Return the number of skipped offsets; 0 if the next offset exists after all.

        Raises:
            _TopicGone: the topic does not exist.
            JobError: records are deleted, and the policy is to fail; or no broker answers, or the
                partition has no leader.
        """
        at = cursor.at
        first, last = until_answered(
            lambda: self._request_bounds(split, at),
            self.clients,
            self.timeout_ms,
            self._reconnect,
            _error_location(split),
        )
        if first <= at <= last:
            self.clients.pause(RETRY_PAUSE_S)
            cursor.seek(at)
            return 0
        if self.on_missing == "fail":
            raise self._lost_records_error(cursor, split, end, str(error), first)
        to = min(first, end) if at < first else end
        _log.warning("%s: offsets %d to %d are gone; they are skipped", split.name, at, to)
        cursor.seek(to)
        return to - at

    def _request_bounds(self, split: Split, at: int) -> tuple[int, int]:
        """Return the first and the end offset of a partition of the planned topic.

        It waits for a leader. An end before ``at`` may be stale metadata of a new leader, so it is
        requested again for a while.

        Raises:
            _TopicGone: the topic does not exist.
            Unreachable: no broker answers.
            JobError: there is no leader.
        """
        self._check_topic(split, at)
        waited_s, topic_partition = 0.0, split.topic_partition
        outage = broker_outage(self.timeout_ms, self.clients.clock_ms)
        while True:
            first = self._cluster.earliest_offsets([topic_partition]).get(topic_partition)
            last = self._cluster.latest_offsets([topic_partition]).get(topic_partition)
            if first is None or last is None:
                if outage.record_failure(f"no broker serves {split.name}") <= 0:
                    raise no_leader(split, outage.waited_s)
            elif at <= last or waited_s >= StaleMetadata.confirmed_after_s:
                outage.record_success()
                return first, last
            self._reconnect()
            waited_s += RETRY_PAUSE_S

    def _check_topic_after_read(self, split: Split, at: int, *, has_returned_records: bool) -> None:
        """Raise if the end of a range, which begins at ``at``, was read from another topic.

        A consumer knows the topic by its name only. ``has_returned_records``: True if the range has
        yielded records, so the micro-batch must be run again before the policies can apply.

        Raises:
            _TopicGone: another topic has the name by now.
            JobError: the same, after the range has yielded records.
        """
        if not split.topic_id:
            return  # the brokers have no topic ids
        topic = None
        with contextlib.suppress(Unreachable):
            topic = self._cluster.describe_topics([split.topic]).get(split.topic)
        if topic is None or topic.id == split.topic_id:
            return  # of a deleted topic, only records fetched before can be read
        error = _TopicGone(at, again=True)
        raise error.job_error(split) if has_returned_records else error

    def _reconnect(self) -> None:
        """Wait, and drop the client with its cached metadata."""
        self._close_client()
        self.clients.pause(RETRY_PAUSE_S)

    def _lost_records_error(
        self, cursor: Cursor, split: Split, end: int, reason: str, first: int | None = None
    ) -> JobError:
        """Return the error for deleted planned records; ``first``: the first remaining offset."""
        begin = {} if first is None else {"first": str(first)}
        return JobError(
            f"planned records of Kafka no longer exist: {reason}",
            where={**_error_location(split), "offsets": f"{cursor.at} to {end}", **begin},
            hint="on_missing_offsets('earliest') or ('latest') skips what is gone" + IN_SQL,
        )

    def _get_cursor(self, split: Split, start: int) -> Cursor:
        """Return the partition's cursor, moved to ``start``; open one if there is none.

        ``_open`` is ordered by last use: the least recently used cursor is closed if there are too
        many.
        """
        cursor = self._open.pop(split, None)
        if cursor is None:
            with contextlib.suppress(Unreachable):  # the consumer waits for it
                self._check_topic(split, start)
            while len(self._open) >= MAX_OPEN_CONSUMERS:
                self._close_cursor(next(iter(self._open)))
            cursor = Cursor(self.clients.log(split.topic, split.partition))
        self._open[split] = cursor
        cursor.move_to(start)
        return cursor

    def _check_topic(self, split: Split, at: int) -> None:
        """Check that the topic still has the id that was planned.

        Raises:
            _TopicGone: brokers have reported for a while that the topic is missing or another one.
            Unreachable: no broker answers.
        """
        waited_s = 0.0
        while split.topic_id:
            topic = self._cluster.describe_topics([split.topic]).get(split.topic)
            if topic is not None and topic.id == split.topic_id:
                return
            if waited_s >= StaleMetadata.confirmed_after_s:
                raise _TopicGone(at, again=topic is not None)
            self._reconnect()
            waited_s += RETRY_PAUSE_S

    @property
    def _cluster(self) -> Cluster:
        if self._client is None:
            self._client = self.clients.cluster()
        return self._client

    def _close_cursor(self, split: Split) -> None:
        cursor = self._open.pop(split, None)
        if cursor is not None:
            cursor.close()

    def close(self) -> None:
        """Close all clients."""
        for split in [*self._open]:
            self._close_cursor(split)
        self._close_client()

    def _close_client(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


class _TopicGone(Exception):
    """The topic of a range was deleted or replaced. ``at``: the next offset."""

    def __init__(self, at: int, *, again: bool) -> None:
        super().__init__()
        self.at = at
        self.what = "was deleted and created again" if again else "was deleted"

    def job_error(self, split: Split) -> JobError:
        """Return the exception for the user."""
        return JobError(
            f"the topic {split.topic!r} {self.what}: records that were planned are lost",
            where={**_error_location(split), "next offset": str(self.at)},
            hint="on_changed_topic('earliest') or ('latest') goes on without them" + IN_SQL,
        )


def _error_location(split: Split) -> dict[str, str]:
    return {"topic": split.topic, "partition": str(split.partition)}

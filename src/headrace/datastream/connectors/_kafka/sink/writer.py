"""Writes a task's records of one micro-batch to Kafka."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import repeat
from typing import Any

from headrace.connector import ColumnChunk, SinkWriter, WriterContext
from headrace.datastream.connectors._kafka.sink.errors import ClientStuck, NoAnswer
from headrace.datastream.connectors._kafka.sink.producer_session import ProducerSession
from headrace.datastream.connectors._kafka.sink.producers import Producers
from headrace.datastream.connectors._kafka.sink.serialization import (
    BuiltRecordSerializer,
    KafkaProducerRecord,
    KafkaRecordSerializationSchema,
)
from headrace.datastream.connectors._kafka.sink.timestamps import (
    OldTimestamps,
    RecordTimestamp,
    time_range,
    too_early,
)
from headrace.datastream.connectors._kafka.sink.transaction import (
    TransactionalProducer,
    marker_group_prefix,
)
from headrace.errors import JobError
from headrace.runtime.columns.building import from_chunk


class KafkaWriter(SinkWriter):
    """Serializes records, and sends them with a producer that its worker keeps."""

    def __init__(
        self,
        context: WriterContext,
        schema: KafkaRecordSerializationSchema,
        producers: Producers,
        timeout_s: float,
        timestamp: RecordTimestamp,
    ) -> None:
        self._context, self._schema = context, schema
        self._producers, self._timeout_s = producers, timeout_s
        self._timestamp = timestamp
        self._session: ProducerSession | None = None
        self._done_before = False

    def write(self, values: Sequence[Any], timestamps: Sequence[int | None]) -> None:
        """Send records; those that the sink's encoder has not encoded are serialized here.

        Raises:
            JobError: Kafka refuses a record, or does not answer.
        """
        with self._with_causes():
            self._write(values, timestamps)

    def write_columns(self, chunk: ColumnChunk) -> None:
        """Send records that the schema encodes as columns; others become rows first.

        Raises:
            JobError: as ``write``.
        """
        if self._done_before or not chunk.count:
            return
        encoded = self._schema.encode_columns(chunk)
        if encoded is None:
            columns = from_chunk(chunk)
            self.write(columns.rows(), columns.timestamps or [None] * chunk.count)
            return
        keys, values = encoded
        with self._with_causes():
            self._send_all(self._schema.topic, values, keys, [None] * chunk.count)

    def _with_causes(self) -> AbstractContextManager[None]:
        """Return a block whose errors are given what is known of their cause."""
        return nullcontext()

    def _write(self, values: Sequence[Any], timestamps: Sequence[int | None]) -> None:
        if self._done_before or not values:
            return
        if self._timestamp is RecordTimestamp.SENDING_TIME:
            timestamps = [None] * len(values)
        if isinstance(self._schema, BuiltRecordSerializer) and self._schema.is_plain:
            self._write_encoded(self._schema, values, timestamps)
        else:
            self._write_each(values, timestamps)

    def _write_encoded(
        self,
        schema: BuiltRecordSerializer,
        encoded: Sequence[Any],
        timestamps: Sequence[int | None],
    ) -> None:
        """Send encoded values, or pairs of key and value, to the topic of a plain schema."""
        keys: Iterable[bytes | None]
        if schema.key_schema is None:
            values, keys = encoded, repeat(None)
        else:
            keys, values = zip(*encoded, strict=True)
        self._send_all(schema.topic, values, keys, timestamps)

    def _send_all(
        self,
        topic: str,
        values: Iterable[bytes | None],
        keys: Iterable[bytes | None],
        timestamps: Sequence[int | None],
    ) -> None:
        """Check the timestamps of records, at least one, and send them to a topic."""
        if not self._may_send(topic):
            return
        assert self._session is not None
        self._check_times(topic, timestamps, keys)
        self._session.send_all(topic, values, keys, timestamps)
        self._session.check()

    def _write_each(self, values: Sequence[Any], timestamps: Sequence[int | None]) -> None:
        """Serialize records one by one, check their timestamps by topic, and send them."""
        records: list[KafkaProducerRecord] = []
        of_topics: dict[str, list[KafkaProducerRecord]] = {}
        for record in self._schema.serialize_all(values, self, timestamps):
            if record is None:
                continue
            if not isinstance(record, KafkaProducerRecord):
                raise JobError(
                    f"a record for Kafka is a KafkaProducerRecord, not {record!r:.100}",
                    hint="KafkaProducerRecord(topic, value), or None for no record",
                )
            if not records and not self._may_send(record.topic):
                return
            records.append(record)
            of_topics.setdefault(str(record.topic), []).append(record)
        for topic, own in of_topics.items():
            self._check_times(topic, [each.timestamp for each in own], [each.key for each in own])
        if self._session is not None:
            for record in records:
                self._session.send(record)
            self._session.check()

    def _check_times(
        self, topic: str, timestamps: Sequence[int | None], keys: Iterable[bytes | None]
    ) -> None:
        """Check that Kafka accepts the timestamps of records; warn if they will expire soon.

        Raises:
            JobError: a timestamp is 0 or negative.
        """
        times = time_range(timestamps)
        if times is None:
            return
        if times[0] <= 0:
            key = next(key for at, key in zip(timestamps, keys, strict=False) if at == times[0])
            raise too_early(topic, times[0], key)
        assert self._session is not None
        self._session.record_times(topic, times)
        old = self._context.shared("old timestamps", lambda: OldTimestamps(self._producers))
        old.check_retention(topic, times[0])

    def _may_send(self, topic: str) -> bool:
        """Begin if necessary; False if the micro-batch's records are written already."""
        if self._session is None:
            self._session = self._begin_session(topic)
            self._done_before = self._session is None
        return not self._done_before

    def get_parallel_instance_id(self) -> int:
        """Return the number of the task, from 0, for schemas."""
        return self._context.partition

    def get_partitions_for_topic(self, topic: str) -> Sequence[int]:
        """Return the numbers of a topic's partitions, for schemas."""
        return self._get_session(topic).partitions(topic)

    @abstractmethod
    def _begin_session(self, topic: str) -> ProducerSession | None:
        """Return the session for a micro-batch, or None if its records are written already.

        ``write`` calls it before the first record; ``topic`` is the topic of that record. The
        implementation may begin a transaction.
        """

    @abstractmethod
    def _get_session(self, topic: str) -> ProducerSession:
        """Return a session that can answer questions about a topic.

        Schemas call it through ``get_partitions_for_topic``, possibly before the first record. The
        implementation must not begin a transaction.
        """


class AtLeastOnceWriter(KafkaWriter):
    """Waits for delivery at the end of the micro-batch. A worker has one producer."""

    def _begin_session(self, topic: str) -> ProducerSession:
        found = self._get_session(topic)
        found.partitions(topic)
        return found

    def _get_session(self, topic: str) -> ProducerSession:
        return self._context.shared("producer", self._create_session)

    def _create_session(self) -> ProducerSession:
        return ProducerSession(self._producers, self._session_settings(), self._timeout_s)

    def _session_settings(self) -> dict[str, str]:
        return {"message.timeout.ms": str(int(self._timeout_s * 1000))}

    def prepare_commit(self) -> None:
        """Wait until Kafka has all records.

        Raises:
            JobError: a record was not delivered.
        """
        if self._session is not None:
            self._session.flush()
            self._session = None

    def abort(self) -> None:
        """Drop the records that were not sent yet."""
        self._session = None
        self._context.discard("producer")


class ExactlyOnceWriter(KafkaWriter):
    """Writes in one transaction. A worker has a producer for each partition that it has written.

    If a partition moves to another worker, that one fences the previous producer. The previous one
    notices it at its next begin, and is replaced. If it is fenced later, it fails: another process
    is writing the same partition.
    """

    def __init__(
        self,
        context: WriterContext,
        schema: KafkaRecordSerializationSchema,
        producers: Producers,
        timeout_s: float,
        timestamp: RecordTimestamp,
        prefix: str,
    ) -> None:
        super().__init__(context, schema, producers, timeout_s, timestamp)
        self._name = f"{prefix or 'headrace-' + context.sink_id}-{context.partition}"
        self._group = f"{marker_group_prefix(context.sink_id)}{context.partition}"
        self._key = ("transactions", context.partition)
        self._is_new = False
        self._producer: TransactionalProducer | None = None

    def _shared_producer(self, topic: str) -> TransactionalProducer:
        return self._context.shared(self._key, lambda: self._create_producer(topic))

    def _create_producer(self, topic: str) -> TransactionalProducer:
        self._is_new = True
        return TransactionalProducer(
            self._producers, self._name, self._group, self._timeout_s, topic
        )

    def _get_session(self, topic: str) -> ProducerSession:
        return self._shared_producer(topic).session

    def _begin_session(self, topic: str) -> ProducerSession | None:
        end = time.monotonic() + self._timeout_s
        while True:
            try:
                return self._try_begin_session(topic)
            except ClientStuck:
                self._context.discard(self._key)
                if time.monotonic() >= end:
                    raise
            except JobError as error:
                self._context.discard(self._key)
                if self._is_new or isinstance(error, NoAnswer):
                    raise

    def _try_begin_session(self, topic: str) -> ProducerSession | None:
        """Begin a transaction; return None if the micro-batch is written already."""
        producer = self._shared_producer(topic)
        if not producer.begin(self._context.batch_id, topic):
            return None
        self._producer = producer
        return producer.session

    @contextmanager
    def _with_causes(self) -> Iterator[None]:
        try:
            yield
        except JobError as error:
            raise (
                error if self._producer is None else self._producer.with_timeout_cause(error)
            ) from None

    def prepare_commit(self) -> None:
        """Commit records and marker in one transaction.

        Raises:
            JobError: the commit failed; the repeated micro-batch looks for its marker.
        """
        producer, self._producer, self._session = self._producer, None, None
        if producer is None:
            return
        is_good = False
        try:
            is_good = producer.commit(self._context.batch_id)
        finally:
            if not is_good:
                self._context.discard(self._key)

    def abort(self) -> None:
        """Abort the transaction. The next one gets a new producer."""
        self._producer = self._session = None
        self._context.discard(self._key)

"""A producer with its reports: undelivered records, errors, topics and their partitions."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from headrace.common._extras import confluent_kafka
from headrace.datastream._outages import Outage, OutageLog
from headrace.datastream.connectors._kafka.sink.errors import (
    REFUSED,
    Undelivered,
    authentication_refused,
    invalid_record,
    is_likelier_cause,
    is_retriable,
    job_error,
    undelivered,
    was_purged,
)
from headrace.datastream.connectors._kafka.sink.producers import Producers
from headrace.datastream.connectors._kafka.sink.serialization import KafkaProducerRecord, to_headers
from headrace.errors import JobError

T = TypeVar("T")

PAUSE_S = 0.1
ROOM_S = 0.005
ONE_CALL_S = 10.0
FIRST_CALL_S = 2.0
"""Timeout of a call before the client was answered once: a client without a connection reports why
only between calls."""
LOG_AFTER_S = 2.0
"""A call that fails for this long is logged. It may fail once or twice when a partition moves."""
REFUSED_S = 5.0
"""If authentication of a new client is refused for this long, brokers that are still starting are
no longer assumed to be the cause."""
TOPIC_S = 3.0
"""How long a topic may be missing: a broker may be about to create it, or have stale metadata.

Spark runs a failed task up to four times, so a job waits for a multiple of this."""
METADATA_AGE_S = 300.0


class ProducerSession:
    """Sends records to Kafka, and raises if one of them cannot be delivered.

    ``timeout_s``: how long it waits for brokers that do not answer.
    """

    def __init__(self, producers: Producers, settings: dict[str, str], timeout_s: float) -> None:
        self._exception = confluent_kafka().KafkaException
        self._timeout_s = timeout_s
        self._failed: Undelivered | None = None
        self._failures = 0
        self._times: dict[str, tuple[int, int]] = {}
        self._last_error = ""
        self._outage_log = OutageLog()
        self._answered = False
        self._refused_s: float | None = None
        """The monotonic time since which authentication is refused."""
        self._connection_error = False
        self._topics: dict[str, tuple[Sequence[int], float]] = {}
        self.client = producers.producer(settings, self._on_delivery, self._on_error)
        self._produce = self.client.produce

    def send(self, record: KafkaProducerRecord) -> None:
        """Send a record; waits while the client's queue is full. The timestamp is above 0 or None.

        Raises:
            JobError: this or an earlier record is refused, or the queue stays full.
        """
        topic, value, key, timestamp, partition, headers = record
        while True:
            try:
                self._produce(
                    topic,
                    value,
                    key,
                    partition=-1 if partition is None else partition,
                    timestamp=0 if timestamp is None else timestamp,
                    headers=[*to_headers(headers)] if headers else None,
                )
                return
            except BufferError:  # repeatedly, if a large record needs the space of many
                self._wait_for_room(record)
            except self._exception as error:
                raise self._refused_error(record, error.args[0]) from None
            except (TypeError, ValueError, OverflowError) as error:
                raise invalid_record(record, error) from None

    def send_all(
        self,
        topic: str,
        values: Iterable[bytes | None],
        keys: Iterable[bytes | None],
        timestamps: Iterable[int | None],
    ) -> None:
        """Send records of one topic: 0.6 µs per record, instead of 0.8 with keyword arguments.

        Raises:
            JobError: as ``send``.
        """
        produce = self._produce
        no_room_or_refused = (BufferError, self._exception, TypeError, OverflowError)
        for value, key, timestamp in zip(values, keys, timestamps, strict=False):
            try:
                produce(topic, value, key, -1, None, None, timestamp or 0)
            except no_room_or_refused:
                self.send(KafkaProducerRecord(topic, value, key, timestamp))

    def _wait_for_room(self, record: KafkaProducerRecord) -> None:
        """Wait until the client's queue is shorter."""
        end, length = time.monotonic() + self._timeout_s, len(self.client)
        while len(self.client) >= length:
            self._serve(ROOM_S)  # deliveries are not reported
            self.check()
            if time.monotonic() >= end:
                raise JobError(
                    f"the queue of Kafka's producer stays full: {self._last_error or 'no answer'}",
                    where={"topic": record.topic, "waiting": f"{length} records"},
                    hint="check that the brokers run; set_unreachable_timeout sets how long "
                    "a sink waits",
                )

    def _refused_error(self, record: KafkaProducerRecord, error: Any) -> JobError:
        """Return the error for a record that the client refuses to send."""
        if error.fatal():
            return job_error("writing a record", error, self._last_error, {"topic": record.topic})
        size_bytes = len(record.value or b"") + len(record.key or b"")
        failed = Undelivered(error, record.topic, record.partition, record.key, size_bytes)
        return self._undelivered_error(failed, 1)

    def check(self) -> None:
        """Check that no record has failed.

        Raises:
            JobError: a record was not delivered; the error is that of the first one.
        """
        self._serve(0)
        if self._failed is not None:
            raise self._undelivered_error(self._failed, self._failures)

    def _undelivered_error(self, failed: Undelivered, count: int) -> JobError:
        return undelivered(failed, count, self._last_error, self._times.get(failed.topic))

    def record_times(self, topic: str, span: tuple[int, int]) -> None:
        """Remember the earliest and latest timestamp of a topic's records, for errors."""
        known = self._times.get(topic, span)
        self._times[topic] = min(known[0], span[0]), max(known[1], span[1])

    def flush(self) -> None:
        """Wait until all records are delivered.

        Raises:
            JobError: a record was not delivered.
        """
        with self._track_outage(self._timeout_s) as outage:
            while self.client.flush(ONE_CALL_S) and self._failed is None and outage.remaining_s > 0:
                if self._last_error:
                    outage.record_failure(self._last_error)
            if not len(self.client):
                outage.record_success()
        self.check()
        if len(self.client):
            raise JobError(
                f"{len(self.client)} records were not delivered to Kafka in time: "
                f"{self._last_error or 'no answer'}",
                hint="the micro-batch can be run again when brokers are back",
            )

    def call_with_retry(
        self, operation: str, call: Callable[[float], T], timeout_s: float | None = None
    ) -> T:
        """Return the result of ``call``, which is repeated while a retry may succeed.

        ``call`` gets its timeout in seconds.

        Raises:
            JobError: the call failed and cannot be retried, or timed out.
        """
        limit_s = self._timeout_s if timeout_s is None else timeout_s
        with self._track_outage(limit_s) as outage:
            return self._retry(operation, call, outage)

    def _retry(self, operation: str, call: Callable[[float], T], outage: Outage) -> T:
        """Call until it succeeds, fails for good, or the time limit of ``outage`` is reached."""
        while True:
            left = outage.remaining_s
            try:
                most = ONE_CALL_S if self._answered else FIRST_CALL_S
                found = call(min(max(left, PAUSE_S), most))
                self._answered = True
                outage.record_success()
                return found
            except self._exception as error:
                self._connection_error = True
                reason = error.args[0]
                # Runs the callbacks for errors. After a fatal one no further report explains more.
                self._serve(0 if reason.fatal() else PAUSE_S)
                if self._failed is not None and not reason.fatal():
                    raise self._undelivered_error(self._failed, self._failures) from None
                is_final_attempt = left <= PAUSE_S or not is_retriable(reason)
                if self._is_authentication_refused(is_final_attempt):
                    raise authentication_refused(operation, self._last_error) from None
                if is_final_attempt:
                    raise job_error(operation, reason, self._last_error) from None
                if outage.patience_s - left >= LOG_AFTER_S:
                    outage.record_failure(self._last_error or reason.str())

    @contextlib.contextmanager
    def _track_outage(self, limit_s: float) -> Iterator[Outage]:
        """Count this operation as waiting for brokers while the block runs."""
        outage = Outage(limit_s, "Kafka", log=self._outage_log)
        outage.start()
        try:
            yield outage
        finally:
            outage.stop_waiting()

    def _is_authentication_refused(self, is_final_attempt: bool) -> bool:
        """Return True if brokers answer but refuse the client's authentication.

        False once brokers have accepted it. ``is_final_attempt``: the call is not retried;
        otherwise refusals count only after ``REFUSED_S``, as brokers may still be starting.
        """
        if self._answered or self._refused_s is None:
            return False
        return is_final_attempt or time.monotonic() - self._refused_s >= REFUSED_S

    def clear_connection_error(self) -> None:
        """Forget errors of connections until now."""
        self._serve(0)  # runs the callbacks for errors
        self._connection_error = False

    def had_connection_error(self) -> bool:
        """Return whether a connection broke or a call was repeated since the last clearing."""
        self._serve(0)
        return self._connection_error

    def partitions(self, topic: str) -> Sequence[int]:
        """Return the numbers of a topic's partitions, cached for some minutes.

        Raises:
            JobError: there is no such topic, or no broker answers.
        """
        if not isinstance(topic, str) or not topic:
            raise invalid_record(KafkaProducerRecord(topic, None), None)
        known, asked = self._topics.get(topic, ((), 0.0))
        if not known or time.monotonic() - asked > METADATA_AGE_S:
            known = self._request_partitions(topic)
            self._topics[topic] = known, time.monotonic()
        return known

    def _request_partitions(self, topic: str) -> Sequence[int]:
        end = time.monotonic() + min(TOPIC_S, self._timeout_s)
        while True:
            answer = self.call_with_retry(
                "looking for the topic", lambda left: self.client.list_topics(topic, timeout=left)
            ).topics[topic]
            if answer.error is None and answer.partitions:
                return sorted(answer.partitions)
            if answer.error is not None and "AUTHORIZATION" in answer.error.name():
                raise job_error("looking for the topic", answer.error, where={"topic": topic})
            if time.monotonic() >= end:
                raise JobError(
                    f"there is no topic {topic!r} to write to",
                    hint="create it first: a sink does not create topics",
                )
            self._serve(PAUSE_S)

    def _serve(self, seconds: float) -> None:
        """Run the client's callbacks. A fatal error of the client is recorded, not raised."""
        try:
            self.client.poll(seconds)
        except self._exception as error:
            self._on_error(error.args[0])

    def _on_delivery(self, error: Any, message: Any) -> None:
        """Store the likeliest cause of failed deliveries. The client calls it when it is polled."""
        if error is None or was_purged(error):
            return
        self._failures += 1
        key = message.key()
        size_bytes = len(message.value() or b"") + len(key or b"")
        failed = Undelivered(error, message.topic(), message.partition(), key, size_bytes)
        if self._failed is None or is_likelier_cause(failed, self._failed):
            self._failed = failed

    def _on_error(self, error: Any) -> None:
        """Store the last error of the connections. The client calls it while it is polled."""
        self._connection_error = True
        if error.name() in REFUSED:
            self._refused_s = self._refused_s or time.monotonic()
        elif error.name() != "_ALL_BROKERS_DOWN":  # also follows a refusal
            self._refused_s = None
        elif self._refused_s is not None:
            return
        self._last_error = str(error.str())

    def close(self) -> None:
        """Drop undelivered records. The client ends with its last reference."""
        with contextlib.suppress(self._exception):
            self.client.purge()
            self.client.flush(PAUSE_S)
        del self.client, self._produce

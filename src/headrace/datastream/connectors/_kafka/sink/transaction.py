"""A transactional producer: records and a marker in one transaction.

The marker is an offset (the number of the micro-batch + 1) in a consumer group that belongs to one
sink and partition. It is sent before the records, so a fenced producer fails before it has sent
any.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from headrace.common._extras import confluent_kafka
from headrace.datastream.connectors._kafka.sink.errors import ClientStuck, timed_out
from headrace.datastream.connectors._kafka.sink.producer_session import PAUSE_S, ProducerSession
from headrace.datastream.connectors._kafka.sink.producers import Producers
from headrace.errors import JobError

TRANSACTION_TIMEOUT_MS = 300_000
CLOSING_S = 5.0
CALL = "headrace kafka call"
STUCK_S = 5.0
"""How long after its timeout a call may still return, before the client is abandoned."""

T = TypeVar("T")


class TransactionalProducer:
    """The producer of one partition. It ends if a transaction fails, or a connection breaks in one.

    ``marker``: the first micro-batch that is not written yet. ``topic``: one that is written to.
    """

    def __init__(
        self, producers: Producers, name: str, group: str, timeout_s: float, topic: str
    ) -> None:
        timeout_ms = producers.setting("transaction.timeout.ms", TRANSACTION_TIMEOUT_MS)
        self._lasts_s = timeout_ms / 1000
        self._began_s: float | None = None
        self._kafka = confluent_kafka()
        settings = {"transactional.id": name, "transaction.timeout.ms": str(timeout_ms)}
        self.session = ProducerSession(producers, settings, timeout_s)
        try:
            self._connect(topic)
            self._start(producers, group)
        except BaseException:
            self.session.close()
            raise

    def _connect(self, topic: str) -> None:
        """Connect: without a connection, librdkafka looks for the coordinator only every 500 ms.

        The first request goes to a bootstrap server, which returns the brokers. The second one,
        whose result is cached, goes to one of them.
        """
        self.session.call_with_retry(
            "connecting", lambda left: self.session.client.list_topics(topic, timeout=left)
        )
        self.session.partitions(topic)

    def _start(self, producers: Producers, group: str) -> None:
        """Abort what a dead predecessor left open, which would hide the marker; then read it."""
        self.session.call_with_retry("starting transactions", self.session.client.init_transactions)
        found = self.session.call_with_retry(
            "reading the sink's marker", lambda left: producers.marker(group, left)
        )
        self.marker = max(found, 0)
        self._metadata = producers.group_metadata(group)

    def begin(self, batch_id: int, topic: str) -> bool:
        """Begin a transaction with the marker of a micro-batch; False if that is written already.

        ``topic`` must exist: the marker is stored as an offset of it.

        Raises:
            JobError: Kafka refuses, as when this producer was fenced. Do not use it again.
            ClientStuck: the client does not return; nothing of this micro-batch was sent.
        """
        if batch_id < self.marker:
            return False
        self.session.partitions(topic)
        self.session.clear_connection_error()
        self._call_with_retry(
            "beginning a transaction", lambda _: self.session.client.begin_transaction()
        )
        self._began_s = time.monotonic()
        marker = [self._kafka.TopicPartition(topic, 0, batch_id + 1)]
        send = self.session.client.send_offsets_to_transaction
        # librdkafka does not keep this call's timeout (its issue 5456): if the group's coordinator
        # was restarted, it may wait for ever for a broker that it has forgotten (5511).
        self._call_with_retry(
            "writing the sink's marker",
            lambda left: call_with_timeout(
                lambda: send(marker, self._metadata, left), left + STUCK_S
            ),
        )
        return True

    def commit(self, batch_id: int) -> bool:
        """Commit records and marker; False if the next transaction needs a new producer.

        After a broken connection a repeated request may still be in progress. If the next
        transaction had the same epoch, Kafka would count it there: librdkafka 2.16 does not change
        the epoch with each transaction (KIP-890). A new producer does.

        Raises:
            JobError: the commit failed, or its outcome is unknown. Do not use the producer again.
        """
        self._call_with_retry("committing a transaction", self.session.client.commit_transaction)
        self._began_s = None
        self.marker = batch_id + 1
        return not self.session.had_connection_error()

    def close(self) -> None:
        """Abort the open transaction if Kafka answers soon."""
        if self._began_s is not None:
            abort = self.session.client.abort_transaction
            with contextlib.suppress(JobError):  # then the next producer with this name aborts it
                self.session.call_with_retry("aborting a transaction", abort, CLOSING_S)
        self.session.close()

    def _call_with_retry(self, operation: str, call: Callable[[float], T]) -> T:
        try:
            return self.session.call_with_retry(operation, call)
        except JobError as error:
            raise self.with_timeout_cause(error) from None

    def with_timeout_cause(self, error: JobError) -> JobError:
        """Return the error; if the transaction was open for too long, one that says so."""
        open_s = 0.0 if self._began_s is None else time.monotonic() - self._began_s
        if open_s + PAUSE_S < self._lasts_s:
            return error
        return timed_out(open_s, self._lasts_s, error)


def marker_group_prefix(sink_id: str) -> str:
    """Return the prefix of the groups of a sink's markers; the number of the partition follows."""
    return f"headrace-{sink_id}-"


def last_batch(producers: Producers, sink_id: str, timeout_s: float) -> int:
    """Return the highest micro-batch for which a partition has a marker; -1: none has.

    Raises:
        JobError: Kafka refuses, or does not answer.
    """
    session = ProducerSession(producers, {}, timeout_s)  # it decides on retries and the time limit
    try:
        session.call_with_retry("connecting", lambda left: session.client.list_topics(timeout=left))
        groups = marker_group_prefix(sink_id)
        found = session.call_with_retry(
            "reading the sink's markers", lambda left: producers.last_marker(groups, left)
        )
    finally:
        session.close()
    return max(found, 0) - 1


def call_with_timeout(call: Callable[[], T], seconds: float) -> T:
    """Return the result of ``call``, made on a thread that is abandoned at the timeout.

    Raises:
        ClientStuck: the timeout. The abandoned thread keeps the call's object alive.
        BaseException: the exception of the call.
    """
    answers: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            answers.put((call(), None))
        except BaseException as error:  # raised in the waiting thread
            answers.put((None, error))

    threading.Thread(target=run, name=CALL, daemon=True).start()
    try:
        found, error = answers.get(timeout=seconds)
    except queue.Empty:
        raise ClientStuck(
            f"Kafka's client did not come back from a call in {seconds:.0f} s",
            hint="the micro-batch can be run again",
        ) from None
    if error is not None:
        raise error
    answer: T = found
    return answer

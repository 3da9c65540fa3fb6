"""The exceptions for a producer's errors."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from headrace.datastream.connectors._kafka.sink.timestamps import format_timestamp
from headrace.errors import JobError

_LATER = {
    "_TRANSPORT",
    "_ALL_BROKERS_DOWN",
    "_TIMED_OUT",
    "_TIMED_OUT_QUEUE",
    "_RESOLVE",
    "_WAIT_COORD",
    "_WAIT_CACHE",
    "REQUEST_TIMED_OUT",
    "COORDINATOR_NOT_AVAILABLE",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "NOT_COORDINATOR",
    "LEADER_NOT_AVAILABLE",
    "NETWORK_EXCEPTION",
    "BROKER_NOT_AVAILABLE",
    "CONCURRENT_TRANSACTIONS",
    "UNSTABLE_OFFSET_COMMIT",
}
"""Temporary errors that requests for metadata and offsets do not mark as retriable."""

_FENCED = {"_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"}

REFUSED = {"_AUTHENTICATION", "_SSL"}
"""Errors of a client whose authentication or encryption the brokers refuse."""

_PURGED = {"_PURGE_QUEUE", "_PURGE_INFLIGHT"}

_TIMESTAMPS = (
    "brokers refuse timestamps that are further ahead of their clock, or behind it, than the "
    "topic's message.timestamp.after.max.ms (an hour since Kafka 4.0) and "
    "message.timestamp.before.max.ms. Set these for the topic, or its message.timestamp.type to "
    "LogAppendTime, or set_record_timestamp(RecordTimestamp.SENDING_TIME) on the sink's builder"
)
_OF_TIMESTAMPS = {"INVALID_TIMESTAMP", "INVALID_RECORD"}
_OF_BATCHES = {"MSG_SIZE_TOO_LARGE", *_OF_TIMESTAMPS}
"""Brokers refuse a whole batch with these, even if only one of its records is wrong."""

_HINTS = {
    "MSG_SIZE_TOO_LARGE": "the sink's message.max.bytes limits a record. The topic's "
    "max.message.bytes limits a record and a batch of records: raise it, or set the sink's "
    "batch.size below it",
    "INVALID_TIMESTAMP": _TIMESTAMPS,
    "INVALID_RECORD": f"{_TIMESTAMPS}. If the topic is compacted, it takes no record without a key",
    "INVALID_TRANSACTION_TIMEOUT": "the sink's transaction.timeout.ms must not exceed the brokers' "
    "transaction.max.timeout.ms (15 minutes unless they say otherwise)",
    "TOPIC_AUTHORIZATION_FAILED": "the sink needs Write on its topics; for exactly once Read, too, "
    "since its marker is an offset",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "exactly once needs Write on the transactional ids "
    "that begin with the sink's prefix",
    "GROUP_AUTHORIZATION_FAILED": "exactly once needs Read on the groups that begin with "
    "headrace-, where the sink keeps its markers",
    "_UNKNOWN_PARTITION": "a partitioner gives one of the numbers that it gets",
}


class NoAnswer(JobError):
    """No broker answers; a retry may succeed."""


class ClientStuck(JobError):
    """A client does not return from a call. It is abandoned; a new one may work."""


class Undelivered(NamedTuple):
    """A record that was not delivered, with the error and the size of its key and value."""

    error: Any
    topic: str
    partition: int | None
    key: bytes | None
    size_bytes: int


def is_retriable(error: Any) -> bool:
    """Return whether a retry of the call may succeed."""
    if error.fatal() or error.txn_requires_abort():
        return False
    return bool(error.retriable()) or error.name() in _LATER


def was_purged(error: Any) -> bool:
    """Return whether the session itself dropped the record."""
    return error.name() in _PURGED


def job_error(
    operation: str, error: Any, last_error: str = "", where: dict[str, str] | None = None
) -> JobError:
    """Return the exception for an error of Kafka. ``operation``: what failed, for the message."""
    location = {"doing": operation, **(where or {})}
    if error.name() in _FENCED:
        return JobError(
            "another producer has taken over the transactional id of this one, and Kafka refuses "
            "its records",
            where=location,
            hint="the job runs twice, or two sinks have the same transactional id prefix. Readers "
            "of committed records see nothing of this transaction",
        )
    if is_retriable(error):
        return NoAnswer(
            f"no Kafka broker answers: {last_error or error.str()}",
            where=location,
            hint="the micro-batch can be run again when brokers are back; "
            "set_unreachable_timeout sets how long a sink waits",
        )
    return JobError(f"Kafka refuses: {error.str()}", where=location, hint=_HINTS.get(error.name()))


def authentication_refused(operation: str, last_error: str) -> JobError:
    """Return the exception for a client that brokers have never accepted."""
    return JobError(
        f"Kafka refuses the login: {last_error}",
        where={"doing": operation},
        hint="check the sink's security properties: protocol, user, password, certificates",
    )


def is_likelier_cause(one: Undelivered, other: Undelivered) -> bool:
    """Return whether ``one`` is likelier the cause than ``other``. Brokers refuse whole batches."""
    name = one.error.name()
    if name == "MSG_SIZE_TOO_LARGE":
        return one.size_bytes > other.size_bytes
    return name == "INVALID_RECORD" and one.key is None and other.key is not None


def undelivered(
    failed: Undelivered, count: int, last_error: str, times: tuple[int, int] | None
) -> JobError:
    """Return the exception for ``count`` undelivered records; it names the likeliest cause.

    ``times``: the earliest and the latest timestamp that was sent to the topic.
    """
    name = failed.error.name()
    is_batch = count > 1 and name in _OF_BATCHES
    where = {"topic": failed.topic}
    if failed.partition is not None and failed.partition >= 0:
        where["partition"] = str(failed.partition)
    where["largest" if is_batch and name == "MSG_SIZE_TOO_LARGE" else "size"] = (
        f"{failed.size_bytes} bytes, key and value"
    )
    if failed.key is not None:
        where["key"] = f"{failed.key!r:.100}"
    if name in _OF_TIMESTAMPS and times is not None:
        where["timestamps"] = f"{format_timestamp(times[0])} to {format_timestamp(times[1])}"
        where["now"] = format_timestamp(int(time.time() * 1000))
    if count > 1:
        where["and"] = f"{count - 1} more records"
        if is_batch:
            where["and"] += ": brokers refuse a batch as a whole, maybe for another record"
    if name == "_MSG_TIMED_OUT":
        return JobError(
            f"a record could not be delivered to Kafka in time: {last_error or failed.error.str()}",
            where=where,
            hint="the micro-batch can be run again when brokers are back; "
            "message.timeout.ms sets how long a record waits",
        )
    reason = failed.error.str().removeprefix("Unable to produce message: ")
    what = "records" if is_batch else "a record"
    return JobError(f"Kafka refuses {what}: {reason}", where=where, hint=_HINTS.get(name))


def invalid_record(record: Any, error: Exception | None) -> JobError:
    """Return the exception for a record that the client cannot send."""
    topic, value, key, timestamp, partition, headers = record
    parts = {"value": value, "key": key, "timestamp": timestamp, "partition": partition}
    wrong = f": {error}" if error is not None and isinstance(topic, str) else ""
    if not isinstance(topic, str) or not topic:
        wrong = f": its topic is {topic!r:.100}"
    return JobError(
        f"Kafka's client cannot send a record{wrong}",
        where={
            "topic": f"{topic!r:.100}",
            **{name: type(part).__name__ for name, part in parts.items() if part is not None},
            **({"headers": f"{headers!r:.100}"} if headers else {}),
        },
        hint="a topic is a text; key, value and the values of headers are bytes, texts or None; "
        "partition and timestamp are whole numbers or None",
    )


def timed_out(open_s: float, timeout_s: float, met: JobError) -> JobError:
    """Return the exception for a transaction that was open for too long."""
    return JobError(
        f"a Kafka transaction was open for {open_s:.0f} s, but the brokers abort it after "
        f"{timeout_s:.0f} s",
        where={"met": met.message},
        hint="the micro-batch can be run again: nothing of it is visible. Set a longer "
        "transaction.timeout.ms, or smaller micro-batches "
        "(headrace.source.max-records-per-batch)",
    )

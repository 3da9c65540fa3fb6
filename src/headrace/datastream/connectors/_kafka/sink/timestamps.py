"""The timestamps of written Kafka records, and how brokers treat them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum

from headrace.datastream.connectors._kafka.sink.producers import Producers
from headrace.errors import JobError

RETENTION_CHECK_MS = 300_000
"""The interval at which brokers look for expired records (log.retention.check.interval.ms)."""
ASK_S = 10.0

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CHOOSE = "set_record_timestamp(RecordTimestamp.SENDING_TIME) on the sink's builder"

_log = logging.getLogger(__name__)


class RecordTimestamp(Enum):
    """The timestamp that Kafka records get."""

    EVENT_TIME = "event-time"
    """The record's event time, as in Flink; without one, the time of sending."""
    SENDING_TIME = "sending-time"
    """The time at which the client accepts the record."""


def format_timestamp(timestamp_ms: int) -> str:
    """Return a timestamp as text: date and time in UTC if it has one."""
    try:
        moment = _EPOCH + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return f"{timestamp_ms} ms"
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def time_range(timestamps: Sequence[int | None]) -> tuple[int, int] | None:
    """Return the earliest and the latest timestamp; None if there is none."""
    if timestamps.count(None) == len(timestamps):
        return None
    try:
        found = min(timestamps), max(timestamps)  # type: ignore[type-var]  # 10 ns a record
    except TypeError:  # None or an invalid value among them
        found = None, None
    if isinstance(found[0], int) and isinstance(found[1], int):
        return found[0], found[1]
    known = [each for each in timestamps if isinstance(each, int)]
    return (min(known), max(known)) if known else None


def too_early(topic: str, timestamp_ms: int, key: object) -> JobError:
    """Return the exception for a timestamp that cannot be sent.

    librdkafka would replace it by the time of sending, or Kafka would read it as no timestamp.
    """
    return JobError(
        f"a record for Kafka has the timestamp {timestamp_ms} ms"
        f" ({format_timestamp(timestamp_ms)}), which cannot be sent: it must be after"
        " 1970-01-01T00:00:00.000Z",
        where={"topic": topic, **({} if key is None else {"key": f"{key!r:.100}"})},
        hint=f"correct or drop such records before the sink. {_CHOOSE} writes all records with "
        "the time of sending; a schema of your own may give timestamp=None to some",
    )


class OldTimestamps:
    """Logs, once per topic, that its retention deletes records soon after they are written.

    ``clock`` returns seconds since the epoch.
    """

    def __init__(self, producers: Producers, clock: Callable[[], float] = time.time) -> None:
        self._producers, self._clock = producers, clock
        self._retention_ms_by_topic: dict[str, int | None] = {}

    def check_retention(self, topic: str, earliest_ms: int) -> None:
        """Warn if the earliest timestamp of some records is before their topic's retention time."""
        age_ms = int(self._clock() * 1000) - earliest_ms
        if age_ms < RETENTION_CHECK_MS:
            return
        if topic not in self._retention_ms_by_topic:
            self._retention_ms_by_topic[topic] = self._request_retention_ms(topic)
        retention_ms = self._retention_ms_by_topic[topic]
        if retention_ms is None or age_ms <= retention_ms:
            return
        self._retention_ms_by_topic[topic] = None
        kept = timedelta(milliseconds=retention_ms)
        _log.warning(
            "records are written to the topic %r with timestamps from %s on, but the topic keeps "
            "records for %s only, by their timestamps: brokers delete these a few minutes from "
            "now. To keep them, set the topic's retention.ms to -1, or its message.timestamp.type "
            "to LogAppendTime, or use %s",
            *(topic, format_timestamp(earliest_ms), str(kept).removesuffix(", 0:00:00"), _CHOOSE),
        )

    def _request_retention_ms(self, topic: str) -> int | None:
        """Return how long a topic keeps records by their own timestamps.

        Return None if the time is not limited, or unknown.
        """
        settings = self._producers.topic_settings(topic, ASK_S)
        by_timestamp = settings.get("message.timestamp.type") == "CreateTime"
        retention_ms = settings.get("retention.ms", "-1")
        if not by_timestamp or "delete" not in settings.get("cleanup.policy", "delete"):
            return None
        return int(retention_ms) if int(retention_ms) >= 0 else None

"""Commits and reads a group's offsets through a consumer that reads no records.

An ``AdminClient`` must do neither: librdkafka 2.16 ends the process if the group's coordinator
does not answer in time (its issue 4605), or answers that it is not the coordinator (5040).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headrace.common._extras import confluent_kafka
from headrace.datastream.connectors._kafka.client.consumer import TopicPartition
from headrace.datastream.connectors._kafka.client.library import UNKNOWN, make_client, text_of

CLOSING_S = 5.0
_SERVE_S = 0.05


class GroupConsumer:
    """Commits offsets for the group in its properties, without joining it.

    One commit is on its way at a time: librdkafka may repeat it, and then an earlier one would come
    after a later one. What is committed meanwhile is sent together.
    """

    def __init__(self, properties: Mapping[str, Any]) -> None:
        self._kafka = confluent_kafka()
        self._waiting: dict[TopicPartition, int] = {}
        self._calls_waiting = self._calls_sent = 0
        self._results: list[str | None] = []
        own = {"on_commit": self._on_commit, "error_cb": lambda error: None, **properties}
        self._consumer = make_client(self._kafka.Consumer, own)

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Begin to commit; ``results`` returns the results, one for each call."""
        self._waiting.update(offsets)
        self._calls_waiting += 1
        self._send()

    def _send(self) -> None:
        if self._calls_sent or not self._calls_waiting:
            return
        topic_partitions = [
            self._kafka.TopicPartition(*topic_partition, at)
            for topic_partition, at in self._waiting.items()
        ]
        calls, self._calls_waiting, self._waiting = self._calls_waiting, 0, {}
        try:
            self._consumer.commit(offsets=topic_partitions, asynchronous=True)
        except self._kafka.KafkaException as error:
            self._results += [text_of(error)] * calls
        else:
            self._calls_sent = calls

    def _on_commit(self, error: Any, topic_partitions: Sequence[Any]) -> None:
        wrong = [error] if error is not None else _list_partition_errors(topic_partitions)
        self._results += [text_of(wrong[0]) if wrong else None] * self._calls_sent
        self._calls_sent = 0

    def _serve(self, wait_s: float) -> None:
        self._consumer.poll(wait_s)  # runs the callbacks
        self._send()

    def results(self) -> Sequence[str | None]:
        """Return the results of the commits answered since the last call: an error, or None.

        librdkafka repeats a commit that nobody answers for as long as the client lives.
        """
        self._serve(0)
        found, self._results = self._results, []
        return found

    def committed_offsets(
        self, topic_partitions: Iterable[TopicPartition], timeout_s: float
    ) -> dict[TopicPartition, int]:
        """Return the group's offsets, of partitions where it has one.

        Raises:
            KafkaException: no broker answers, or one refuses; for a partition alone, too.
        """
        asked = [
            self._kafka.TopicPartition(*topic_partition) for topic_partition in topic_partitions
        ]
        found = self._consumer.committed(asked, timeout=timeout_s) if asked else []
        for error in _list_partition_errors(found):
            raise self._kafka.KafkaException(error)
        return {(at.topic, at.partition): at.offset for at in found if at.offset >= 0}

    def close(self) -> None:
        """Wait a few seconds for pending commits, then close the client.

        The client's own ``close`` would wait for them without a limit; dropping the client ends it
        too.
        """
        end = time.monotonic() + CLOSING_S
        while (self._calls_sent or self._calls_waiting) and time.monotonic() < end:
            self._serve(_SERVE_S)
        del self._consumer


def _list_partition_errors(topic_partitions: Iterable[Any]) -> list[Any]:
    """Return the errors of partitions that exist; one that does not simply has no offset."""
    return [at.error for at in topic_partitions if at.error and at.error.name() not in UNKNOWN]

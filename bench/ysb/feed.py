"""Fills a topic with events: beforehand, or live at a rate. A process of its own.

``python -m bench.ysb.feed BROKERS TOPIC COUNT TALLY --start MS --per-second N --tail MS [--live]``
writes the tally of what it produced into the file TALLY, at its end, and prints as JSON how late it
was at the most (``late_ms``) and what it used (``processor_seconds``).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import confluent_kafka

from bench.ysb import tallies
from bench.ysb.events import Events, Tally, of_all_campaigns

PARTITIONS = 2
_TICK_S = 0.005
_BEGINNING_S = 10
"""The beginning, in which this process starts: how late it was then is not told."""
_PER_POLL = 1_000
_SETTINGS = {
    "linger.ms": 5,
    "compression.type": "lz4",
    "queue.buffering.max.messages": 200_000,
}


class Topic:
    """Produces into the partitions of one topic."""

    def __init__(self, brokers: str, name: str) -> None:
        self._name = name
        self._producer = confluent_kafka.Producer({"bootstrap.servers": brokers, **_SETTINGS})
        self._refused: list[Any] = []

    def _heard(self, error: Any, _: Any) -> None:
        if error is not None:
            self._refused.append(error)

    def append(self, partition: int, value: bytes) -> None:
        """Append to a partition; waits while the producer is full."""
        while True:
            try:
                self._producer.produce(
                    self._name, value, partition=partition, on_delivery=self._heard
                )
                return
            except BufferError:
                self._producer.poll(0.05)

    def serve(self) -> None:
        """Let the producer hear what the broker answered."""
        self._producer.poll(0)

    def close(self) -> None:
        """Wait until the broker has all.

        Raises:
            RuntimeError: it refused something.
        """
        self._producer.flush()
        if self._refused:
            raise RuntimeError(f"Kafka refuses an event: {self._refused[0]}")


def due(elapsed_s: float, per_second: int, count: int) -> int:
    """How many of so many events should have been produced by then."""
    return max(0, min(int(elapsed_s * per_second), count))


def fill(topic: Topic, events: Events, count: int) -> Tally:
    """Produce events as fast as it goes, the partitions in turn."""
    tally = Tally()
    for begin in range(0, count, _PER_POLL):
        for index in range(begin, min(begin + _PER_POLL, count)):
            topic.append(index % PARTITIONS, events.made(index, tally))
        topic.serve()
    return tally


def live(topic: Topic, events: Events, count: int) -> tuple[Tally, float]:
    """Produce each event when it happens; one that is late keeps the time at which it was due.

    Beside the tally it gives the seconds by which the latest one was late, the beginning aside.
    """
    tally, done, late_s = Tally(), 0, 0.0
    while done < count:
        elapsed_s = time.time() - events.start_ms / 1000
        until = due(elapsed_s, events.per_second, count)
        for index in range(done, until):
            topic.append(index % PARTITIONS, events.made(index, tally))
        if until > done >= _BEGINNING_S * events.per_second:
            late_s = max(late_s, elapsed_s - done / events.per_second)
        topic.serve()
        done = max(done, until)
        time.sleep(_TICK_S)
    return tally, late_s


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("brokers")
    parser.add_argument("topic")
    parser.add_argument("count", type=int)
    parser.add_argument("tally", type=Path)
    parser.add_argument("--start", type=int, required=True)
    parser.add_argument("--per-second", type=int, required=True)
    parser.add_argument("--tail", type=int, required=True)
    parser.add_argument("--live", action="store_true")
    given = parser.parse_args()
    events, topic = Events(given.start, given.per_second), Topic(given.brokers, given.topic)
    late_s = 0.0
    if given.live:
        tally, late_s = live(topic, events, given.count)
    else:
        tally = fill(topic, events, given.count)
    into_all(topic, of_all_campaigns(given.tail))
    topic.close()
    used = time.process_time()
    print(json.dumps({"late_ms": round(late_s * 1000), "processor_seconds": round(used, 2)}))
    tallies.save(tally, given.tally)


def into_all(topic: Topic, values: Iterable[bytes]) -> None:
    """Append each event to every partition."""
    for value in values:
        for partition in range(PARTITIONS):
            topic.append(partition, value)


if __name__ == "__main__":
    main()

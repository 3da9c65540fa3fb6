"""Quix Streams: two processes of one consumer group, one for each partition.

Option ``grace_ms``: how long a window stays open after its end. The two processes send to each
other by campaign, and where they catch up one may be far ahead of the other. So only the tail that
is read last goes on: the first would end windows of which the other process still has events.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import redis
from quixstreams import Application, message_context

from bench.ysb.asked import RESULTS, Asked, asked
from bench.ysb.events import VIEW, WINDOW_MS

PROCESSES = PARTITIONS = 2
_AT_THE_TAIL = "quix:at-the-tail"
_ON_THE_WAY_S = 0.5
"""So long what was sent may take to the broker."""


class Campaigns:
    """The campaign of an ad, asked for once."""

    def __init__(self, client: Any) -> None:
        self._client, self._known = client, dict[str, str]()

    def __call__(self, view: tuple[str, str]) -> dict[str, str]:
        ad = view[0]
        campaign = self._known.get(ad)
        if campaign is None:
            campaign = self._known[ad] = self._client.get(ad)
        return {"campaign": campaign, "event_time": view[1]}


class OneTail:
    """Lets the tail of one partition pass, the last one that is read."""

    def __init__(self, client: Any, tail_ms: int) -> None:
        self._client, self._tail = client, str(tail_ms)
        self._passes: dict[int, bool] = {}

    def __call__(self, event: dict[str, str]) -> bool:
        if event["event_time"] != self._tail:
            return True
        partition = message_context().partition
        if partition not in self._passes:
            self._client.sadd(_AT_THE_TAIL, partition)
            self._passes[partition] = self._client.scard(_AT_THE_TAIL) == PARTITIONS
            if self._passes[partition]:
                time.sleep(_ON_THE_WAY_S)
        return self._passes[partition]


def event_time(value: Any, headers: Any, timestamp_ms: float, kind: Any) -> int:
    """The time at which an event happened."""
    return int(value["event_time"])


def run(task: Asked, number: int) -> None:
    """One of the processes."""
    client = redis.Redis.from_url(task.redis, decode_responses=True)
    app = Application(
        task.brokers,
        consumer_group=f"quix-{task.path.parent.name}",  # another one would go on where it stood
        auto_offset_reset="earliest",
        state_dir=task.path / f"state-{number}",
        loglevel="WARNING",
    )
    events = app.dataframe(app.topic(task.topic, timestamp_extractor=event_time))
    events = events.filter(OneTail(client, task.tail_ms))
    events = events.filter(lambda event: event["event_type"] == VIEW)
    events = events.apply(lambda event: (event["ad_id"], event["event_time"]))
    events = events.apply(Campaigns(client)).group_by("campaign")
    counted = events.tumbling_window(WINDOW_MS, grace_ms=int(task.option("grace_ms", "0")))

    def write(result: dict[str, int], key: Any, timestamp: int, headers: Any) -> None:
        fields = {"campaign": key, "window": result["start"], "views": result["value"]}
        client.xadd(RESULTS, fields)

    counted.count().final().update(write, metadata=True)
    app.run()


def main() -> None:
    number = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    if number == 0:
        for other in range(1, PROCESSES):
            module = "bench.ysb.peers.quix_job"
            subprocess.Popen([sys.executable, "-m", module, sys.argv[1], str(other)])
    run(asked(), number)


if __name__ == "__main__":
    main()

"""What an event costs in each step of Headrace's job, without Spark.

``python -m bench.ysb.layers``: processor time of all threads of one process, in microseconds per
event, the best of three turns. Each step takes what the one before gave; their sum is what a worker
cannot do without. What a worker uses beyond it (the processor time in ``bench/RESULTS.md``) is the
engine's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import confluent_kafka
import orjson

from bench import processes, report
from bench.ysb.events import WINDOW_MS, campaigns
from bench.ysb.feed import PARTITIONS
from bench.ysb.peers import headrace_job
from bench.ysb.servers import brought_up

EVENTS, PER_SECOND, TURNS = 300_000, 10_000, 3
_AT_ONCE = 10_000


def fetched(brokers: str, topic: str) -> list[Any]:
    """All messages of a topic, fetched and held as the client gives them."""
    settings = {"bootstrap.servers": brokers, "group.id": "layers", "check.crcs": False}
    consumer = confluent_kafka.Consumer(settings)
    start = confluent_kafka.OFFSET_BEGINNING
    consumer.assign(
        [confluent_kafka.TopicPartition(topic, number, start) for number in range(PARTITIONS)]
    )
    found: list[Any] = []
    while len(found) < EVENTS:
        found += consumer.consume(_AT_ONCE, timeout=1.0)
    consumer.close()
    return found


def counts(views: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
    """Views by campaign and window: the fold, by hand."""
    found: dict[tuple[str, int], int] = {}
    for campaign, at in views:
        place = campaign, at - at % WINDOW_MS
        found[place] = found.get(place, 0) + 1
    return found


def steps() -> list[tuple[str, Callable[[Any], Any]]]:
    """Each step after the fetch, with its function of all that the one before gave."""
    campaign_of = campaigns()
    return [
        ("value taken out of the message", lambda found: [message.value() for message in found]),
        ("JSON read", lambda found: [orjson.loads(value) for value in found]),
        ("event time taken", lambda found: [(int(e["event_time"]), e) for e in found]),
        ("filtered", lambda found: [e for _, e in found if headrace_job.is_view(e)]),
        ("projected", lambda found: [headrace_job.projected(event) for event in found]),
        ("joined, from a cache", lambda found: [(campaign_of[ad], at) for ad, at in found]),
        ("counted by window", counts),
    ]


def measured(fetch: Callable[[], list[Any]]) -> dict[str, float]:
    """The cost of each step; all but the first take as many events at once as the engine does."""
    best: dict[str, float] = {}
    for _ in range(TURNS):
        used: dict[str, float] = {}
        began = time.process_time()
        messages = fetch()
        used["fetched by the client"] = time.process_time() - began
        for first in range(0, len(messages), _AT_ONCE):
            given: Any = messages[first : first + _AT_ONCE]
            for name, step in steps():
                began = time.process_time()
                given = step(given)
                used[name] = used.get(name, 0.0) + time.process_time() - began
        for name, seconds in used.items():
            cost = seconds / len(messages) * 1e6
            best[name] = min(cost, best.get(name, cost))
    return best


def main() -> None:
    processes.stay_on_two_cores()
    with brought_up() as up:
        topic = up.filled(EVENTS, PER_SECOND).topic
        found = measured(lambda: fetched(up.brokers, topic))
    rows = [[name, f"{cost:.2f}"] for name, cost in found.items()]
    rows.append(["all", f"{sum(found.values()):.2f}"])
    print(report.table(["step", "us per event"], rows))


if __name__ == "__main__":
    main()

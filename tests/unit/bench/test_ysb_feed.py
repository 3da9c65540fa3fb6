"""What the generator puts into a topic."""

from __future__ import annotations

import json

import pytest

from bench.ysb import feed
from bench.ysb.events import Events, Tally


class Kept:
    """In place of a topic: keeps what is appended."""

    def __init__(self) -> None:
        self.events: list[tuple[int, bytes]] = []

    def append(self, partition: int, value: bytes) -> None:
        self.events.append((partition, value))

    def serve(self) -> None:
        """Nothing waits."""


@pytest.mark.parametrize("count", [1, 2_500])
def test_partitions_take_turns_and_time_goes_on_in_each(count: int) -> None:
    topic, events, tally = Kept(), Events(0, 1_000), Tally()
    found = feed.fill(topic, events, count)  # type: ignore[arg-type]
    assert [value for _, value in topic.events] == [events.made(i, tally) for i in range(count)]
    assert found == tally
    assert [partition for partition, _ in topic.events] == [i % 2 for i in range(count)]


def test_live_produces_what_is_due_and_late_events_keep_their_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moments = iter([0.0, 1.0, 1.25, 9.0])
    produced_by: list[int] = []
    topic = Kept()
    monkeypatch.setattr("time.time", lambda: next(moments))
    monkeypatch.setattr("time.sleep", lambda _: produced_by.append(len(topic.events)))
    monkeypatch.setattr(feed, "_BEGINNING_S", 0.1)
    tally, late_s = feed.live(topic, Events(1_000, 100), 40)  # type: ignore[arg-type]
    assert produced_by == [0, 0, 25, 40]
    assert (
        late_s == 9.0 - 1.0 - 0.25
    )  # the 26th event was due a quarter of a second after the first
    times = [int(json.loads(value)["event_time"]) for _, value in topic.events]
    assert times == [1_000 + 10 * index for index in range(40)]
    assert sum(tally.values()) == sum(b'"view"' in value for _, value in topic.events)


@pytest.mark.parametrize(("elapsed_s", "said"), [(-3, 0), (0, 0), (2, 20), (100, 50)])
def test_due(elapsed_s: float, said: int) -> None:
    assert feed.due(elapsed_s, 10, 50) == said

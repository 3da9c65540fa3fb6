"""A consumer that commits a group's offsets, closed while commits are under way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from headrace.datastream.connectors._kafka.client import group_consumer
from headrace.datastream.connectors._kafka.client.group_consumer import GroupConsumer

pytest.importorskip("confluent_kafka", reason="missing: pip install 'headrace[kafka]'")


class SlowConsumer:
    """Answers each commit at the third poll."""

    def __init__(self, answer: Callable[[Any, Sequence[Any]], None]) -> None:
        self.answer = answer
        self.waiting: list[int] = []
        self.sent: list[list[int]] = []
        self.polls = 0

    def commit(self, offsets: Any, asynchronous: bool) -> None:
        assert asynchronous, "the job would wait for the answer"
        assert not any(each > 0 for each in self.waiting), "it may be repeated after this one"
        self.waiting.append(3)
        self.sent.append([each.offset for each in offsets])

    def poll(self, timeout_s: float) -> None:
        self.polls += 1
        self.waiting = [polls - 1 for polls in self.waiting]
        for _ in range(self.waiting.count(0)):
            self.answer(None, ())


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> tuple[GroupConsumer, SlowConsumer]:
    consumers: list[SlowConsumer] = []

    def make(kind: Any, properties: Any) -> SlowConsumer:
        consumers.append(SlowConsumer(properties["on_commit"]))
        return consumers[-1]

    monkeypatch.setattr(group_consumer, "make_client", make)
    group = GroupConsumer({"group.id": "g"})
    return group, consumers[0]


def test_closing_waits_for_commits_under_way(made: tuple[GroupConsumer, SlowConsumer]) -> None:
    group, consumer = made
    group.commit({("t", 0): 4})
    group.commit({("t", 0): 5, ("t", 1): 7})
    group.commit({("t", 0): 6})
    group.close()
    assert consumer.sent == [[4], [6, 7]]
    assert consumer.polls == 6


def test_each_call_has_a_result(made: tuple[GroupConsumer, SlowConsumer]) -> None:
    group, _ = made
    for offset in range(3):
        group.commit({("t", 0): offset})
    assert [[*group.results()] for _ in range(6)] == [[], [], [None], [], [], [None, None]]


def test_closing_does_not_wait_for_ever(
    made: tuple[GroupConsumer, SlowConsumer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_consumer, "CLOSING_S", 0.0)
    group, consumer = made
    group.commit({("t", 0): 4})
    group.close()
    assert consumer.polls == 0

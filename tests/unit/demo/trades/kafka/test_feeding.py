"""Sending the day's messages to a broker, with its failures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.demo.trades.kafka.feeding import Feeder
from headrace.demo.trades.kafka.messages import Message
from headrace.errors import JobError

pytest.importorskip("confluent_kafka", reason="missing: pip install 'headrace[kafka]'")

MESSAGES = [Message("t", 0, None, b"%d" % number, f"e{number}") for number in range(5)]


class Producer:
    """A producer whose broker has its records when it was flushed."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.sent: list[bytes] = []
        self.taken: list[bytes] = []
        MADE.append(self)

    def produce(
        self, topic: str, value: bytes, key: Any, partition: int, *, on_delivery: Callable[..., Any]
    ) -> None:
        self.sent.append(value)

    def poll(self, timeout: float) -> int:
        return 0

    def flush(self, timeout: float) -> int:
        self.taken = [*self.sent]
        return 0


MADE: list[Producer] = []


@pytest.fixture(autouse=True)
def producer(monkeypatch: pytest.MonkeyPatch) -> None:
    MADE.clear()
    monkeypatch.setattr("confluent_kafka.Producer", Producer)


def test_the_lead_is_there_before_the_others_come() -> None:
    feeder = Feeder("nowhere", MESSAGES, rate=100_000, lead=2)
    feeder.start()
    feeder.wait_for_lead()
    assert MADE[0].taken == [b"0", b"1"] and feeder.sent_ms == {}
    feeder.resume()
    feeder._thread.join()
    feeder.stop()
    assert MADE[0].taken == [b"0", b"1", b"2", b"3", b"4"]
    assert [*feeder.sent_ms] == ["e2", "e3", "e4"]


def test_a_lead_that_is_not_taken_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that reads the lead alone would wait for it for ever."""
    monkeypatch.setattr(Producer, "flush", lambda self, timeout: 1)
    feeder = Feeder("nowhere", MESSAGES, rate=100_000, lead=2)
    feeder.start()
    with pytest.raises(JobError, match="does not take the messages in time"):
        feeder.wait_for_lead()
    feeder.stop()

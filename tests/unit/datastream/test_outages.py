"""Waiting for a server that is away: how long, and what the log says of it."""

from __future__ import annotations

import asyncio

import pytest

from headrace.connector import WriterContext
from headrace.datastream._outages import (
    Outage,
    OutageLog,
    is_wrong_address,
    retry_while_down,
    retry_while_down_async,
)


class Clock:
    """Goes on by what is slept."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


def test_work_is_repeated_until_the_server_is_back(caplog: pytest.LogCaptureFixture) -> None:
    clock, outage_ends_s = Clock(), 60.0

    def work() -> float:
        if clock.now_s < outage_ends_s:
            raise ConnectionError("away")
        return clock.now_s

    def away(error: Exception) -> bool:
        return isinstance(error, ConnectionError)

    assert 60 <= retry_while_down(work, away, Outage(120, "db", clock), clock.sleep) < 66
    clock.now_s, outage_ends_s = 0.0, 1000.0
    with pytest.raises(ConnectionError) as caught:
        retry_while_down(work, away, Outage(120, "db", clock), clock.sleep)
    assert clock.now_s == pytest.approx(120)
    assert caught.value.__notes__ == ["db was tried again for 120 s"]
    first, works, *again = caplog.messages
    assert first.startswith("db failed, and is tried again for up to 120 s; check its address")
    assert works == "db works again, after 61 s" and again[0] == first
    assert [words.rpartition(" s of")[0] for words in again[1:]] == [
        "db has been tried again for 61"
    ]


def test_an_outage_is_logged_once_for_all_waiters(caplog: pytest.LogCaptureFixture) -> None:
    """And again when it is over, and of the next outage."""
    caught = OutageLog()
    for _ in range(2):
        waiting = [Outage(120, "db", Clock(), caught) for _ in range(3)]
        for outage in waiting:
            outage.next_pause_s(ConnectionError("away"))
        for outage in waiting:
            outage.record_success()
    words = [record.message.rpartition(": ")[2] for record in caplog.records]
    assert words == ["away", "db works again, after 0 s"] * 2


def test_an_outage_is_logged_again_when_all_waiters_gave_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A record's time may be up before the server is back: then nobody says that it works again."""
    caught = OutageLog()

    async def away() -> None:
        raise OSError("gone")

    async def given_up(records: int) -> None:
        waits = (
            retry_while_down_async(away, lambda error: True, Outage(60, "db", log=caught))
            for _ in range(records)
        )
        tasks = [asyncio.create_task(wait) for wait in waits]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    for _ in range(2):
        asyncio.run(given_up(3))
    assert [record.message for record in caplog.records] == [
        "db failed, and is tried again for up to 60 s; check its address, and that it runs: gone"
    ] * 2
    assert caught == OutageLog()


@pytest.mark.parametrize(
    ("text", "batch", "wrong"),
    [
        ("failed to resolve host 'nowhere': [Errno -2] Name or service not known", 0, True),
        ("Error 8 connecting to nowhere:1. nodename nor servname provided, or not known", 0, True),
        ("Error -2 connecting to nowhere:6379. Name or service not known.", 1, False),
        ("Error -3 connecting to db:6379. Temporary failure in name resolution.", 0, False),
        ("Error 111 connecting to localhost:1. Connection refused.", 0, False),
    ],
)
def test_a_name_without_an_address_is_a_mistake_when_a_job_begins(
    text: str, batch: int, wrong: bool
) -> None:
    context = WriterContext("sink", "job", batch, 0, "a")
    assert is_wrong_address(ConnectionError(text), context) is wrong


def test_other_errors_are_raised_at_once() -> None:
    def work() -> None:
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        retry_while_down(work, lambda error: False, Outage(120, "db"), pytest.fail)


def test_a_limit_counts_from_the_start_where_calls_wait_themselves() -> None:
    clock = Clock()
    outage, begun = Outage(30, "db", clock), Outage(30, "db", clock)
    begun.start()
    clock.sleep(20)
    assert (outage.record_failure("away"), begun.record_failure("away")) == (30, 10)
    clock.sleep(15)
    assert (outage.remaining_s, begun.remaining_s) == (15, -5)
    with pytest.raises(ConnectionError):
        begun.next_pause_s(ConnectionError("away"))
    assert begun.waited_s == 35


def test_an_outage_can_begin_again(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    outage = Outage(30, "db", clock)
    for _ in range(2):
        outage.record_success()
        assert outage.record_failure("away") == 30
        clock.sleep(20)
        outage.record_success()
    away, works = "db failed, and is tried again for up to 30 s", "db works again, after 20 s"
    assert [text.partition(";")[0] for text in caplog.messages] == [away, works] * 2

"""A day as messages: each says what its line said, in an order that the day could have had."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("confluent_kafka", reason="missing: pip install 'headrace[kafka]'")
pytest.importorskip("fastavro", reason="missing: pip install 'headrace[avro]'")

from headrace.common.serialization import DeserializationSchema
from headrace.demo.trades import beta, fix, gamma, generator
from headrace.demo.trades.events import DecodedEvent
from headrace.demo.trades.kafka import topics
from headrace.demo.trades.kafka.messages import Message, day_messages, ends, gamma_record
from headrace.demo.trades.kafka.records import avro_of, messages_of
from headrace.demo.trades.lifecycles import Rates
from headrace.errors import DecodeError
from tests.unit.datastream.formats.registry_server import running

DECODE = {
    "alpha.fix": (topics.ALPHA, fix.decode),
    "beta.jsonl": (topics.BETA, beta.decode),
    "gamma.csv": (topics.GAMMA, gamma.Decoder().decode),
}
RATES = Rates(malformed=0.2, duplicate=0.02)


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("day")
    generator.generate(folder, events=600, seed=11, rates=RATES)
    return folder


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    with running() as server:
        yield server.url


@pytest.fixture(scope="module")
def messages(day: Path, registry: str) -> list[Message]:
    return day_messages(day, 3, avro_of(topics.GAMMA_MESSAGE, registry, topics.GAMMA))


def event_or_none(decode: object, raw: bytes) -> DecodedEvent | None:
    try:
        return decode(raw)  # type: ignore[no-any-return, operator]
    except DecodeError:
        return None


def read_event(schema: DeserializationSchema, raw: bytes) -> DecodedEvent:
    event: DecodedEvent = schema.deserialize(raw)[0]
    return event


def lines_of(day: Path, feed: str) -> list[bytes]:
    lines = (day / feed).read_bytes().splitlines()
    return lines[1:] if feed == "gamma.csv" else lines


def test_each_message_says_what_its_line_said(
    day: Path, messages: list[Message], registry: str
) -> None:
    bad = 0
    for feed, (topic, decode) in DECODE.items():
        read = partial(read_event, messages_of(topic, registry))
        wanted = [event_or_none(decode, line) for line in lines_of(day, feed)]
        sent = [message for message in messages if message.topic == topic]
        found = [event_or_none(read, message.value) for message in sent]
        assert found == wanted
        ids = [None if event is None else event.event_id for event in wanted]
        assert [message.event_id for message in sent] == ids
        bad += wanted.count(None)
    assert bad == 120


def test_most_of_what_is_wrong_with_gamma_is_wrong_in_its_avro(day: Path) -> None:
    bad = [
        line for line in lines_of(day, "gamma.csv")
        if event_or_none(gamma.Decoder().decode, line) is None
    ]  # fmt: skip
    assert {gamma_record(line) is None for line in bad} == {True, False}


def test_topics_come_in_the_order_of_event_time(messages: list[Message], registry: str) -> None:
    latest_ms: dict[str, int] = defaultdict(int)
    so_far_ms = 0
    read = {topic: messages_of(topic, registry).deserialize for topic in topics.FEED_TOPICS}
    for message in messages:
        if message.event_id is not None:
            time_ms = read[message.topic](message.value)[0].event_time_ms
            latest_ms[message.topic] = max(latest_ms[message.topic], time_ms)
            assert latest_ms[message.topic] >= so_far_ms
            so_far_ms = latest_ms[message.topic]


def test_a_symbol_has_one_partition(messages: list[Message]) -> None:
    places = defaultdict(set)
    for message in messages:
        places[message.topic, message.key].add(message.partition)
    assert all(len(found) == 1 for (_, key), found in places.items() if key is not None)
    counts = ends(messages)
    assert counts.total() == len(messages) and len(counts) == 9


def test_a_line_that_no_record_can_hold() -> None:
    assert gamma_record(b"x,2026,NEW,g1,,,,GB,Buy,1,2,A") is None
    assert gamma_record(b"1,2026,NEW") is None
    assert gamma_record(b"1,\xff,NEW,g1,,,,GB,Buy,1,2,A") is None
    assert gamma_record(b"9" * 19 + b",2026,NEW,g1,,,,GB,Buy,1,2,A") is None

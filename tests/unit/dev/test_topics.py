"""Topics for people, against librdkafka's own broker."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from headrace.cli import app
from headrace.dev import topics
from headrace.dev.topics import TopicFacts
from headrace.errors import JobError

pytest.importorskip("confluent_kafka", reason="missing: pip install 'headrace[kafka]'")


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    from tests.connectors.mock_broker import mock_broker

    producer, servers = mock_broker()
    monkeypatch.setattr("headrace.dev.servers.url_of", lambda folder, name: servers)
    yield servers
    del producer


@pytest.mark.spark
def test_lines_become_records_and_records_lines(servers: str) -> None:
    asked = CliRunner()
    assert (
        asked.invoke(app, ["dev", "produce", "t", "--key", ":"], "a:1\nb:2:3\n4\n").exit_code == 0
    )
    assert topics.list_topics(servers) == [TopicFacts("t", 4, 3)]
    shown = asked.invoke(app, ["dev", "consume", "t", "--places"]).output.splitlines()
    assert sorted(line.split("\t", 1)[1] for line in shown) == ["\t4", "a\t1", "b\t2:3"]
    assert len(asked.invoke(app, ["dev", "consume", "t", "--max", "2"]).output.split()) == 2
    whole = ["dev", "consume", "t", "--max", "3", "--follow"]  # a fourth one never comes
    assert len(asked.invoke(app, whole).output.split()) == 3
    assert asked.invoke(app, ["dev", "topics"]).output == "t          4 partitions, 3 offsets\n"


@pytest.fixture
def created(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is asked for, in place of a broker."""
    asked: list[Any] = []
    monkeypatch.setattr("headrace.dev.servers.url_of", lambda folder, name: "b:1")
    monkeypatch.setattr(topics, "list_topics", lambda servers: [])
    monkeypatch.setattr(
        topics, "create", lambda *given, **settings: asked.append((given, settings))
    )
    return asked


def test_a_new_topic_gets_its_settings(created: list[Any]) -> None:
    settings = ["--config", "retention.ms=-1", "--config", "a.b=c=d", "--partitions", "3"]
    assert CliRunner().invoke(app, ["dev", "topics", "--create", "t", *settings]).exit_code == 0
    assert created == [(("b:1", "t", 3), {"retention.ms": "-1", "a.b": "c=d"})]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--create", "t", "--config", "retention.ms"], "'retention.ms' is not NAME=VALUE"),
        (["--create", "t", "--config", "=1"], "'=1' is not NAME=VALUE"),
        (["--config", "retention.ms=-1"], "belongs to --create"),
    ],
)
def test_settings_that_are_none_are_refused(
    created: list[Any], given: list[str], words: str
) -> None:
    result = CliRunner().invoke(app, ["dev", "topics", *given])
    assert result.exit_code == 2 and words in " ".join(result.output.split())
    assert not created


class Silent:
    """A consumer whose broker goes away after it has returned the metadata."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.closed = False
        SILENT.append(self)

    def list_topics(self, topic: str, timeout: float) -> Any:
        return SimpleNamespace(topics={topic: SimpleNamespace(error=None, partitions={0: None})})

    def assign(self, places: list[Any]) -> None:
        pass

    def poll(self, timeout: float) -> None:
        return None

    def close(self) -> None:
        self.closed = True


SILENT: list[Silent] = []


def test_a_broker_that_goes_away_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confluent_kafka.Consumer", Silent)
    monkeypatch.setattr(topics, "_SILENT_S", 0.0)
    with pytest.raises(JobError, match="'t' cannot be read to its end"):
        [*topics.consume("nowhere", "t")]
    assert [each.closed for each in SILENT] == [True]


@pytest.mark.spark
def test_bytes_that_are_no_text_are_escaped(servers: str) -> None:
    assert topics.produce(servers, "t", [(None, b"\xff"), (b"k", None)]) == 2
    shown = CliRunner().invoke(app, ["dev", "consume", "t"]).output.splitlines()
    assert sorted(shown) == ["", "\\xff"]


@pytest.mark.spark
def test_a_record_is_one_line_without_control_characters(servers: str) -> None:
    topics.produce(servers, "t", [(None, b"a\n\x00\x1b[2J\tb\xc3\xa9")])
    assert CliRunner().invoke(app, ["dev", "consume", "t"]).output == "a\\n\\x00\\x1b[2J\tb\u00e9\n"


@pytest.mark.spark
def test_what_kafka_refuses_is_reported(servers: str) -> None:
    with pytest.raises(JobError, match="refuses a record of 't'"):
        topics.produce(servers, "t", [(None, b"x" * 999_999_0)])


class Started:
    """A broker that learns of its partitions' leader a little after it has started."""

    def __init__(self, refusals: int) -> None:
        self.refusals, self.now_s = refusals, 0.0

    def list_offsets(self, places: dict[str, Any], request_timeout: float) -> dict[str, Any]:
        self.refusals -= 1
        return {place: SimpleNamespace(result=self.answer) for place in places}

    def answer(self) -> Any:
        import confluent_kafka

        if self.refusals >= 0:
            error = confluent_kafka.KafkaError(confluent_kafka.KafkaError.UNKNOWN_LEADER_EPOCH)
            raise confluent_kafka.KafkaException(error)
        return SimpleNamespace(offset=7)

    def seconds(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


def test_a_broker_that_has_just_started_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Started(3)
    monkeypatch.setattr(topics, "this_machine", lambda: broker)
    assert topics._request_offsets(broker, ["place"], None) == [7]
    broker.refusals = 10_000
    with pytest.raises(JobError, match=r"cannot read offsets: .*eader epoch"):
        topics._request_offsets(broker, ["place"], None)

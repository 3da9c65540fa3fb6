"""Topics for people, against librdkafka's own broker."""

from __future__ import annotations

from collections.abc import Iterator

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


def test_lines_become_records_and_records_lines(servers: str) -> None:
    asked = CliRunner()
    assert (
        asked.invoke(app, ["dev", "produce", "t", "--key", ":"], "a:1\nb:2:3\n4\n").exit_code == 0
    )
    assert topics.listed(servers) == [TopicFacts("t", 4, 3)]
    shown = asked.invoke(app, ["dev", "consume", "t", "--places"]).output.splitlines()
    assert sorted(line.split("\t", 1)[1] for line in shown) == ["\t4", "a\t1", "b\t2:3"]
    assert len(asked.invoke(app, ["dev", "consume", "t", "--max", "2"]).output.split()) == 2
    assert asked.invoke(app, ["dev", "topics"]).output == "t          4 partitions, 3 offsets\n"


def test_bytes_that_are_no_text_are_escaped(servers: str) -> None:
    assert topics.produce(servers, "t", [(None, b"\xff"), (b"k", None)]) == 2
    shown = CliRunner().invoke(app, ["dev", "consume", "t"]).output.splitlines()
    assert sorted(shown) == ["", "\\xff"]


def test_a_record_is_one_line_without_control_characters(servers: str) -> None:
    topics.produce(servers, "t", [(None, b"a\n\x00\x1b[2J\tb\xc3\xa9")])
    assert CliRunner().invoke(app, ["dev", "consume", "t"]).output == "a\\n\\x00\\x1b[2J\tb\u00e9\n"


def test_what_kafka_refuses_is_told(servers: str) -> None:
    with pytest.raises(JobError, match="refuses a record of 't'"):
        topics.produce(servers, "t", [(None, b"x" * 999_999_0)])

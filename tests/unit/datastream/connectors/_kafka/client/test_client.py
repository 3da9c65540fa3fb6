"""The real client against librdkafka's own broker, which runs in this process."""

from __future__ import annotations

import gc
import logging
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.connector import SplitRange
from headrace.datastream.connectors._kafka.client import librdkafka
from headrace.datastream.connectors._kafka.client.consumer import (
    OffsetGone,
    Unreachable,
    is_internal_topic,
)
from headrace.datastream.connectors._kafka.client.library import make_client
from headrace.datastream.connectors._kafka.client.librdkafka import LibrdkafkaClients
from headrace.datastream.connectors._kafka.client.properties import Properties
from headrace.datastream.connectors._kafka.sink.producers import LibrdkafkaProducers
from headrace.datastream.connectors._kafka.source.records import (
    KafkaRecord,
    KafkaRecordDeserializationSchema,
)
from headrace.datastream.connectors._kafka.source.split import Split
from headrace.datastream.connectors.kafka import KafkaSource
from headrace.errors import ConfigurationError

kafka = pytest.importorskip("confluent_kafka", reason="missing: pip install 'headrace[kafka]'")

RECORDS = 10


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    """A broker with ten records in a partition; it lives as long as this producer."""
    from tests.connectors.mock_broker import mock_broker

    producer, servers = mock_broker()
    for index in range(RECORDS):
        headers = [("h", b"1"), ("h", None)] if index == 3 else None
        producer.produce("t", b"%d" % index, b"k", 0, timestamp=1000 + index, headers=headers)
    producer.flush(10)
    yield servers


def clients(servers: str, **properties: Any) -> LibrdkafkaClients:
    given = {"fetch.wait.max.ms": 10, **properties}
    return LibrdkafkaClients(servers, None, None, Properties.of(given))


class Whole(KafkaRecordDeserializationSchema):
    def deserialize(self, record: KafkaRecord) -> Any:
        return record


def test_only_kafkas_own_topics_are_left_out() -> None:
    """The marker of exactly once would not be found in another one, and a pattern not match it."""
    assert is_internal_topic("__consumer_offsets") and is_internal_topic("__transaction_state")
    assert not is_internal_topic("__audit") and not is_internal_topic("consumer_offsets")


def test_questions(servers: str) -> None:
    cluster = clients(servers).cluster()
    assert cluster.topic_names() == ["t"]
    assert cluster.earliest_offsets([("t", 0), ("t", 1)]) == {("t", 0): 0, ("t", 1): 0}
    assert cluster.latest_offsets([("t", 0), ("nowhere", 0)]) == {("t", 0): RECORDS}
    assert cluster.latest_offsets([]) == {} and cluster.describe_topics([]) == {}
    cluster.close()


def test_offsets_of_a_group(servers: str) -> None:
    cluster, group = clients(servers).cluster(), clients(servers).group_commits("g")
    assert cluster.committed_offsets("g", [("t", 0)]) == {}
    group.commit({("t", 0): 4})
    group.commit({("t", 0): 5})
    group.close()
    assert cluster.committed_offsets("g", [("t", 0), ("t", 1)]) == {("t", 0): 5}
    assert cluster.committed_offsets("g", []) == {}
    cluster.close()


def test_ranges(servers: str) -> None:
    """One after the other, one again, one after a leap; the last up to an end that is no record."""
    source = KafkaSource(
        bootstrap_servers=servers, topics="t", deserializer=Whole(), clients=clients(servers)
    )
    reader, split = source.reader(), Split("t", 0, "")
    for start, end in ((0, 3), (3, 4), (2, 5), (8, RECORDS)):
        work = SplitRange(split.name, start, end, split)
        found = [record for chunk in reader.read(work) for record in chunk.values]
        assert [record.offset for record in found] == [*range(start, end)]
    assert found[-1] == KafkaRecord("t", 0, 9, 1009, b"k", b"9", ())
    (third,) = (v for c in reader.read(SplitRange("t-0", 3, 4, split)) for v in c.values)
    assert third.headers == (("h", b"1"), ("h", None))
    reader.close()


def test_an_end_and_an_offset_that_is_not_there(servers: str) -> None:
    log = clients(servers).log("t", 0)
    log.seek(RECORDS)
    found = log.fetch(5, 5.0)
    while found.reached is None:
        found = log.fetch(5, 5.0)
    assert found == ([], RECORDS)
    log.seek(RECORDS + 5)
    with pytest.raises(OffsetGone, match="out of range"):
        for _ in range(100):
            log.fetch(5, 0.1)
    log.close()
    with pytest.raises(RuntimeError, match="closed"):
        log.fetch(1, 0.0)


def test_no_admin_client_asks_the_coordinator_of_a_group() -> None:
    """librdkafka ends the process where that one does not answer in time; a consumer may ask it."""
    folder = Path(librdkafka.__file__).parent
    dangerous = re.compile(
        r"\.(list|alter|delete)_consumer_group_offsets|(describe|delete)_consumer_"
    )
    found = [path.name for path in folder.glob("*.py") if dangerous.search(path.read_text())]
    assert not found


def test_an_open_client_is_not_garbage(servers: str) -> None:
    """A collection within an answer would end it in its own thread, and librdkafka the process."""
    for _ in range(3):
        dropped = clients(servers).cluster()
        assert isinstance(dropped, librdkafka.LibrdkafkaCluster)
        client, answer = _asked(dropped)
        answer.add_done_callback(lambda _: gc.collect())
        del dropped
        assert answer.result(10).offset == RECORDS
        assert librdkafka._unclosed == [client]
        assert client.list_topics("t", timeout=10).topics["t"].partitions
        clients(servers).cluster().close()
        assert not librdkafka._unclosed
        with pytest.raises(RuntimeError, match="closed"):
            client.list_topics(timeout=1)


def _asked(cluster: librdkafka.LibrdkafkaCluster) -> tuple[Any, Any]:
    """The client, and an answer that is to come."""
    spec = {kafka.TopicPartition("t", 0): kafka.admin.OffsetSpec.latest()}
    (answer,) = cluster._admin.list_offsets(spec, request_timeout=10).values()
    return cluster._admin, answer


def test_what_the_clients_log_is_in_pythons_log(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A lost connection is logged there, once for each client, and not on stderr."""
    monkeypatch.setattr(
        "headrace.datastream.connectors._kafka.client.librdkafka.ASK_TIMEOUT_S", 0.3
    )
    caplog.set_level(logging.DEBUG, "headrace")
    nowhere = clients("127.0.0.1:1")
    cluster, log = nowhere.cluster(), nowhere.log("t", 0)
    with pytest.raises(Unreachable):
        cluster.topic_names()
    log.seek(0)
    until_logged(caplog, 2, lambda: log.fetch(1, 0.05))
    made = LibrdkafkaProducers("127.0.0.1:1", Properties())
    producer = made.producer({}, lambda error, message: None, lambda error: None)
    until_logged(caplog, 3, lambda: producer.poll(0.05))
    log.close()
    cluster.close()
    assert {record.levelname for record in caplog.records} == {"INFO"}
    assert capfd.readouterr() == ("", "")


def until_logged(caplog: pytest.LogCaptureFixture, count: int, go: Callable[[], object]) -> None:
    for _ in range(200):
        go()
        if sum("FAIL" in record.message for record in caplog.records) >= count:
            return
    raise AssertionError(caplog.text)


def test_the_cause_is_kept_when_all_brokers_are_down() -> None:
    heard = librdkafka._ErrorListener()
    error = kafka.KafkaError
    heard(error(error._AUTHENTICATION, "SASL authentication error: no such user"))
    heard(error(error._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    assert heard.refused and "no such user" in heard.text
    heard(error(error._TRANSPORT, "connection refused"))
    assert not heard.refused and "connection refused" in heard.text


def test_a_name_counts_as_unknown_where_no_other_server_was_found() -> None:
    error = kafka.KafkaError
    unknown, down = (error(error._RESOLVE, "Name or service not known"), error(error._TRANSPORT))
    for heard, expected in (([unknown, unknown], True), ([down, unknown], False)):
        client = librdkafka._ErrorListener()
        for each in (*heard, error(error._ALL_BROKERS_DOWN)):
            client(each)
        assert client.unknown_host is expected


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "headrace.datastream.connectors._kafka.client.librdkafka.ASK_TIMEOUT_S", 0.3
    )
    cluster = clients("127.0.0.1:1").cluster()
    began = time.monotonic()
    with pytest.raises(Unreachable):
        cluster.latest_offsets([("t", 0)])
    with pytest.raises(Unreachable):
        cluster.topic_names()
    assert time.monotonic() - began < 20
    cluster.close()


def test_properties_that_librdkafka_refuses(servers: str) -> None:
    with pytest.raises(ConfigurationError, match=r"no\.such\.property"):
        clients(servers, **{"no.such.property": 1}).cluster()
    with pytest.raises(ConfigurationError, match=r"fetch\.min\.bytes"):
        clients(servers, **{"fetch.min.bytes": "few"}).log("t", 0)


@pytest.mark.parametrize(
    ("given", "shortest", "longest"),
    [
        ({}, "22", "1000"),
        ({"reconnect.backoff.ms": "50"}, "50", "1000"),
        ({"reconnect.backoff.ms": "5000"}, "5000", "5000"),
        ({"reconnect.backoff.max.ms": "10"}, "10", "10"),
        ({"reconnect.backoff.max.ms": "9000"}, "22", "9000"),
        ({"reconnect.backoff.ms": "60", "reconnect.backoff.max.ms": "70"}, "60", "70"),
    ],
)
def test_a_client_connects_fast_unless_told_otherwise(
    given: dict[str, str], shortest: str, longest: str
) -> None:
    kafka = pytest.importorskip("confluent_kafka")
    made: list[dict[str, Any]] = []
    make_client(made.append, {"client.id": "a", **given})
    (found,) = made
    assert (found["reconnect.backoff.ms"], found["reconnect.backoff.max.ms"]) == (shortest, longest)
    with make_client(kafka.admin.AdminClient, {"bootstrap.servers": "127.0.0.1:1", **given}):
        pass  # librdkafka takes them
    own = LibrdkafkaProducers("a:1", Properties.of(given))._admin_settings()
    assert given.items() <= own.items()

"""The Kafka source against a real broker: the laws of sources, and what only a broker can show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headrace.cli import app
from headrace.common.serialization import SimpleStringSchema
from headrace.connector import Source
from headrace.datastream.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecord,
    KafkaRecordDeserializationSchema,
    KafkaSource,
)
from headrace.datastream.connectors.kafka.librdkafka import LibrdkafkaClients, LibrdkafkaLog
from headrace.datastream.connectors.kafka.properties import Properties
from headrace.dev import topics
from headrace.errors import ConfigurationError, JobError
from headrace.testing.contracts import SourceContract, read_source
from tests.connectors.topic import new_topic, transactions

kafka = pytest.importorskip("confluent_kafka", reason="missing: pip install 'headrace[kafka]'")

pytestmark = pytest.mark.spark


def source(servers: str, topic: str, **given: Any) -> KafkaSource:
    settings = {"deserializer": SimpleStringSchema(), **given}
    return KafkaSource(bootstrap_servers=servers, topics=topic, **settings)


class TestTransactions(SourceContract):
    """Three partitions: one empty, all others with committed and aborted transactions in turn."""

    @pytest.fixture(autouse=True)
    def topic(self, kafka_servers: str) -> None:
        self.servers, self.name = kafka_servers, new_topic(kafka_servers, 3)

    def fill(self, partition: int, count: int) -> None:
        values = [f"{partition}-{index}".encode() for index in range(count)]
        transactions(self.servers, self.name, partition, values)

    def make_source(self, folder: Path) -> Source:
        self.fill(1, 15)
        self.fill(2, 30)
        return source(self.servers, self.name, stopping_offsets=KafkaOffsetsInitializer.latest())

    def grow(self, folder: Path) -> None:
        self.fill(1, 10)

    def expected(self) -> Sequence[str]:
        return [*(f"1-{index}" for index in range(15)), *(f"2-{index}" for index in range(30))]


def test_the_commands_make_fill_show_and_remove_a_topic(
    kafka_servers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.dev.servers.url_of", lambda folder, name: kafka_servers)
    name, asked = new_topic(kafka_servers), CliRunner()
    assert asked.invoke(app, ["dev", "topics", "--create", f"{name}-2"]).exit_code == 0
    assert asked.invoke(app, ["dev", "produce", name, "--key", ":"], "a:1\nb:2\n3\n").exit_code == 0
    shown = asked.invoke(app, ["dev", "consume", name, "--places", "--max", "2"])
    assert shown.output == "0:0\ta\t1\n0:1\tb\t2\n"
    assert asked.invoke(app, ["dev", "consume", name]).output == "1\n2\n3\n"
    listed = asked.invoke(app, ["dev", "topics", "--delete", f"{name}-2"]).output
    assert f"{name} 1 partitions, 3 offsets" in listed and f"{name}-2" not in listed
    with pytest.raises(JobError, match="does not create the topic"):
        topics.create(kafka_servers, name)


class Whole(KafkaRecordDeserializationSchema):
    def deserialize(self, record: KafkaRecord) -> Any:
        return record


def test_a_record_comes_whole(kafka_servers: str, tmp_path: Path) -> None:
    name = new_topic(kafka_servers)
    producer = kafka.Producer({"bootstrap.servers": kafka_servers})
    producer.produce(name, b"v", b"k", timestamp=1234, headers=[("h", b"1"), ("h", None)])
    producer.produce(name, None, None, timestamp=1235)
    producer.flush()
    found = read_source(source(kafka_servers, name, deserializer=Whole()), tmp_path).all()
    assert found == [
        KafkaRecord(name, 0, 0, 1234, b"k", b"v", (("h", b"1"), ("h", None))),
        KafkaRecord(name, 0, 1, 1235, None, None),
    ]


def test_offsets_are_found_by_time_and_by_group(kafka_servers: str, tmp_path: Path) -> None:
    name = new_topic(kafka_servers)
    producer = kafka.Producer({"bootstrap.servers": kafka_servers})
    for index in range(10):
        producer.produce(name, b"%d" % index, timestamp=1_000 + index)
    producer.flush()
    at_time = source(kafka_servers, name, starting_offsets=KafkaOffsetsInitializer.timestamp(1_006))
    assert read_source(at_time, tmp_path).all() == ["6", "7", "8", "9"]
    given: dict[str, Any] = {
        "starting_offsets": KafkaOffsetsInitializer.committed_offsets(
            KafkaOffsetResetStrategy.EARLIEST
        ),
        "group_id": f"g-{name}",
    }
    assert len(read_source(source(kafka_servers, name, **given), tmp_path).all()) == 10
    cluster = source(kafka_servers, name, **given).clients.cluster()  # type: ignore[union-attr]
    assert cluster.committed(f"g-{name}", [(name, 0)]) == {(name, 0): 10}
    assert read_source(source(kafka_servers, name, **given), tmp_path).all() == []
    cluster.close()


def test_records_that_were_deleted(kafka_servers: str, tmp_path: Path) -> None:
    name = new_topic(kafka_servers)
    topics.produce(kafka_servers, name, [(None, b"%d" % index) for index in range(10)])
    whole = source(kafka_servers, name)
    enumerator, reader = whole.enumerator(""), whole.reader()
    (split,) = enumerator.initial(0)
    (planned,) = enumerator.ranges({split: [2, None]}, {split: [10, None]}, frozenset())
    place = kafka.TopicPartition(name, 0, 7)
    with kafka.admin.AdminClient({"bootstrap.servers": kafka_servers}) as admin:
        admin.delete_records([place])[place].result()
    with pytest.raises(JobError, match="not there any more") as failed:
        list(reader.read(planned))
    assert failed.value.where["first"] == "7"
    reader.close()
    lenient = source(kafka_servers, name, on_missing_offsets="earliest").reader()
    assert [v for chunk in lenient.read(planned) for v in chunk.values] == ["7", "8", "9"]
    lenient.close()
    enumerator.close()


def test_a_topic_that_was_created_again_has_other_splits(kafka_servers: str) -> None:
    name = new_topic(kafka_servers, 2)
    enumerator = source(kafka_servers, name).enumerator("")
    before = enumerator.initial(0)
    topics.delete(kafka_servers, name)
    topics.create(kafka_servers, name)
    after = source(kafka_servers, name).enumerator("").initial(0)
    assert (len(before), len(after)) == (2, 1) and not {*before} & {*after}


def test_a_consumer_stays_open_and_fetches_once(
    kafka_servers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, sought = new_topic(kafka_servers), []
    seek = LibrdkafkaLog.seek
    monkeypatch.setattr(
        LibrdkafkaLog, "seek", lambda self, offset: (sought.append(offset), seek(self, offset))
    )
    transactions(kafka_servers, name, 0, [b"%d" % index for index in range(40)])
    whole = source(kafka_servers, name)
    enumerator, reader = whole.enumerator(""), whole.reader()
    ((split, (offset, _)),) = enumerator.initial(0).items()
    (end,) = enumerator._cluster.latest([(name, 0)]).values()  # type: ignore[attr-defined]
    found: list[str] = []
    while offset < end:
        to = min(offset + 5, end)
        ranges = enumerator.ranges({split: [offset, None]}, {split: [to, None]}, frozenset())
        found += [v for r in ranges for chunk in reader.read(r) for v in chunk.values]
        offset = to
    reader.close()
    enumerator.close()
    assert found == [str(index) for index in range(40)] and sought == [0]


def test_what_the_client_refuses_is_told(kafka_servers: str) -> None:
    wrong = source(kafka_servers, "t", properties={"no.such.property": 1})
    with pytest.raises(ConfigurationError, match=r"no\.such\.property"):
        wrong.enumerator("").initial(0)
    with pytest.raises(JobError, match="no topic 'nowhere'"):
        source(kafka_servers, "nowhere").enumerator("").initial(0)


def test_a_broker_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "headrace.datastream.connectors.kafka.librdkafka"
    monkeypatch.setattr(f"{module}.ASK_TIMEOUT_S", 1.0)
    clients = LibrdkafkaClients("127.0.0.1:1", None, None, Properties())
    nowhere = source("127.0.0.1:1", "t", clients=clients)
    with pytest.raises(JobError, match=r"no Kafka broker answers: .*127\.0\.0\.1:1"):
        nowhere.enumerator("").initial(0)

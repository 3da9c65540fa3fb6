"""The Kafka source against a real broker: the contract of sources; what a broker alone shows."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headrace.cli import app
from headrace.common import Configuration, WatermarkStrategy
from headrace.common.serialization import SimpleStringSchema
from headrace.connector import Budget, Source
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors._kafka.client import librdkafka
from headrace.datastream.connectors._kafka.client.librdkafka import LibrdkafkaClients, LibrdkafkaLog
from headrace.datastream.connectors._kafka.client.properties import Properties
from headrace.datastream.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecord,
    KafkaRecordDeserializationSchema,
    KafkaSource,
)
from headrace.dev import topics
from headrace.errors import ConfigurationError, JobError
from headrace.testing._contracts import SourceContract, read_source
from tests.connectors.topic import new_topic, transactions
from tests.connectors.walk import Walk
from tests.servers import Server

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
    with pytest.raises(JobError, match="cannot create the topic"):
        topics.create(kafka_servers, name)


class Whole(KafkaRecordDeserializationSchema):
    def deserialize(self, record: KafkaRecord) -> Any:
        return record


@pytest.mark.parametrize("command", ["produce", "consume"])
def test_a_missing_topic_is_reported_with_the_command_that_creates_it(
    kafka_servers: str, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr("headrace.dev.servers.url_of", lambda folder, name: kafka_servers)
    error = CliRunner().invoke(app, ["dev", command, "nowhere-at-all"], "line\n").exception
    assert isinstance(error, JobError) and error.message == "there is no topic 'nowhere-at-all'"
    assert "headrace dev topics --create nowhere-at-all" in (error.hint or "")


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
    assert cluster.committed_offsets(f"g-{name}", [(name, 0)]) == {(name, 0): 10}
    assert read_source(source(kafka_servers, name, **given), tmp_path).all() == []
    cluster.close()


def numbers(servers: str, topic: str, count: int = 10) -> None:
    topics.produce(servers, topic, [(None, b"%d" % index) for index in range(count)])


def of_each_policy(servers: str, topic: str, which: str) -> dict[str, Walk]:
    """Walks that have read three records."""
    walks = {
        policy: Walk(source(servers, topic, **{which: policy})).begin()
        for policy in ("fail", "earliest", "latest")
    }
    for walk in walks.values():
        assert walk.step(Budget(3, 1 << 20)) == ["0", "1", "2"]
    return walks


def close(walks: dict[str, Walk]) -> None:
    for walk in walks.values():
        walk.close()


def test_records_that_were_deleted(kafka_servers: str, caplog: pytest.LogCaptureFixture) -> None:
    name = new_topic(kafka_servers)
    numbers(kafka_servers, name)
    walks = of_each_policy(kafka_servers, name, "on_missing_offsets")
    planned = {policy: walk.plan()[0] for policy, walk in walks.items()}
    place = kafka.TopicPartition(name, 0, 7)
    with kafka.admin.AdminClient({"bootstrap.servers": kafka_servers}) as admin:
        admin.delete_records([place])[place].result()
    other = {policy: Walk(walk.source) for policy, walk in walks.items()}  # no one fetched ahead
    with pytest.raises(JobError, match="no longer exist") as failed:
        other["fail"].read(planned["fail"])
    assert failed.value.where["first"] == "7"
    with pytest.raises(JobError, match="are no longer kept") as failed:
        walks["fail"].step()
    assert failed.value.where["there"] == "7 to 10"
    assert other["earliest"].read(planned["earliest"]) == ["7", "8", "9"]
    assert "offsets 3 to 7 are gone" in caplog.text
    assert walks["earliest"].step() == ["7", "8", "9"] and walks["latest"].step() == []
    assert [w.skipped for w in (other["earliest"], walks["earliest"], walks["latest"])] == [4, 4, 7]
    close(walks)
    close(other)


def test_a_topic_that_was_deleted(kafka_servers: str, caplog: pytest.LogCaptureFixture) -> None:
    name = new_topic(kafka_servers)
    numbers(kafka_servers, name)
    walks = of_each_policy(kafka_servers, name, "on_changed_topic")
    topics.delete(kafka_servers, name)
    for walk in walks.values():
        assert walk.step() == []  # a broker may not know yet
    with pytest.raises(JobError, match="was deleted, and the job has read records of it"):
        walks["fail"].step()
    for policy in ("earliest", "latest"):
        assert walks[policy].step() == [] and walks[policy].positions == {}
        assert walks[policy].skipped == 7
    assert "read up to offset 3, and its end was 10" in caplog.text
    close(walks)


def test_a_topic_that_was_created_again_with_fewer_partitions(kafka_servers: str) -> None:
    name = new_topic(kafka_servers, 2)
    transactions(kafka_servers, name, 0, [b"0", b"1", b"2"])
    walks = of_each_policy(kafka_servers, name, "on_changed_topic")
    before = {*walks["fail"].positions}
    topics.delete(kafka_servers, name)
    topics.create(kafka_servers, name)
    numbers(kafka_servers, name, 5)
    for walk in walks.values():
        assert walk.step() == []
    with pytest.raises(JobError, match="was deleted and created again"):
        walks["fail"].step()
    assert walks["earliest"].step() == ["0", "1", "2", "3", "4"] and walks["latest"].step() == []
    topics.produce(kafka_servers, name, [(None, b"more")])
    for policy in ("earliest", "latest"):
        assert walks[policy].step() == ["more"]
        assert len(walks[policy].positions) == 1 and not before & {*walks[policy].positions}
    assert walks["latest"].skipped - walks["earliest"].skipped == 5
    close(walks)


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
    (end,) = enumerator._cluster.latest_offsets([(name, 0)]).values()  # type: ignore[attr-defined]
    found: list[str] = []
    while offset < end:
        to = min(offset + 5, end)
        ranges = enumerator.ranges({split: [offset, None]}, {split: [to, None]}, frozenset())
        found += [v for r in ranges for chunk in reader.read(r) for v in chunk.values]
        offset = to
    reader.close()
    enumerator.close()
    assert found == [str(index) for index in range(40)] and sought == [0]


@pytest.mark.timeout(300)
def test_a_job_waits_for_a_broker_that_is_started_again(
    kafka_server: Server,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """It ends while a job waits for records, and before planned ranges are read."""
    monkeypatch.setattr(f"{librdkafka.__name__}.ASK_TIMEOUT_S", 1.0)
    servers, name = kafka_server.url, new_topic(kafka_server.url, 2)
    before, after = ([f"{part}-{index}" for index in range(20)] for part in range(2))
    for partition in (0, 1):
        transactions(servers, name, partition, [v.encode() for v in before[partition::2]])
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(
            {
                "execution.target": "local",
                "parallelism.default": "2",
                "headrace.ui.terminal": "off",
            }
        )
    )
    planned = Walk(source(servers, name)).begin()
    ranges = planned.plan()
    capfd.readouterr()
    records = env.from_source(source(servers, name), WatermarkStrategy.no_watermarks(), "log")
    with records.execute_and_collect() as results:
        read = [next(results) for _ in before]
        kafka_server.stop()
        until(lambda: "no Kafka broker answers: " in caplog.text)
        starts = threading.Thread(target=kafka_server.start)
        starts.start()
        again = [value for each in ranges for value in planned.read(each)]
        starts.join()
        topics.produce(servers, name, [(None, value.encode()) for value in after])
        read += [next(results) for _ in after]
    planned.close()
    assert sorted(again) == sorted(before) and sorted(read) == sorted(before + after)
    assert "no Kafka broker answers: " in caplog.text and "Kafka works again" in caplog.text
    assert capfd.readouterr() == ("", "")


def test_a_broker_that_takes_connections_and_does_not_answer(kafka_servers: str) -> None:
    """As long as an AdminClient committed, the process ended at the first or the second time."""
    name = new_topic(kafka_servers)
    job = [sys.executable, "-m", "tests.connectors.silent_job", kafka_servers, name, name, "5"]
    done = subprocess.run(job, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    offset, committed = done.stdout.split()
    assert offset == committed


def until(so: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not so():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_what_the_client_refuses_is_reported(kafka_servers: str) -> None:
    wrong = source(kafka_servers, "t", properties={"no.such.property": 1})
    with pytest.raises(ConfigurationError, match=r"no\.such\.property"):
        wrong.enumerator("").initial(0)
    with pytest.raises(JobError, match="no topic 'nowhere'"):
        source(kafka_servers, "nowhere").enumerator("").initial(0)


def test_a_broker_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "headrace.datastream.connectors._kafka.client.librdkafka"
    monkeypatch.setattr(f"{module}.ASK_TIMEOUT_S", 1.0)
    clients = LibrdkafkaClients("127.0.0.1:1", None, None, Properties())
    nowhere = source("127.0.0.1:1", "t", clients=clients, unreachable_timeout=1)
    with pytest.raises(JobError, match=r"no Kafka broker answers: .*127\.0\.0\.1:1"):
        nowhere.enumerator("").initial(0)

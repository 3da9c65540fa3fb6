"""The Kafka source over a Kafka in memory: the contract of sources; what partitions can meet."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from headrace.common.serialization import DeserializationSchema, SimpleStringSchema
from headrace.connector import Budget, Pending, Source
from headrace.datastream.connectors._kafka.client.consumer import (
    OffsetGone,
    StaleMetadata,
    Unreachable,
)
from headrace.datastream.connectors._kafka.source.group_offsets import (
    MAX_PENDING_COMMITS,
    RETRY_PAUSE_S,
    GroupOffsets,
)
from headrace.datastream.connectors._kafka.source.split_budget import share_budget
from headrace.datastream.connectors.kafka import (
    BadKafkaRecord,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecord,
    KafkaRecordDeserializationSchema,
    KafkaSource,
    KafkaTopicPartition,
)
from headrace.datastream.output_tag import OutputTag
from headrace.errors import DecodeError, JobError
from headrace.testing._contracts import SourceContract
from tests.connectors.fake_kafka import BROKERS, Broker, FakeClients, FakeCluster, FakeLog, Log
from tests.connectors.walk import Walk

FEW = Budget(3, 1 << 20)


@pytest.fixture(autouse=True)
def broker() -> Iterator[Broker]:
    BROKERS["fake"] = Broker()
    yield BROKERS["fake"]
    BROKERS.clear()


def source(**given: Any) -> KafkaSource:
    settings = {
        "bootstrap_servers": "fake:9092",
        "deserializer": SimpleStringSchema(),
        "clients": FakeClients("fake"),
        **({} if {"topic_pattern", "partitions"} & {*given} else {"topics": "t"}),
        **given,
    }
    return KafkaSource(**settings)


def values(log: Log) -> list[str]:
    return [m.content.decode() for m in log.messages if m.content is not None]


def fill(log: Log, name: str, count: int) -> None:
    """Records with gaps: after each seventh the end of a transaction, or what compaction took."""
    for index in range(count):
        log.add(f"{name}{index}".encode(), gap=index % 7 == 0, time_ms=1000 + index)
    log.add(gap=3)


class KafkaContract(SourceContract):
    def make_source(self, folder: Path) -> Source:
        broker = BROKERS["fake"]
        for partition, log in enumerate(broker.create("t", 3)):
            fill(log, f"p{partition}-", 40 * partition)
        return self.build()

    def build(self) -> Source:
        return source()

    def expected(self) -> Sequence[str]:
        return [
            f"p{partition}-{index}" for partition in range(3) for index in range(40 * partition)
        ]


class TestUnbounded(KafkaContract):
    def grow(self, folder: Path) -> None:
        for log in BROKERS["fake"].topics["t"][1]:
            fill(log, "later", 20)


class TestBounded(KafkaContract):
    def build(self) -> Source:
        return source(stopping_offsets=KafkaOffsetsInitializer.latest())

    def grow(self, folder: Path) -> None:
        for log in BROKERS["fake"].topics["t"][1]:
            fill(log, "later", 20)


def test_how_much_is_left_of_the_partitions(broker: Broker) -> None:
    first, second = broker.create("t", 2)
    for number in range(10):
        first.add(b"%d" % number)
    second.add(b"x")
    walk = Walk(source()).begin()
    assert walk.enumerator.pending(walk.positions) == Pending()  # nobody has seen the ends yet
    walk.step(Budget(4, 1 << 20))
    assert walk.enumerator.pending(walk.positions) == Pending(7)
    first.add(b"later")
    assert walk.enumerator.pending(walk.positions) == Pending(7)  # it asks nobody
    walk.step()
    assert walk.enumerator.pending(walk.positions) == Pending(0)


@pytest.mark.parametrize(
    ("starting", "expected"),
    [
        (KafkaOffsetsInitializer.earliest(), ["2", "3", "4"]),
        (KafkaOffsetsInitializer.latest(), []),
        (KafkaOffsetsInitializer.timestamp(3), ["3", "4"]),
        (KafkaOffsetsInitializer.timestamp(9), []),
        (KafkaOffsetsInitializer.committed_offsets(), ["4"]),
        (KafkaOffsetsInitializer.offsets({KafkaTopicPartition("t", 0): 3}), ["3", "4"]),
        (KafkaOffsetsInitializer.offsets({KafkaTopicPartition("t", 0): 1}), ["2", "3", "4"]),
        (
            KafkaOffsetsInitializer.offsets(
                {KafkaTopicPartition("t", 0): 77}, KafkaOffsetResetStrategy.LATEST
            ),
            [],
        ),
    ],
)
def test_it_starts_at_the_given_offsets(
    broker: Broker, starting: KafkaOffsetsInitializer, expected: list[str]
) -> None:
    (log,) = broker.create("t")
    for index in range(5):
        log.add(b"%d" % index, time_ms=index)
    log.delete_before(2)
    broker.groups["g", ("t", 0)] = 4
    assert Walk(source(starting_offsets=starting, group_id="g")).begin().step() == expected


def test_without_a_committed_offset_the_strategy_counts(broker: Broker) -> None:
    broker.create("t")[0].add(b"a")
    strategy = KafkaOffsetResetStrategy.EARLIEST
    given = KafkaOffsetsInitializer.committed_offsets(strategy)
    assert Walk(source(starting_offsets=given, group_id="g")).begin().step() == ["a"]
    none = KafkaOffsetsInitializer.committed_offsets()
    with pytest.raises(JobError, match="has no committed offset"):
        Walk(source(starting_offsets=none, group_id="other")).begin()
    for at, message in (({("t", 0): 9}, "does not have the offset"), ({}, "has no given offset")):
        places = {KafkaTopicPartition(*place): offset for place, offset in at.items()}
        given = KafkaOffsetsInitializer.offsets(places, KafkaOffsetResetStrategy.NONE)
        with pytest.raises(JobError, match=message):
            Walk(source(starting_offsets=given)).begin()


def test_it_stops_at_the_end_of_the_start(broker: Broker) -> None:
    log, other = broker.create("t", 2)
    log.add(b"a", b"b", gap=2)
    walk = Walk(source(stopping_offsets=KafkaOffsetsInitializer.latest(), bounded=False)).begin()
    log.add(b"later")
    other.add(b"later")
    assert not walk.source.bounded
    assert walk.step(Budget(1, 1)) == ["a"]
    assert walk.step() == ["b"]
    assert walk.ended


def test_a_stop_in_the_future_is_waited_for(broker: Broker) -> None:
    (log,) = broker.create("t")
    stops = KafkaOffsetsInitializer.offsets({KafkaTopicPartition("t", 0): 2})
    walk = Walk(source(stopping_offsets=stops)).begin()
    log.add(b"a")
    assert walk.step() == ["a"] and not walk.ended
    log.add(b"b", b"c")
    assert walk.step() == ["b"] and walk.ended


def test_a_topic_that_is_not_there_is_an_error() -> None:
    with pytest.raises(JobError, match="no topic 't'"):
        Walk(source()).begin()


def test_a_broker_that_does_not_know_yet_is_asked_again(broker: Broker) -> None:
    """A topic of two partitions was made again with one; the broker tells of the old one first."""
    broker.create("t", 2)
    broker.leaderless = {("t", 1)}
    broker.learns = [lambda: broker.topics.clear(), lambda: broker.create("t")[0].add(b"new")]
    walk = Walk(source(stopping_offsets=KafkaOffsetsInitializer.latest())).begin()
    assert [*walk.positions] == [f"t-0@{broker.topics['t'][0]}"]
    assert walk.step() == ["new"] and walk.ended


def test_a_partition_that_nobody_serves_at_the_start_is_reported(broker: Broker) -> None:
    broker.create("t", 2)
    broker.leaderless = {("t", 1)}
    with pytest.raises(JobError, match="does not say which offsets a partition has") as failed:
        Walk(source()).begin()
    assert type(failed.value) is JobError and 10 <= broker.paused_s < 11
    assert failed.value.where == {"topic": "t", "partition": "1"}


def test_new_topics_and_partitions_are_read_from_their_beginning(broker: Broker) -> None:
    given = {"topic_pattern": "t.*", "starting_offsets": KafkaOffsetsInitializer.latest()}
    walk = Walk(source(**given)).begin()
    assert walk.positions == {}
    broker.create("other")[0].add(b"no")
    broker.create("t1")[0].add(b"a")
    assert walk.step() == ["a"]
    broker.topics["t1"][1].append(Log().add(b"b"))
    broker.create("t2")[0].add(b"c")
    assert walk.step(after_ms=1) == []
    assert sorted(walk.step()) == ["b", "c"]


def test_only_the_partitions_that_were_named(broker: Broker) -> None:
    for index, log in enumerate(broker.create("t", 3)):
        log.add(b"%d" % index)
    walk = Walk(source(partitions={KafkaTopicPartition("t", 1)})).begin()
    assert walk.step() == ["1"]
    with pytest.raises(JobError, match="no partition 7 of topic 't'"):
        Walk(source(partitions={KafkaTopicPartition("t", 7)})).begin()


@pytest.mark.parametrize(
    ("policy", "expected", "skipped"), [("earliest", ["7", "8", "9"], 4), ("latest", [], 7)]
)
def test_records_that_are_no_longer_kept(
    broker: Broker, policy: str, expected: list[str], skipped: int
) -> None:
    (log,) = broker.create("t")
    log.add(*(b"%d" % index for index in range(10)))
    walk = Walk(source(on_missing_offsets=policy)).begin()
    assert walk.step(FEW) == ["0", "1", "2"]
    log.delete_before(7)
    strict = Walk(source())
    strict.positions = walk.positions
    with pytest.raises(JobError, match="no longer kept") as failed:
        strict.step()
    assert failed.value.where["read up to offset"] == "3"
    assert walk.step() == expected and walk.skipped == skipped
    still = walk.positions
    assert walk.step() == [] and walk.positions == still and walk.skipped == skipped
    log.add(b"more")
    assert walk.step() == ["more"]


@pytest.mark.parametrize("policy", ["earliest", "latest"])
@pytest.mark.parametrize("deleted", [False, True])
def test_what_a_policy_leaves_out_ends_at_the_stop(
    broker: Broker, policy: str, deleted: bool
) -> None:
    """The run after that one decides itself where it goes on."""
    (log,) = broker.create("t")
    log.add(*(b"%d" % index for index in range(10)))
    stops = KafkaOffsetsInitializer.offsets({KafkaTopicPartition("t", 0): 5})
    policies = {"on_missing_offsets": policy, "on_changed_topic": policy}
    walk = Walk(source(**policies, stopping_offsets=stops)).begin()
    assert walk.step(FEW) == ["0", "1", "2"]
    if deleted:
        del broker.topics["t"]
        assert walk.step() == []  # a broker may not know it
    else:
        log.delete_before(7)
    assert walk.step() == [] and walk.ended and walk.skipped == 2


def test_at_its_stop_a_partition_needs_no_record(broker: Broker) -> None:
    """A second run to the same place, or to one before it, after retention has passed by."""
    (log,) = broker.create("t")
    log.add(*(b"%d" % index for index in range(10)))
    log.delete_before(8)
    for stop in (4, 2):
        stops = KafkaOffsetsInitializer.offsets({KafkaTopicPartition("t", 0): stop})
        walk = Walk(source(stopping_offsets=stops))
        (name,) = walk.begin().positions
        walk.positions = dict(walk.enumerator.resume({name: [4, 4]}, walk.now_ms))
        assert walk.step() == [] and walk.ended and walk.finished == [name]


def test_a_run_that_goes_on_to_other_stops_reads_new_partitions(broker: Broker) -> None:
    (log,) = broker.create("t")
    log.add(b"a", b"b")
    walk = Walk(source(stopping_offsets=KafkaOffsetsInitializer.latest())).begin()
    assert walk.step() == ["a", "b"] and walk.ended
    kept = {name: [2, 2] for name in walk.finished}
    log.add(b"c")
    broker.topics["t"][1].append(Log().add(b"x", b"y"))
    walk = Walk(source(stopping_offsets=KafkaOffsetsInitializer.latest()))
    walk.positions = dict(walk.enumerator.resume(kept, walk.now_ms))
    broker.down = True
    assert walk.step() == []
    broker.down = False
    broker.topics["t"][1][1].add(b"later")
    assert walk.step(Budget(2, 1)) == ["c", "x"] and not walk.ended
    assert walk.step() == ["y"] and walk.ended and walk.step() == []


def test_records_that_vanish_between_plan_and_reading(broker: Broker) -> None:
    (log,) = broker.create("t")
    log.add(*(b"%d" % index for index in range(10)))
    walk = Walk(source()).begin()
    (planned,) = walk.plan()
    log.delete_before(7)
    with pytest.raises(JobError, match="no longer exist"):
        list(walk.reader.read(planned))
    lenient = Walk(source(on_missing_offsets="earliest"))
    assert lenient.read(planned) == ["7", "8", "9"] and lenient.skipped == 7
    log.delete_before(10)
    assert lenient.read(planned) == [] and lenient.skipped == 17


@pytest.mark.parametrize(
    ("policy", "expected", "skipped"), [("earliest", ["new"], 0), ("latest", [], 6)]
)
def test_a_topic_that_was_created_again(
    broker: Broker,
    policy: str,
    expected: list[str],
    skipped: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """With fewer partitions, and a log that is longer than what was read of the old one."""
    for log in broker.create("t", 2):
        log.add(b"old")
    walk = Walk(source(on_changed_topic=policy)).begin()
    strict = Walk(source()).begin()
    assert walk.step() == strict.step() == ["old", "old"]
    before = [*walk.positions]
    broker.create("t")[0].add(b"new", gap=5)
    assert walk.step() == [] and [*walk.positions] == before  # a broker may not know yet
    assert strict.step() == []
    assert walk.step() == expected
    assert sorted(walk.finished) == before and len(walk.positions) == 1
    assert walk.skipped == skipped and "t-1@" in caplog.text
    assert ("offsets 0 to 6 are skipped" in caplog.text) == (policy == "latest")
    with pytest.raises(JobError, match="deleted and created again"):
        strict.step()
    broker.topics["t"][1][0].add(b"more")
    assert walk.step() == ["more"]


def test_a_topic_that_was_deleted(broker: Broker) -> None:
    broker.create("t")[0].add(b"old")
    walk = Walk(source(on_changed_topic="earliest")).begin()
    strict = Walk(source()).begin()
    assert walk.step() == strict.step() == ["old"]
    del broker.topics["t"]
    assert walk.step() == strict.step() == []
    assert walk.step() == [] and walk.positions == {} and not walk.ended
    with pytest.raises(JobError, match="was deleted, and the job has read records of it"):
        strict.step()
    broker.create("t")[0].add(b"new")
    assert walk.step() == ["new"]


def test_a_topic_that_the_program_reads_no_more(broker: Broker) -> None:
    """It is there, and nobody has deleted it: the next program does without it."""
    for topic in ("t", "u"):
        broker.create(topic)[0].add(b"old")
    before = Walk(source(topics=["t", "u"])).begin()
    assert before.step() == ["old", "old"]
    broker.topics["t"][1][0].add(b"new")
    for policy in ("fail", "earliest"):
        walk = Walk(source(on_changed_topic=policy))
        walk.positions = before.positions
        assert walk.step() == ["new"]
        if policy == "fail":
            with pytest.raises(JobError, match="'u' is not among what the program reads any more"):
                walk.step()
        else:
            assert walk.step() == [] and len(walk.positions) == 1


def test_what_was_not_read_of_a_deleted_topic_is_counted(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.create("t")[0].add(*[b"old"] * 10)
    walk = Walk(source(on_changed_topic="earliest")).begin()
    assert walk.step(FEW) == ["old"] * 3
    del broker.topics["t"]
    assert walk.step() == walk.step() == [] and walk.positions == {}
    assert walk.skipped == 7
    assert "read up to offset 3, and its end was 10" in caplog.text


def test_a_planned_range_of_a_deleted_topic(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.create("t")[0].add(*[b"old"] * 10)
    walk = Walk(source()).begin()
    (planned,) = walk.plan()
    (known,) = broker.topics.items()
    broker.topics.clear()
    with pytest.raises(JobError, match="'t' was deleted: records that were planned are lost"):
        walk.read(planned)
    lenient = Walk(source(on_changed_topic="latest"))
    assert lenient.read(planned) == [] and lenient.skipped == 10
    assert "offsets 0 to 10 are skipped" in caplog.text
    broker.learns = [lambda: None, lambda: broker.topics.update([known])]
    assert walk.read(planned) == ["old"] * 10  # the broker did not know it yet


def test_a_planned_range_waits_for_a_leader(broker: Broker) -> None:
    """Before a leader says which offsets are gone, none counts as gone."""
    (log,) = broker.create("t")
    log.add(*(b"%d" % index for index in range(5)))
    walk = Walk(source(on_missing_offsets="earliest")).begin()
    (planned,) = walk.plan()
    log.delete_before(3)
    broker.leaderless = {("t", 0)}
    broker.learns = [broker.leaderless.clear]
    assert walk.read(planned) == ["3", "4"] and walk.skipped == 3
    broker.leaderless = {("t", 0)}
    nobody = Walk(source(on_missing_offsets="earliest", unreachable_timeout=3_000))
    with pytest.raises(JobError, match="served a partition for 3 s"):
        nobody.read(planned)


def test_a_planned_range_of_a_log_that_lost_its_end(broker: Broker) -> None:
    (log,) = broker.create("t")
    log.add(b"a", b"b")
    walk = Walk(source()).begin()
    walk.step()
    log.add(b"c", b"d", b"e")
    (planned,) = walk.plan()
    whole, log.messages, log.end = [*log.messages], log.messages[:1], 1
    with pytest.raises(JobError, match="no longer exist"):
        walk.read(planned)
    lenient = Walk(source(on_missing_offsets="latest"))
    assert lenient.read(planned) == [] and lenient.skipped == 3

    def learn() -> None:
        log.messages, log.end = whole, 5

    broker.learns = [learn]
    assert walk.read(planned) == ["c", "d", "e"]


def test_records_that_brokers_have_but_never_give_are_not_asked_for_without_end(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.create("t")[0].add(b"a")
    walk = Walk(source()).begin()
    (planned,) = walk.plan()
    asked: list[int] = []

    def fetch(self: FakeLog, most: int, wait_s: float) -> Any:
        asked.append(self.at)
        assert len(asked) < 100, "it goes on without end"
        raise OffsetGone("offset out of range")

    monkeypatch.setattr(FakeLog, "fetch", fetch)
    with pytest.raises(JobError, match="no longer exist"):
        walk.read(planned)
    assert broker.paused_s >= StaleMetadata.confirmed_after_s


def test_what_was_planned_is_not_read_from_another_topic(broker: Broker) -> None:
    broker.create("t")[0].add(b"old")
    walk = Walk(source(on_missing_offsets="earliest")).begin()
    (planned,) = walk.plan()
    broker.create("t")[0].add(b"new")
    with pytest.raises(JobError, match="deleted and created again"):
        list(walk.reader.read(planned))


def test_an_open_consumer_does_not_read_on_in_another_topic(broker: Broker) -> None:
    """It goes by the name; the new topic has records at the offsets that were planned."""
    broker.create("t")[0].add(*[b"old"] * 10)
    walk = Walk(source()).begin()
    lenient = Walk(source(on_changed_topic="earliest")).begin()
    assert walk.step(FEW) == lenient.step(FEW) == ["old"] * 3
    (planned,) = walk.plan()
    broker.create("t")[0].add(*[b"new"] * 10_000)
    with pytest.raises(JobError, match="deleted and created again"):
        walk.read(planned)
    assert lenient.read(planned) == [] and lenient.skipped == 7
    assert lenient.step(after_ms=1) == []  # the ends that it is told are the new topic's
    assert lenient.step() == []
    assert lenient.step() == ["new"] * 10_000
    (planned,) = Walk(source()).begin().plan()
    chunks = walk.reader.read(planned)
    assert next(chunks).values[0] == "new"
    broker.create("t")[0].add(*[b"newer"] * 10_000)
    with pytest.raises(JobError, match="deleted and created again"):
        list(chunks)


@pytest.mark.parametrize("policy", ["fail", "earliest"])
def test_a_log_that_lost_its_end(broker: Broker, policy: str) -> None:
    (log,) = broker.create("t")
    log.add(b"a", b"b", b"c")
    walk = Walk(source(on_missing_offsets=policy)).begin()
    assert walk.step() == ["a", "b", "c"]
    log.messages, log.end = log.messages[:1], 1
    assert walk.step() == []  # the new leader may not know yet
    if policy == "fail":
        with pytest.raises(JobError, match="beyond the end of the log"):
            walk.step()
    else:
        assert walk.step() == ["a"]


def test_a_doubt_ends_with_the_topic(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as there is one, brokers are asked for the topics each second."""
    (log,) = broker.create("t")
    log.add(b"a", b"b")
    walk = Walk(source(topic_pattern="t", on_changed_topic="latest")).begin()
    walk.step()
    log.messages, log.end = [], 0
    walk.step(after_ms=1)
    broker.topics.clear()
    walk.step()
    walk.step()
    assert not walk.positions
    asked: list[Sequence[str]] = []
    names = FakeCluster.topic_names

    def counted(self: FakeCluster) -> Sequence[str]:
        asked.append(names(self))
        return asked[-1]

    monkeypatch.setattr(FakeCluster, "topic_names", counted)
    for _ in range(20):
        walk.step(after_ms=1_000)
    assert len(asked) == 2


def test_brokers_that_fall_silent_are_waited_for(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    (log,) = broker.create("t")
    log.add(b"a")
    walk = Walk(source(unreachable_timeout=25_000)).begin()
    assert walk.step() == ["a"]
    log.add(b"b")
    broker.down = True
    assert walk.step() == walk.step() == []
    broker.down = False
    assert walk.step() == ["b"]
    waits, answers = caplog.messages
    assert waits.startswith("Kafka failed, and is tried again for up to 25 s; check the bootstrap")
    assert waits.endswith(": no Kafka broker answers: connection refused")
    assert answers == "Kafka works again, after 20 s"
    broker.down = True
    for _ in range(3):
        walk.step()
    with pytest.raises(JobError, match="no Kafka broker answers: connection refused") as failed:
        walk.step()
    assert failed.value.where == {"for": "30 s"}


def test_a_partition_that_no_broker_serves_is_waited_for(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    for log in broker.create("t", 2):
        log.add(b"a")
    walk = Walk(source(unreachable_timeout=25_000)).begin()
    broker.leaderless = {("t", 1)}
    assert walk.step() == ["a"]
    assert walk.step() == []
    broker.leaderless = set()
    assert walk.step() == ["a"]
    waits, works = caplog.messages
    assert "no broker serves t-1@" in waits and works == "Kafka works again, after 20 s"
    broker.leaderless = {("t", 0)}
    for _ in range(3):
        walk.step()
    with pytest.raises(JobError, match="served a partition for 30 s") as failed:
        walk.step()
    assert failed.value.where == {"topic": "t", "partition": "0"}


def test_partitions_that_no_broker_serves_are_logged_as_one_outage(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    """Until all of them are served again; each may be waited for as long as all."""
    broker.create("t", 8)
    walk = Walk(source(unreachable_timeout=25_000)).begin()
    broker.leaderless = {("t", number) for number in range(7)}
    walk.step()
    broker.leaderless = {("t", 0), ("t", 7)}
    walk.step()
    walk.step()
    broker.leaderless = {("t", 7)}
    walk.step()
    (waits,) = caplog.messages
    assert waits.count("t-") == 5 and waits.endswith(" and 2 others")
    broker.leaderless = set()
    walk.step()
    assert caplog.messages[1:] == ["Kafka works again, after 30 s"]


def test_five_partitions_that_no_broker_serves_are_all_named(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.create("t", 6)
    walk = Walk(source(unreachable_timeout=25_000)).begin()
    broker.leaderless = {("t", number) for number in range(5)}
    walk.step()
    (waits,) = caplog.messages
    assert waits.count("t-") == 5 and "others" not in waits


def test_a_reader_waits_for_brokers_that_fall_silent(broker: Broker) -> None:
    broker.create("t")[0].add(b"a")
    walk = Walk(source(unreachable_timeout=3_000)).begin()
    (planned,) = walk.plan()
    broker.down = True
    with pytest.raises(JobError, match="no answer for 3 s") as failed:
        walk.read(planned)
    assert failed.value.where["last error of the client"] == "connection refused"


def test_a_reader_tells_that_nobody_says_where_records_went(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (log,) = broker.create("t")
    log.add(b"a", b"b")
    walk = Walk(source(unreachable_timeout=90_000)).begin()
    (planned,) = walk.plan()
    log.delete_before(1)

    def describe(self: FakeCluster, topics: Sequence[str]) -> Any:
        raise Unreachable("connection refused")

    monkeypatch.setattr(FakeCluster, "describe_topics", describe)
    with pytest.raises(JobError, match="no Kafka broker answers: connection refused") as failed:
        walk.read(planned)
    assert failed.value.where == {"topic": "t", "partition": "0", "for": "90 s"}
    assert "Kafka has been tried again for 60 s of 90 s" in caplog.text


def test_a_job_that_starts_waits_for_brokers_that_do_not_answer(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.create("t")[0].add(b"a")
    broker.down = True
    broker.learns = [lambda: None, lambda: setattr(broker, "down", False)]
    assert Walk(source()).begin().step() == ["a"]
    assert ["is tried again for up to 300 s" in text for text in caplog.messages] == [True, False]
    broker.down = True
    with pytest.raises(JobError, match="no Kafka broker answers: connection refused") as failed:
        Walk(source(unreachable_timeout=25_000)).begin()
    assert failed.value.where == {"for": "25 s"} and "bootstrap servers" in str(failed.value)


@pytest.mark.parametrize("reason", ["refused", "unknown_host"])
def test_a_wrong_setting_is_not_waited_for_at_the_start(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    """Later it is: a login may be refused for a while, and a name vanish with its server."""
    broker.create("t")
    walk = Walk(source()).begin()

    def names(self: FakeCluster) -> Sequence[str]:
        raise Unreachable("wrong", **{reason: True})

    monkeypatch.setattr(FakeCluster, "describe_topics", lambda self, topics: names(self))
    with pytest.raises(JobError, match=": wrong"):
        Walk(source()).begin()
    assert broker.paused_s == 0 and walk.step() == walk.step() == []


def test_a_stop_beyond_the_end_of_the_log_is_said_once(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    logs = broker.create("t", 3)
    for log in logs[:2]:
        log.add(b"a", b"b")
    stops = {KafkaTopicPartition("t", number): 2 + number for number in range(3)}
    walk = Walk(source(stopping_offsets=KafkaOffsetsInitializer.offsets(stops))).begin()
    for _ in range(3):
        walk.step()
    beyond = [text.partition("@")[0] + text.partition(":")[2] for text in caplog.messages]
    rest = "it waits for more records, however long they take"
    assert beyond == [
        f"t-2 the job stops at offset 4, and the log ends at 0: {rest}",
        f"t-1 the job stops at offset 3, and the log ends at 2: {rest}",
    ]


def test_the_group_gets_what_is_committed(broker: Broker) -> None:
    log, _ = broker.create("t", 2)
    log.add(b"a", b"b")
    walk = Walk(source(group_id="g")).begin()
    walk.step()
    walk.close()
    assert broker.groups == {("g", ("t", 0)): 2, ("g", ("t", 1)): 0}
    silent = Walk(source(group_id="h", properties={"commit.offsets.on.checkpoint": False}))
    silent.begin().step()
    silent.close()
    assert {group for group, _ in broker.groups} == {"g"}


def test_a_commit_that_nobody_answers_does_not_stop_the_job(broker: Broker) -> None:
    """Few wait for an answer at once; when there is one, the newest is committed."""
    broker.create("t")[0].add(b"a")
    walk = Walk(source(group_id="g")).begin()
    (split,) = walk.positions
    broker.down = True
    for at in range(1, 100):
        walk.enumerator.committed({split: [at, None]})
    broker.down = False
    walk.enumerator.committed({split: [99, None]})
    walk.close()
    assert broker.groups == {("g", ("t", 0)): 99}
    assert len(broker.commits) == MAX_PENDING_COMMITS + 1


def test_a_commit_that_was_refused_is_made_again(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    """An answer does not say which partitions it is for. No further micro-batch is needed."""
    now_s = 0.0
    offsets = GroupOffsets(lambda: FakeClients("fake").group_commits("g"), "g", lambda: now_s)
    broker.refusals = [None, "NOT_COORDINATOR", "NOT_COORDINATOR"]
    first, second = ("t", 0), ("t", 1)
    offsets.commit({first: 1, second: 1})
    offsets.commit({second: 2})
    for _ in range(3):
        offsets.serve()
        now_s += RETRY_PAUSE_S
    offsets.close()
    again = {first: 1, second: 2}
    assert broker.commits == [{first: 1, second: 1}, {second: 2}, again, again]
    assert broker.groups == {("g", first): 1, ("g", second): 2}
    (logged,) = caplog.messages
    assert "the offsets of group g are not committed" in logged and "NOT_COORDINATOR" in logged


def test_a_consumer_is_opened_once_and_nothing_is_fetched_twice(broker: Broker) -> None:
    logs = broker.create("t", 2)
    for log in logs:
        fill(log, "v", 50)
    walk = Walk(source()).begin()
    found = []
    for _ in range(40):
        found += walk.step(Budget(5, 1 << 20), after_ms=1)
    assert len(found) == broker.fetched == 100
    assert (broker.opened, broker.sought) == (2, 2)


def test_what_another_worker_has_read_is_skipped_without_a_seek(broker: Broker) -> None:
    (log,) = broker.create("t")
    fill(log, "v", 80)
    whole = values(log)
    walk = Walk(source()).begin()
    readers = [walk.source.reader() for _ in range(2)]
    found = []
    for step in range(30):
        walk.reader = readers[step % 3 % 2]
        found += walk.step(Budget(4, 1 << 20), after_ms=1)
    assert found == whole
    assert (broker.opened, broker.sought) == (2, 2)


def test_what_another_worker_has_read_may_be_gone(broker: Broker) -> None:
    (log,) = broker.create("t")
    walk = Walk(source()).begin()
    readers = [walk.reader, walk.source.reader(), walk.reader]
    for reader in readers:
        log.delete_before(log.end)
        log.add(b"a", b"b")
        walk.reader = reader
        assert walk.step(after_ms=1) == ["a", "b"]
    assert broker.sought == 3


def test_a_range_that_is_read_again_is_sought(broker: Broker) -> None:
    (log,) = broker.create("t")
    fill(log, "v", 20)
    walk = Walk(source()).begin()
    (planned,) = walk.plan()
    for _ in range(2):
        assert [v for chunk in walk.reader.read(planned) for v in chunk.values] == values(log)
    assert (broker.opened, broker.sought) == (1, 2)


def test_budgets_are_shared_and_the_rest_goes_to_the_longer(broker: Broker) -> None:
    assert share_budget({"a": 0, "b": 0, "c": 5}, {"a": 2, "b": 90, "c": 90}, 30) == {
        "a": 2,
        "b": 14,
        "c": 19,
    }
    assert share_budget({"a": 0, "b": 0}, {"a": 9, "b": 9}, 1) == {"a": 1, "b": 1}


class Whole(KafkaRecordDeserializationSchema):
    def deserialize(self, record: KafkaRecord) -> Any:
        if record.value == b"bad":
            raise ValueError("no good")
        return record if record.value else None


def test_a_schema_sees_the_whole_record(broker: Broker) -> None:
    headers = (("h", b"1"), ("h", None))
    broker.create("t")[0].add(b"v", None, time_ms=7, name=b"k", more=headers)
    (found,) = Walk(source(deserializer=Whole())).begin().step()
    assert found == KafkaRecord("t", 0, 0, 7, b"k", b"v", headers)


def test_kafkas_timestamps_are_the_records(broker: Broker) -> None:
    (log,) = broker.create("t")
    log.add(b"a", time_ms=5).add(None, time_ms=6).add(b"c", time_ms=7)
    walk = Walk(source()).begin()
    (planned,) = walk.plan()
    (chunk,) = walk.reader.read(planned)
    assert (chunk.values, chunk.timestamps) == (["a", "c"], [5, 7])


class Words(DeserializationSchema):
    """Texts, but none of an empty value; it would have one of None, too."""

    def __init__(self) -> None:
        self.asked: list[bytes | None] = []

    def deserialize(self, data: bytes) -> str | None:
        self.asked.append(data)
        return str(data) if data != b"" else None


def test_a_deletion_is_no_record_and_costs_no_second_reading(broker: Broker) -> None:
    (log,) = broker.create("t")
    log.add(b"a", time_ms=5).add(None, time_ms=6).add(b"", time_ms=7).add(b"c", time_ms=8)
    words = Words()
    walk = Walk(source(deserializer=words)).begin()
    (planned,) = walk.plan()
    (chunk,) = walk.reader.read(planned)
    assert (chunk.values, chunk.timestamps) == (["b'a'", "b'c'"], [5, 8])
    assert words.asked == [b"a", b"", b"c"]


def test_a_poison_record_tells_its_place(broker: Broker) -> None:
    (log,) = broker.create("t")
    log.add(b"a", gap=3).add(b"\xff", name=b"k").add(b"c")
    with pytest.raises(DecodeError, match="cannot be deserialized") as failed:
        Walk(source()).begin().step()
    where = failed.value.where
    assert (where["topic"], where["offset"], where["value"]) == ("t", "4", r"b'\xff'")
    tagged = Walk(source(error_tag=OutputTag("bad"))).begin()
    assert tagged.source.reports_bad_records
    (planned,) = tagged.plan()
    (chunk,) = tagged.reader.read(planned)
    ((index, bad),) = chunk.bad
    assert chunk.values == ["a", "c"] and index == 1 and isinstance(bad, BadKafkaRecord)
    assert (bad.topic, bad.partition, bad.offset, bad.raw, bad.key) == ("t", 0, 4, b"\xff", b"k")


def test_a_schemas_own_exception_says_which_record_it_was(broker: Broker) -> None:
    broker.create("t")[0].add(b"a", b"bad")
    with pytest.raises(ValueError, match="no good") as failed:
        Walk(source(deserializer=Whole())).begin().step()
    (note,) = failed.value.__notes__
    assert note.endswith("topic 't', partition 0, offset 1")


def test_secrets_are_in_no_repr_and_no_position(broker: Broker) -> None:
    broker.create("t")[0].add(b"a")
    made = source(properties={"sasl.password": "hunter2", "security.protocol": "SASL_SSL"})
    walk = Walk(made).begin()
    shown = repr([made, made.enumerator(""), made.reader(), made.locator, walk.positions])
    assert "hunter2" not in shown and "SASL_SSL" in shown
    assert b"hunter2" not in pickle.dumps(walk.positions)

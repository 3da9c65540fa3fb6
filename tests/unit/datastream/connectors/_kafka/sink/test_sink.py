"""The Kafka sink: contract of sinks, failures in each request, and how they are reported."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headrace.common import ByteArraySchema, SimpleStringSchema
from headrace.connector import (
    CommitBy,
    CommitterContext,
    DeliveryGuarantee,
    Sink,
    WorkerResources,
    WriterContext,
)
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors._kafka.client.properties import Properties
from headrace.datastream.connectors._kafka.sink import producer_session, transaction
from headrace.datastream.connectors._kafka.sink.writer import ExactlyOnceWriter
from headrace.datastream.connectors.kafka import (
    KafkaProducerRecord,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaTopicSelector,
)
from headrace.errors import ConfigurationError, HeadraceError, JobError, PlanError
from headrace.testing import run_pipeline
from headrace.testing._contracts import SinkContract
from headrace.testing._writers import writer_of

kafka = pytest.importorskip("confluent_kafka", reason="missing: pip install 'headrace[kafka]'")

from headrace.datastream.connectors._kafka.sink.producers import (  # noqa: E402
    LibrdkafkaProducers,
    for_producer,
)
from tests.connectors.fake_producers import (  # noqa: E402
    CLUSTERS,
    Cluster,
    FakeProducer,
    FakeProducers,
    Killed,
    Written,
    failure,
)

EXACTLY, AT_LEAST = DeliveryGuarantee.EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    CLUSTERS["fake"] = Cluster()
    yield CLUSTERS["fake"]
    del CLUSTERS["fake"]


def serializer() -> KafkaRecordSerializationSchema:
    schema = SimpleStringSchema()
    builder = KafkaRecordSerializationSchema.builder().set_topic("out")
    return builder.set_value_serialization_schema(schema).build()


def sink(guarantee: DeliveryGuarantee = EXACTLY, **given: Any) -> KafkaSink:
    settings = {
        "bootstrap_servers": "fake:9092",
        "record_serializer": serializer(),
        "producers": FakeProducers("fake"),
        "unreachable_timeout": 50,
        **given,
    }
    return KafkaSink(delivery_guarantee=guarantee, **settings)


def writer(made: Sink, worker: WorkerResources, batch: int = 0, partition: int = 0) -> Any:
    return writer_of(made, WriterContext("sink-1", "job", batch, partition, "a", 2, worker))


def write(made: Sink, worker: WorkerResources, batch: int, *values: Any) -> None:
    """As the runners do it."""
    task = writer(made, worker, batch)
    try:
        for value in values:
            task.write([value], [None])
        task.prepare_commit()
    except Exception:
        task.abort()
        raise


@pytest.mark.usefixtures("cluster")
class TestExactlyOnce(SinkContract):
    def make_sink(self, folder: Path) -> Sink:
        return sink()

    def values(self, count: int) -> list[str]:
        return [f"record {index}" for index in range(count)]

    def published(self, folder: Path) -> list[str]:
        return CLUSTERS["fake"].values


class TestWithAPrefix(TestExactlyOnce):
    def make_sink(self, folder: Path) -> Sink:
        return sink(transactional_id_prefix="orders")


# Failures.

RETRIED, ABORTED, FENCED, KILLED = "retried", "aborted", "fenced", "killed"


class Misfortune:
    """Lets the n-th request fail in one way; all later ones succeed."""

    def __init__(self, at: int, how: str) -> None:
        self._left, self._how = at, how

    def __call__(self, place: str) -> None:
        self._left -= 1
        if self._left != 0:
            return
        if self._how == KILLED:
            raise Killed(place)
        done = place.endswith("done")
        if self._how == RETRIED or done:  # the answer is lost
            raise failure(kafka.KafkaError._TIMED_OUT, retriable=True)
        if place == "marker":
            raise failure(kafka.KafkaError.COORDINATOR_NOT_AVAILABLE)
        fenced = self._how == FENCED
        code = kafka.KafkaError._FENCED if fenced else kafka.KafkaError.INVALID_TXN_STATE
        raise failure(code, fatal=fenced, abort=not fenced)


@given(
    batches=st.lists(st.integers(1, 3), min_size=1, max_size=3),
    workers=st.lists(st.integers(0, 1), min_size=8, max_size=8),
    bad=st.lists(
        st.tuples(st.integers(1, 12), st.sampled_from([RETRIED, ABORTED, FENCED, KILLED])),
        max_size=3,
    ),
)
@example(batches=[1], workers=[0] * 8, bad=[(8, KILLED)])
def test_whatever_fails_each_record_is_committed_once(
    batches: list[int], workers: list[int], bad: list[tuple[int, str]]
) -> None:
    cluster = CLUSTERS["fake"] = Cluster()
    made, alive, turns = sink(), [WorkerResources(), WorkerResources()], iter(workers * 9)
    expected: list[str] = []
    for batch, size in enumerate(batches):
        values = [f"{batch}.{index}" for index in range(size)]
        expected += values
        for at, how in [*bad, (-1, "")]:  # a micro-batch comes again, also when it was committed
            turn = next(turns)
            cluster.meet = Misfortune(at, how)
            try:
                write(made, alive[turn], batch, *values)
            except Killed:
                alive[turn] = WorkerResources()  # it closes nothing
            except JobError:
                pass
            cluster.meet = lambda place: None
        assert cluster.values == expected


def test_a_killed_task_leaves_a_transaction_that_the_next_one_ends(cluster: Cluster) -> None:
    dead = writer(sink(), WorkerResources())
    dead.write(["a"], [None])
    assert cluster.open
    write(sink(), WorkerResources(), 0, "a")
    assert cluster.values == ["a"] and not cluster.open


def test_a_marker_of_another_sink_or_partition_does_not_count(cluster: Cluster) -> None:
    worker = WorkerResources()
    write(sink(), worker, 3, "a")
    other = writer(sink(), worker, 0, 1)
    other.write(["b"], [None])
    other.prepare_commit()
    assert cluster.values == ["a", "b"]
    assert cluster.offsets == {
        ("headrace-sink-1-0", "out", 0): 4,
        ("headrace-sink-1-1", "out", 0): 1,
    }


def test_the_marker_is_found_though_each_micro_batch_has_another_topic(cluster: Cluster) -> None:
    cluster.topics = {"a": 1, "b": 1, "c": 1}
    value = SimpleStringSchema()
    builder = KafkaRecordSerializationSchema.builder().set_topic_selector(lambda text: text[0])
    made = sink(record_serializer=builder.set_value_serialization_schema(value).build())
    for batch, text in enumerate(["a1", "b1", "c1", "a2"]):
        write(made, WorkerResources(), batch, text)
    write(made, WorkerResources(), 2, "c1")
    assert cluster.values == ["a1", "b1", "c1", "a2"]


def test_a_producer_is_made_once_per_worker_and_partition(cluster: Cluster) -> None:
    worker, made = WorkerResources(), sink()
    for batch in range(5):
        write(made, worker, batch, "a")
    assert len(cluster.made) == 1
    plain = sink(AT_LEAST)
    for batch in range(5):
        write(plain, worker, batch, "a")
        writer(plain, worker, batch, 1)
    assert len(cluster.made) == 2


def test_a_partition_may_go_from_worker_to_worker_and_back(cluster: Cluster) -> None:
    workers, made = [WorkerResources(), WorkerResources()], sink()
    for batch in range(6):
        write(made, workers[batch % 2], batch, str(batch))
    assert cluster.values == [*"012345"]


def test_a_fenced_producer_is_replaced_without_a_pause(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    poll = FakeProducer.poll

    def record_pause(producer: FakeProducer, timeout: float) -> int:
        pauses.append(timeout)
        return poll(producer, timeout)

    monkeypatch.setattr(FakeProducer, "poll", record_pause)
    workers, made = [WorkerResources(), WorkerResources()], sink()
    for batch in range(3):
        write(made, workers[batch % 2], batch, str(batch))
    assert cluster.values == [*"012"] and len(cluster.made) == 3
    assert pauses and not any(pauses)


def test_after_a_broken_connection_the_next_transaction_has_another_epoch(
    cluster: Cluster,
) -> None:
    """A request of the one before may still be under way."""
    worker, made = WorkerResources(), sink()
    write(made, worker, 0, "a")
    task = writer(made, worker, 1)
    task.write(["b"], [None])
    cluster.made[0].on_error(kafka.KafkaError(kafka.KafkaError._TRANSPORT))
    task.prepare_commit()
    write(made, worker, 2, "c")
    assert cluster.values == [*"abc"] and len(cluster.made) == 2


def test_a_client_that_does_not_come_back_is_given_up(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """librdkafka may wait for ever where a broker was restarted. What it does later is refused."""
    inner, goes_on = FakeProducer.send_offsets_to_transaction, threading.Event()

    def send(producer: FakeProducer, *given: Any) -> None:
        if producer in cluster.made[:2]:
            goes_on.wait(30)
        inner(producer, *given)

    monkeypatch.setattr(FakeProducer, "send_offsets_to_transaction", send)
    monkeypatch.setattr(producer_session, "ONE_CALL_S", 0.01)
    monkeypatch.setattr(transaction, "STUCK_S", 0.1)
    made = sink(unreachable_timeout=30_000)
    write(made, WorkerResources(), 0, "a")
    goes_on.set()
    for thread in threading.enumerate():
        if thread.name == transaction.CALL:
            thread.join()
    write(made, WorkerResources(), 0, "a")
    assert cluster.values == ["a"] and not cluster.open and len(cluster.made) == 4
    goes_on.clear()
    monkeypatch.setattr(FakeProducer, "send_offsets_to_transaction", lambda *_: goes_on.wait(30))
    with pytest.raises(JobError, match="did not come back from a call"):
        write(sink(), WorkerResources(), 1, "b")
    goes_on.set()
    assert cluster.values == ["a"]


def test_two_that_write_at_once_are_reported(cluster: Cluster) -> None:
    """Two jobs with one prefix: the second takes over, the first has nothing published."""
    first = writer(sink(transactional_id_prefix="p"), WorkerResources())
    first.write(["a"], [None])
    other = sink(transactional_id_prefix="p")
    other_job = writer_of(other, WriterContext("sink-2", "job", 7, 0, "a", 2, WorkerResources()))
    other_job.write(["b"], [None])
    with pytest.raises(JobError, match="another producer has taken over the transactional id"):
        first.prepare_commit()
    first.abort()
    other_job.prepare_commit()
    assert cluster.values == ["b"]


def test_a_transaction_that_was_open_for_too_long_is_reported_and_run_again(
    cluster: Cluster,
) -> None:
    short = FakeProducers("fake", (("transaction.timeout.ms", 50),))
    made, worker = sink(producers=short), WorkerResources()
    task = writer(made, worker)
    task.write(["a"], [None])
    cluster.expire()
    with pytest.raises(JobError, match=r"was open for 0 s, but the brokers abort it after 0 s"):
        task.prepare_commit()
    assert cluster.values == []
    write(made, worker, 0, "a")
    assert cluster.values == ["a"]


@pytest.mark.parametrize("guarantee", [EXACTLY, AT_LEAST])
def test_a_full_queue_is_waited_for(cluster: Cluster, guarantee: DeliveryGuarantee) -> None:
    cluster.queue_records = 2
    write(sink(guarantee), WorkerResources(), 0, *"abcdefg")
    assert cluster.values == [*"abcdefg"]


def test_a_large_record_waits_for_the_room_of_many(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths, full = iter(range(10_000, 0, -1)), iter(range(2_000))
    produce = FakeProducer.produce

    def refuse(self: FakeProducer, *given: Any, **more: Any) -> None:
        if next(full, None) is not None:
            raise BufferError
        produce(self, *given, **more)

    monkeypatch.setattr(FakeProducer, "produce", refuse)
    made = producer_session.ProducerSession(FakeProducers("fake"), {}, 60.0)
    monkeypatch.setattr(FakeProducer, "__len__", lambda self: next(lengths))
    made.send(KafkaProducerRecord("out", b"large"))
    assert next(full, None) is None and [each.value for each in made.client.queue] == [b"large"]


def test_a_queue_that_stays_full_is_reported(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.queue_records = 1
    monkeypatch.setattr("tests.connectors.fake_producers.FakeProducer._deliver", lambda self: None)
    with pytest.raises(JobError, match="queue of Kafka's producer stays full") as caught:
        write(sink(), WorkerResources(), 0, "a", "b")
    assert caught.value.where == {"topic": "out", "waiting": "1 records"}


@pytest.mark.parametrize("guarantee", [EXACTLY, AT_LEAST])
def test_a_record_that_is_too_large_is_reported(
    cluster: Cluster, guarantee: DeliveryGuarantee
) -> None:
    """Too large for the client, or for the topic alone; other records follow when it is gone."""
    worker, made = WorkerResources(), sink(guarantee)
    with pytest.raises(JobError, match=r"refuses a record.*too large") as caught:
        write(made, worker, 0, "x" * 1001)
    assert caught.value.where == {"topic": "out", "size": "1001 bytes, key and value"}
    assert "max.message.bytes" in str(caught.value.hint)
    cluster.refuses = b"large", kafka.KafkaError.MSG_SIZE_TOO_LARGE
    with pytest.raises(JobError, match=r"refuses a record.*too large") as caught:
        write(made, worker, 0, "large", "a")
    assert caught.value.where["size"] == "5 bytes, key and value"
    cluster.log.clear()  # at least once: "a" was sent
    write(made, worker, 0, "a")
    assert cluster.values == ["a"]


def test_brokers_that_do_not_answer_are_waited_for_and_reported(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(producer_session, "LOG_AFTER_S", 0.0)

    def silent(place: str) -> None:
        raise failure(kafka.KafkaError._TRANSPORT)

    cluster.meet = silent
    with pytest.raises(JobError, match="no Kafka broker answers") as caught:
        write(sink(unreachable_timeout=200), WorkerResources(), 0, "a")
    assert caught.value.where == {"doing": "connecting"}
    with pytest.raises(JobError, match="no Kafka broker answers"):
        write(sink(AT_LEAST, unreachable_timeout=200), WorkerResources(), 0, "a")
    assert len(caplog.messages) == 2
    assert all(text.startswith("Kafka failed, and is tried again") for text in caplog.messages)


def test_the_last_micro_batch_is_asked_for_until_brokers_answer(cluster: Cluster) -> None:
    made, context = sink(unreachable_timeout=60_000), CommitterContext("sink-1", "job")
    write(made, WorkerResources(), 4, "a")
    asked: list[str] = []

    def comes_back(place: str) -> None:
        asked.append(place)
        if len(asked) < 4:
            raise failure(kafka.KafkaError._TRANSPORT)

    cluster.meet = comes_back
    assert made.last_batch(context) == 4
    assert asked == ["list_topics"] * 4 + ["last_marker"]
    asked.clear()
    with pytest.raises(JobError, match="no Kafka broker answers") as caught:
        sink().last_batch(context)
    assert caught.value.where == {"doing": "connecting"}
    assert sink(AT_LEAST).last_batch(context) is None


def test_the_last_micro_batch_is_that_of_any_partition_and_topic(cluster: Cluster) -> None:
    """Also of partitions that only an earlier run had; an open transaction does not count."""
    made = sink()
    for partition, batch in ((0, 7), (11, 9), (3, 8)):
        task = writer(made, WorkerResources(), batch, partition)
        task.write(["a"], [None])
        task.prepare_commit()
    writer(made, WorkerResources(), 10).write(["b"], [None])
    other = writer_of(made, WriterContext("sink-1-2", "job", 20, 0, "a", 2, WorkerResources()))
    other.write(["c"], [None])
    other.prepare_commit()
    assert made.last_batch(CommitterContext("sink-1", "job")) == 9


@pytest.mark.parametrize("guarantee", [EXACTLY, AT_LEAST])
def test_a_refused_login_is_reported_soon(
    cluster: Cluster, guarantee: DeliveryGuarantee, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(producer_session, "REFUSED_S", 0.0)
    heard = kafka.KafkaError._AUTHENTICATION, kafka.KafkaError._ALL_BROKERS_DOWN

    def refuse(place: str) -> None:
        for code in heard:
            cluster.made[-1].on_error(kafka.KafkaError(code, f"words of {code}"))
        raise failure(kafka.KafkaError._TRANSPORT)

    cluster.meet = refuse
    with pytest.raises(JobError, match=f"refuses the login: words of {heard[0]}"):
        write(sink(guarantee, unreachable_timeout=60_000), WorkerResources(), 0, "a")
    assert len(cluster.made) == 1
    heard += (kafka.KafkaError._TRANSPORT,)  # it is gone: it was not up yet, or is not any more
    with pytest.raises(JobError, match="no Kafka broker answers: words of"):
        write(sink(guarantee, unreachable_timeout=200), WorkerResources(), 0, "a")


@pytest.mark.parametrize("guarantee", [EXACTLY, AT_LEAST])
def test_a_client_that_was_let_in_waits_though_it_is_refused_later(
    cluster: Cluster, guarantee: DeliveryGuarantee, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(producer_session, "REFUSED_S", 0.0)
    monkeypatch.setattr(producer_session, "METADATA_AGE_S", -1.0)
    made, worker, left = sink(guarantee, unreachable_timeout=60_000), WorkerResources(), [1, 2]
    write(made, worker, 0, "a")

    def refuse(place: str) -> None:
        if place == "list_topics" and left:
            cluster.made[-1].on_error(kafka.KafkaError(kafka.KafkaError._AUTHENTICATION))
            left.pop()
            raise failure(kafka.KafkaError._TRANSPORT)

    cluster.meet = refuse
    write(made, worker, 1, "b")
    assert cluster.values == ["a", "b"] and not left


def test_records_that_wait_for_too_long_are_reported(cluster: Cluster) -> None:
    cluster.refuses = b"a", kafka.KafkaError._MSG_TIMED_OUT
    with pytest.raises(JobError, match="could not be delivered to Kafka in time") as caught:
        write(sink(AT_LEAST), WorkerResources(), 0, *"aab")
    assert caught.value.where["and"] == "1 more records"


def test_a_missing_topic_is_reported(cluster: Cluster) -> None:
    cluster.topics = {}
    for guarantee in (EXACTLY, AT_LEAST):
        with pytest.raises(JobError, match="there is no topic 'out' to write to"):
            write(sink(guarantee), WorkerResources(), 0, "a")


@pytest.mark.capability("Kafka to Kafka, exactly once", runners="local")
@pytest.mark.parametrize("restarts", [False, True])
def test_a_program_writes_each_result_once(cluster: Cluster, restarts: bool) -> None:
    def program(env: StreamExecutionEnvironment) -> Any:
        numbers = env.from_collection([*range(40)])
        sums = numbers.map(lambda n: (n % 3, n)).key_by(lambda pair: pair[0]).sum(1)
        texts = sums.map(str)
        texts.sink_to(sink())
        return texts

    results = run_pipeline(program, cuts=[7] * 5, backends="paged", restarts=restarts)
    assert sorted(cluster.values) == sorted(results.only) and len(cluster.values) == 40
    assert len(cluster.made) == (6 if restarts else 1)


@pytest.mark.parametrize("same", [True, False], ids=["one sink", "two sinks"])
def test_two_sinks_with_one_prefix_are_refused_when_the_program_is_built(
    cluster: Cluster, same: bool
) -> None:
    def program(env: StreamExecutionEnvironment) -> Any:
        first = sink(transactional_id_prefix="orders")
        texts = env.from_collection(["a", "b"])
        texts.sink_to(first).name("first")
        texts.sink_to(first if same else sink(transactional_id_prefix="orders")).name("second")
        return texts

    with pytest.raises(PlanError, match="two sinks use the transactional id prefix 'ord") as caught:
        run_pipeline(program)
    assert caught.value.where["first"].startswith("first, built at ")
    assert caught.value.where["second"].startswith("second, built at ")
    assert "union" in str(caught.value.hint) and not cluster.made


@pytest.mark.parametrize(
    "others",
    [
        {"transactional_id_prefix": "other"},
        {"transactional_id_prefix": ""},
        {"transactional_id_prefix": "orders", "guarantee": AT_LEAST},
        {"transactional_id_prefix": "orders", "bootstrap_servers": "other:9092"},
    ],
)
def test_sinks_that_do_not_share_transactional_ids_are_taken(
    cluster: Cluster, others: dict[str, Any]
) -> None:
    def program(env: StreamExecutionEnvironment) -> Any:
        texts = env.from_collection(["a"])
        texts.sink_to(sink(transactional_id_prefix="orders"))
        texts.sink_to(sink(**others))
        return texts

    run_pipeline(program)
    assert cluster.values == ["a", "a"]


# At least once.


def test_at_least_once_a_repeated_micro_batch_is_written_again(cluster: Cluster) -> None:
    made, worker = sink(AT_LEAST), WorkerResources()
    assert made.commits is CommitBy.DRIVER
    write(made, worker, 0, "a")
    write(made, worker, 0, "a")
    assert cluster.values == ["a", "a"]


def test_at_least_once_what_was_not_sent_is_thrown_away_when_a_task_fails(cluster: Cluster) -> None:
    made, worker = sink(AT_LEAST), WorkerResources()
    task = writer(made, worker)
    task.write(["a"], [None])
    task.abort()
    write(made, worker, 0, "b")
    assert cluster.values == ["b"]


# Records.


def built(**calls: Any) -> KafkaRecordSerializationSchema:
    builder = KafkaRecordSerializationSchema.builder()
    for name, value in {"set_value_serialization_schema": ByteArraySchema(), **calls}.items():
        getattr(builder, name)(value)
    return builder.build()


class Key(SimpleStringSchema):
    def serialize(self, value: Any) -> bytes:
        return bytes(value[:1])


class Tombstones(ByteArraySchema):
    def serialize(self, value: Any) -> bytes:
        return None if value.endswith(b"-") else value  # type: ignore[return-value]


class ByFirst(KafkaTopicSelector):
    def apply(self, data: Any) -> str:
        return str(data[:1].decode())


def test_all_parts_of_a_record(cluster: Cluster) -> None:
    cluster.topics = {"a": 1, "b": 4}
    seen: list[Any] = []

    def last(*given: Any) -> int:
        seen.append(given)
        return int(given[-1][-1])

    made = sink(
        record_serializer=built(
            set_topic_selector=ByFirst(),
            set_key_serialization_schema=Key(),
            set_value_serialization_schema=Tombstones(),
            set_header_provider=lambda value: {"size": str(len(value)), "none": None},
            set_partitioner=last,
        )
    )
    task = writer(made, WorkerResources())
    task.write([b"a1", b"b-", b"a2"], [1000, None, 1])
    task.prepare_commit()
    headers = (("size", "2"), ("none", None))
    assert cluster.log == [
        Written("a", b"a1", b"a", 0, 1000, headers),
        Written("b", None, b"b", 3, 0, headers),
        Written("a", b"a2", b"a", 0, 1, headers),
    ]
    assert seen[1] == (b"b-", b"b", None, "b", [0, 1, 2, 3])


def test_the_client_chooses_the_partition_of_plain_values(cluster: Cluster) -> None:
    task = writer(sink(), WorkerResources())
    task.write(["a", "b"], [1000, None])
    task.prepare_commit()
    assert cluster.log == [
        Written("out", b"a", None, -1, 1000, ()),
        Written("out", b"b", None, -1, 0, ()),
    ]


class Own(KafkaRecordSerializationSchema):
    def serialize(self, element: Any, context: Any, timestamp: int | None) -> Any:
        if element == "none":
            return None
        last = context.get_partitions_for_topic("out")[-1]
        headers = (("trace", b"1"), ("trace", b"2"))
        return KafkaProducerRecord("out", element.encode(), b"k", 7, last, headers)


class AsItIs(KafkaRecordSerializationSchema):
    def serialize(self, element: Any, context: Any, timestamp: int | None) -> Any:
        return element


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"set_topic_selector": lambda value: None}, "its topic is None"),
        ({"set_topic_selector": lambda value: ""}, "its topic is ''"),
        ({"set_topic": "out", "set_partitioner": lambda *_: "1"}, "'str' object cannot"),
        ({"set_topic": "out", "set_header_provider": lambda _: {"a": 1}}, "expected header value"),
    ],
)
@pytest.mark.parametrize("guarantee", [EXACTLY, AT_LEAST])
def test_what_no_client_takes_is_reported(
    cluster: Cluster, guarantee: DeliveryGuarantee, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(JobError, match=f"cannot send a record: {message}") as caught:
        write(sink(guarantee, record_serializer=built(**given)), WorkerResources(), 0, b"a")
    assert "topic" in caught.value.where and not cluster.log


def test_a_schema_gives_records(cluster: Cluster) -> None:
    with pytest.raises(JobError, match="is a KafkaProducerRecord, not b'a'"):
        write(sink(record_serializer=AsItIs()), WorkerResources(), 0, b"a")


@pytest.mark.parametrize("guarantee", [EXACTLY, AT_LEAST])
def test_a_schema_of_ones_own(cluster: Cluster, guarantee: DeliveryGuarantee) -> None:
    write(sink(guarantee, record_serializer=Own()), WorkerResources(), 0, "none", "a")
    assert cluster.log == [
        Written("out", b"a", b"k", 2, 7, (("trace", b"1"), ("trace", b"2"))),
    ]
    assert sink(record_serializer=Own()).locator == ""


def test_a_task_without_records_begins_nothing(cluster: Cluster) -> None:
    task = writer(sink(record_serializer=Own()), WorkerResources())
    task.write(["none"], [None])
    task.prepare_commit()
    assert not cluster.made


# Building.


def test_pyflinks_builder() -> None:
    made = (
        KafkaSink.builder()
        .set_bootstrap_servers("b:9092")
        .set_record_serializer(serializer())
        .set_delivery_guarantee(EXACTLY)
        .set_transactional_id_prefix("orders")
        .set_property("linger.ms", "20")
        .build()
    )
    assert pickle.loads(pickle.dumps(made)) == made
    assert (made.commits, made.kind, made.locator) == (CommitBy.TASK, "kafka", "out")
    assert isinstance(made.producers, LibrdkafkaProducers)
    plain = KafkaSink.builder().set_bootstrap_servers("b:1").set_record_serializer(serializer())
    assert plain.build().delivery_guarantee is DeliveryGuarantee.NONE
    task = made.writer(WriterContext("s", "job", 0, 3, "a"))
    assert isinstance(task, ExactlyOnceWriter) and task._name == "orders-3"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: KafkaSink(record_serializer=serializer()), "address of a broker"),
        (lambda: sink(record_serializer=None), "needs a record serializer"),
        (lambda: sink("exactly-once"), "no DeliveryGuarantee"),  # type: ignore[arg-type]
        (lambda: sink(transactional_id_prefix="ä" * 3201), "at most 6400 bytes"),
        (lambda: built(), "need a topic"),
        (lambda: built(set_topic="a", set_topic_selector=len), "a topic or a topic selector"),
        (lambda: built(set_topic="a", set_value_serialization_schema=str), "SerializationSchema"),
        (lambda: KafkaRecordSerializationSchema.builder().set_topic("a").build(), "their values"),
        (lambda: built(set_topic=""), "name of a topic"),
        (lambda: sink(properties={"acks": "1"}), "exactly once needs acks=all"),
        (lambda: sink(properties={"transactional.id": "x"}), "transactional.id cannot be set"),
    ],
)
def test_what_cannot_work_is_reported_when_it_is_built(
    make: Callable[[], Any], message: str
) -> None:
    with pytest.raises((PlanError, ConfigurationError), match=message):
        make()


def test_a_selector_that_cannot_be_called_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="topic selector"):
        built(set_topic_selector="a")


def test_javas_properties_become_librdkafkas() -> None:
    given = Properties.of(
        {
            "key.serializer": "org.apache.kafka.common.serialization.ByteArraySerializer",
            "buffer.memory": 33554432,
            "max.request.size": 2000000,
            "max.block.ms": "60000",
            "delivery.timeout.ms": "30000",
            "enable.idempotence": True,
            "linger.ms": 20,
        }
    )
    assert for_producer(given) == {
        "queue.buffering.max.kbytes": "32768",
        "message.max.bytes": "2000000",
        "delivery.timeout.ms": "30000",
        "enable.idempotence": "true",
        "linger.ms": "20",
    }


def test_secrets_are_shown_nowhere() -> None:
    given = {"sasl.password": "s3cr3t", "nonsense": "1"}
    builder = KafkaSink.builder().set_bootstrap_servers("b:1").set_record_serializer(serializer())
    builder.set_kafka_producer_config(given).set_delivery_guarantee(EXACTLY)
    made = builder.build()
    task = writer_of(made, WriterContext("s", "job", 0, 0, "a"))
    with pytest.raises(HeadraceError, match="refuses its properties") as caught:
        task.write(["a"], [None])
    for shown in (builder, made, made.producers, caught.value, str(caught.value)):
        assert "s3cr3t" not in repr(shown)

"""Which timestamps a Kafka sink writes, and what it says where brokers refuse or delete them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.common import ByteArraySchema
from headrace.connector import DeliveryGuarantee, WorkerResources, WriterContext
from headrace.datastream.connectors._kafka.sink.timestamps import (
    OldTimestamps,
    format_timestamp,
    time_range,
)
from headrace.datastream.connectors.kafka import (
    KafkaProducerRecord,
    KafkaRecordSerializationSchema,
    KafkaSink,
    RecordTimestamp,
)
from headrace.errors import JobError, PlanError
from headrace.testing._writers import writer_of

kafka = pytest.importorskip("confluent_kafka", reason="missing: pip install 'headrace[kafka]'")

from tests.connectors.fake_producers import (  # noqa: E402
    CLUSTERS,
    Cluster,
    FakeProducers,
    failure,
)

DAY_MS = 86_400_000
BOTH = [DeliveryGuarantee.EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    CLUSTERS["fake"] = Cluster()
    yield CLUSTERS["fake"]
    del CLUSTERS["fake"]


class Own(KafkaRecordSerializationSchema):
    def serialize(self, element: Any, context: Any, timestamp: int | None) -> Any:
        return KafkaProducerRecord("out", element, element[:1], timestamp)


def built(**calls: Any) -> KafkaRecordSerializationSchema:
    builder = KafkaRecordSerializationSchema.builder().set_topic("out")
    builder.set_value_serialization_schema(ByteArraySchema())
    for name, value in calls.items():
        getattr(builder, name)(value)
    return builder.build()


SCHEMAS = {
    "plain": built(),
    "keys": built(set_key_serialization_schema=ByteArraySchema()),
    "headers": built(set_header_provider=lambda value: {"a": b"b"}),
    "own": Own(),
}


def sink(schema: KafkaRecordSerializationSchema, **given: Any) -> KafkaSink:
    settings = {
        "producers": FakeProducers("fake"),
        "delivery_guarantee": DeliveryGuarantee.EXACTLY_ONCE,
        "unreachable_timeout": 50,
        **given,
    }
    return KafkaSink(bootstrap_servers="fake:9092", record_serializer=schema, **settings)


def write(
    made: KafkaSink,
    records: list[tuple[bytes, int | None]],
    worker: WorkerResources | None = None,
    batch: int = 0,
) -> None:
    """As the runners do it, in two blocks."""
    context = WriterContext("s", "job", batch, 0, "a", 1, worker or WorkerResources())
    task = writer_of(made, context)
    try:
        for block in (records[::2], records[1::2]):
            task.write([value for value, _ in block], [at for _, at in block])
        task.prepare_commit()
    except JobError:
        task.abort()
        raise


@pytest.mark.parametrize("guarantee", BOTH)
@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("at", [0, -1, -DAY_MS])
def test_a_timestamp_that_kafka_cannot_have_is_refused(
    cluster: Cluster, guarantee: DeliveryGuarantee, schema: str, at: int
) -> None:
    """librdkafka takes 0 for the time of sending, Kafka -1 for none, Java's client neither."""
    with pytest.raises(JobError, match=rf"has the timestamp {at} ms \(19") as caught:
        write(sink(SCHEMAS[schema], delivery_guarantee=guarantee), [(b"early", at)])
    assert caught.value.where["topic"] == "out" and "SENDING_TIME" in str(caught.value.hint)
    assert ("key" in caught.value.where) is (schema in ("keys", "own"))
    assert not cluster.log


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_record_with_the_wrong_timestamp_is_named(cluster: Cluster, schema: str) -> None:
    with pytest.raises(JobError, match="timestamp -7 ms") as caught:
        write(sink(SCHEMAS[schema]), [(b"a", 5), (b"x", 5), (b"b", -7), (b"y", 5), (b"c", None)])
    assert caught.value.where.get("key", "b'b'") == "b'b'"


@pytest.mark.parametrize("guarantee", BOTH)
@pytest.mark.parametrize("schema", SCHEMAS)
def test_event_times_are_written_and_records_without_one_get_the_time_of_sending(
    cluster: Cluster, guarantee: DeliveryGuarantee, schema: str
) -> None:
    records = [(b"a", 1), (b"b", None), (b"c", 2**40), (b"d", 7)]
    write(sink(SCHEMAS[schema], delivery_guarantee=guarantee), records)
    found = {record.value: record.timestamp for record in cluster.log}
    assert found == {b"a": 1, b"b": 0, b"c": 2**40, b"d": 7}  # 0: librdkafka takes its clock


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_time_of_sending_can_be_chosen(cluster: Cluster, schema: str) -> None:
    made = sink(SCHEMAS[schema], record_timestamp=RecordTimestamp.SENDING_TIME)
    write(made, [(b"a", -5), (b"b", 0), (b"c", 7), (b"d", None)])
    assert {record.timestamp for record in cluster.log} == {0} and len(cluster.log) == 4


def test_the_builder_sets_it() -> None:
    builder = KafkaSink.builder().set_bootstrap_servers("b:1").set_record_serializer(built())
    assert builder.build().record_timestamp is RecordTimestamp.EVENT_TIME
    made = builder.set_record_timestamp(RecordTimestamp.SENDING_TIME).build()
    assert made.record_timestamp is RecordTimestamp.SENDING_TIME
    with pytest.raises(PlanError, match="'sending-time' is no RecordTimestamp"):
        builder.set_record_timestamp("sending-time").build()  # type: ignore[arg-type]


class Whole(KafkaRecordSerializationSchema):
    def serialize(self, element: Any, context: Any, timestamp: int | None) -> Any:
        return element


@pytest.mark.parametrize("at", ["soon", 1.5, 2**63])
def test_what_is_no_timestamp_is_reported(cluster: Cluster, at: Any) -> None:
    made, records = sink(Whole()), [KafkaProducerRecord("out", b"a", timestamp=at)]
    task = writer_of(made, WriterContext("s", "job", 0, 0, "a", 1, WorkerResources()))
    with pytest.raises(JobError, match="cannot send a record") as caught:
        task.write(records, [None])
    assert caught.value.where["timestamp"] == type(at).__name__


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ([3, 1, 2], (1, 3)),
        ([7], (7, 7)),
        ([None, None], None),
        ([None], None),
        ([None, 5, None, -5], (-5, 5)),
        ([], None),
        (["x"], None),
        (["x", 4], (4, 4)),
    ],
)
def test_spans(given: Any, found: Any) -> None:
    assert time_range(given) == found


def test_times_are_shown_as_dates_where_there_is_one() -> None:
    assert format_timestamp(1) == "1970-01-01T00:00:00.001Z"
    assert format_timestamp(2**63 - 1) == "9223372036854775807 ms"


# What brokers refuse.


@pytest.mark.parametrize("guarantee", BOTH)
@pytest.mark.parametrize("code", ["INVALID_TIMESTAMP", "INVALID_RECORD"])
def test_a_timestamp_that_brokers_refuse_is_reported_with_the_likely_cause(
    cluster: Cluster, guarantee: DeliveryGuarantee, code: str
) -> None:
    cluster.refuses, cluster.refuses_batches = (b"c", getattr(kafka.KafkaError, code)), True
    records = [(b"a", 1_700_000_000_000), (b"b", None), (b"c", 4_102_444_800_000)]
    with pytest.raises(JobError, match="Kafka refuses records: ") as caught:
        write(sink(SCHEMAS["plain"], delivery_guarantee=guarantee), records)
    where, hint = caught.value.where, str(caught.value.hint)
    assert where["timestamps"] == "2023-11-14T22:13:20.000Z to 2100-01-01T00:00:00.000Z"
    assert where["now"].endswith("Z")
    assert where["and"].startswith("2 more records: brokers refuse a batch as a whole")
    for words in ("message.timestamp.after.max.ms", "LogAppendTime", "set_record_timestamp"):
        assert words in hint
    assert ("without a key" in hint) is (code == "INVALID_RECORD")


@pytest.mark.parametrize("guarantee", BOTH)
def test_of_a_batch_that_is_too_large_the_largest_record_is_named(
    cluster: Cluster, guarantee: DeliveryGuarantee
) -> None:
    cluster.refuses, cluster.refuses_batches = (b"a", kafka.KafkaError.MSG_SIZE_TOO_LARGE), True
    values = (b"a", b"b", b"c" * 500, b"d")
    with pytest.raises(JobError, match=r"Kafka refuses records: .*too large") as caught:
        write(sink(SCHEMAS["own"], delivery_guarantee=guarantee), [(v, None) for v in values])
    assert caught.value.where == {
        "topic": "out",
        "largest": "501 bytes, key and value",
        "key": "b'c'",
        "and": "3 more records: brokers refuse a batch as a whole, maybe for another record",
    }
    assert "batch.size" in str(caught.value.hint)


def test_of_a_batch_the_record_without_a_key_is_named(cluster: Cluster) -> None:
    cluster.refuses, cluster.refuses_batches = (b"b", kafka.KafkaError.INVALID_RECORD), True
    made = sink(Whole())
    task = writer_of(made, WriterContext("s", "job", 0, 0, "a", 1, WorkerResources()))
    keys = {b"a": b"k", b"b": None, b"c": b"k"}
    task.write([KafkaProducerRecord("out", value, key) for value, key in keys.items()], [None] * 3)
    with pytest.raises(JobError, match="Kafka refuses records") as caught:
        task.prepare_commit()
    assert "key" not in caught.value.where and "without a key" in str(caught.value.hint)


# What brokers delete.

WEEK = {"message.timestamp.type": "CreateTime", "retention.ms": str(7 * DAY_MS)}


def now_ms() -> int:
    return int(time.time() * 1000)


@pytest.mark.parametrize("guarantee", BOTH)
@pytest.mark.parametrize("schema", SCHEMAS)
def test_records_that_retention_deletes_are_reported_once_for_a_topic(
    cluster: Cluster,
    guarantee: DeliveryGuarantee,
    schema: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster.settings, met = WEEK, list[str]()
    cluster.meet = met.append
    made, worker = sink(SCHEMAS[schema], delivery_guarantee=guarantee), WorkerResources()
    old = now_ms() - 8 * DAY_MS
    for batch in range(3):
        write(made, [(b"a", now_ms()), (b"b", None), (b"c", old), (b"d", old)], worker, batch)
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    for words in (
        "'out'",
        format_timestamp(old),
        "7 days",
        "retention.ms",
        "LogAppendTime",
        "SENDING_TIME",
    ):
        assert words in record.getMessage()
    assert met.count("topic_settings") == 1 and len(cluster.log) == 12


@pytest.mark.parametrize(
    ("settings", "age_ms"),
    [
        (WEEK, 6 * DAY_MS),
        ({**WEEK, "retention.ms": "-1"}, 900 * DAY_MS),
        ({**WEEK, "message.timestamp.type": "LogAppendTime"}, 900 * DAY_MS),
        ({**WEEK, "cleanup.policy": "compact"}, 900 * DAY_MS),
        ({}, 900 * DAY_MS),
    ],
)
def test_records_that_stay_are_not_reported(
    cluster: Cluster,
    settings: dict[str, str],
    age_ms: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster.settings = settings
    write(sink(SCHEMAS["plain"]), [(b"a", now_ms() - age_ms)])
    assert not caplog.records and len(cluster.log) == 1


def test_the_time_of_sending_is_not_compared(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.settings = WEEK
    made = sink(SCHEMAS["own"], record_timestamp=RecordTimestamp.SENDING_TIME)
    write(made, [(b"a", 1)])
    assert not caplog.records


def test_a_topic_is_asked_about_only_when_records_are_old(cluster: Cluster) -> None:
    def refuse(place: str) -> None:
        raise failure(kafka.KafkaError._TRANSPORT)

    cluster.meet = refuse
    watch = OldTimestamps(FakeProducers("fake"), clock=lambda: 1_000_000.0)
    watch.check_retention("out", 1_000_000_000 - 299_999)
    with pytest.raises(Exception, match="_TRANSPORT"):
        watch.check_retention("out", 1_000_000_000 - 300_000)

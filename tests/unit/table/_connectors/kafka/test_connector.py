"""Tables in Kafka: keys, values, metadata, upserts; over a broker in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headrace.common.changelog_mode import ChangelogMode
from headrace.common.types import Row, RowKind, row_of
from headrace.connector import DeliveryGuarantee
from headrace.errors import DecodeError, SqlValidationError
from headrace.sql.types import BIGINT, BYTES, INT, STRING, MapType, TimestampLtzType
from headrace.table._connectors.chunks import column_chunk
from headrace.table._connectors.connector import MetadataField, TableRequest
from headrace.table._connectors.kafka.connector import KafkaConnector, UpsertKafkaConnector
from tests.connectors.fake_kafka import BROKERS, Broker, FakeClients, Log
from tests.connectors.fake_producers import CLUSTERS, Cluster, FakeProducers
from tests.unit.table.harness import columns, copy, rows, source

TO = {"properties.bootstrap.servers": "fake:1", "topic": "t"}
JSON = TO | {"format": "json", "scan.startup.mode": "earliest-offset"}
ENDING = JSON | {"scan.bounded.mode": "latest-offset"}
TWO = columns(a=BIGINT, b=STRING)
CLIENTS = FakeClients("table")


@pytest.fixture
def log() -> Iterator[Log]:
    BROKERS["table"] = broker = Broker()
    yield broker.create("t")[0]
    del BROKERS["table"]


def read(options: dict[str, str], of: Any = TWO, **request: Any) -> list[Any]:
    return rows(KafkaConnector(CLIENTS).source(TableRequest("t", of, options, **request)))


def test_values_are_rows_and_messages_without_one_are_none(log: Log) -> None:
    log.add(b'{"a": 1, "b": "x"}', None, b'[{"a": 2}, {"a": "3"}]', gap=1)
    assert [*map(tuple, read(ENDING))] == [(1, "x"), (2, None), (3, None)]


def test_a_bad_value_names_its_offset(log: Log) -> None:
    log.add(b'{"a": 1}', b'{"a": "x"}')
    with pytest.raises(DecodeError) as raised:
        read(ENDING)
    assert "offset:" in str(raised.value) and '{"a": "x"}' in str(raised.value)


def test_keys_values_and_metadata(log: Log) -> None:
    log.add(b'{"b": "x"}', name=b"7", more=(("h", b"1"), ("h", b"2")), time_ms=5)
    log.add(b'{"b": "y"}')
    of = columns(
        k_a=BIGINT,
        b=STRING,
        topic=STRING,
        p=INT,
        o=BIGINT,
        t=TimestampLtzType(3),
        h=MapType(STRING, BYTES),
        tt=STRING,
    )
    keys = {"p": "partition", "o": "offset", "t": "timestamp", "h": "headers"}
    keys |= {"topic": "topic", "tt": "timestamp-type"}
    options = ENDING | {
        "key.format": "csv",
        "key.fields": "k_a",
        "key.fields-prefix": "k_",
        "value.fields-include": "EXCEPT_KEY",
    }
    metadata = tuple(MetadataField(name, key) for name, key in keys.items())
    found = read(options, of, metadata=metadata)
    at = datetime(1970, 1, 1, 0, 0, 0, 5000, UTC)
    assert tuple(found[0]) == (7, "x", "t", 0, 0, at, [("h", b"2")], "CreateTime")
    assert tuple(found[1])[:2] == (None, "y")


def test_upserts(log: Log) -> None:
    log.add(b'{"a": 1, "b": "x"}', b'{"a": 1, "b": "y"}', None, name=b'{"a": 1}')
    options = TO | {"key.format": "json", "value.format": "json"}
    options |= {"scan.bounded.mode": "latest-offset"}
    request = TableRequest("t", TWO, options, primary_key=("a",))
    table = UpsertKafkaConnector(CLIENTS).source(request)
    assert table.mode == ChangelogMode.upsert()
    found = [(row.get_row_kind(), *row) for row in rows(table)]
    assert found == [
        (RowKind.UPDATE_AFTER, 1, "x"),
        (RowKind.UPDATE_AFTER, 1, "y"),
        (RowKind.DELETE, 1, None),
    ]


class Context:
    def get_partitions_for_topic(self, topic: str) -> Sequence[int]:
        return [0, 1, 2]

    def get_parallel_instance_id(self) -> int:
        return 4


def written(connector: KafkaConnector, given: list[Row], **request: Any) -> list[Any]:
    sink: Any = connector.sink(TableRequest("t", **request)).sink
    return [*sink.record_serializer.serialize_all(given, Context(), [None] * len(given))]


def test_rows_are_written_with_keys_headers_and_timestamps() -> None:
    options = TO | {"format": "json", "key.format": "json", "key.fields": "a"}
    of = (*TWO, *columns(t=TimestampLtzType(3), h=MapType(STRING, BYTES)))
    metadata = (MetadataField("t", "timestamp"), MetadataField("h", "headers"))
    at = datetime(1970, 1, 1, 0, 0, 0, 5000, UTC)
    row = row_of(("a", "b", "t", "h"), [1, "x", at, [("n", b"v")]])
    options |= {"sink.partitioner": "fixed"}
    (record,) = written(KafkaConnector(), [row], columns=of, options=options, metadata=metadata)
    assert record == ("t", b'{"a":1,"b":"x"}', b'{"a":1}', 5, 1, (("n", b"v"),))


@pytest.mark.parametrize(
    ("given", "policy"), [({}, "fail"), ({"properties.auto.offset.reset": "latest"}, "latest")]
)
def test_the_reset_of_offsets_says_what_happens_to_records_that_are_gone(
    given: dict[str, str], policy: str
) -> None:
    made: Any = KafkaConnector(CLIENTS).source(TableRequest("t", TWO, JSON | given)).source
    assert (made.on_missing_offsets, made.on_changed_topic) == (policy, policy)


def test_a_reset_of_offsets_that_kafka_does_not_have_is_refused() -> None:
    for mode in ("earliest-offset", "group-offsets"):
        options = JSON | {
            "scan.startup.mode": mode,
            "properties.group.id": "g",
            "properties.auto.offset.reset": "earlist",
        }
        with pytest.raises(SqlValidationError, match="'earlist', but must be earliest"):
            KafkaConnector(CLIENTS).source(TableRequest("t", TWO, options))


def test_columns_are_encoded_as_rows_are() -> None:
    options = TO | {"key.format": "json", "value.format": "json"}
    request = TableRequest("t", TWO, options, primary_key=("a",))
    sink: Any = UpsertKafkaConnector().sink(request).sink
    batch = pa.record_batch({"a": [1, 2, 3], "b": ["x", None, "z"]})
    chunk = column_chunk(batch, np.array([0, 2, 3], np.int8))
    given = [row_of(("a", "b"), [*row.values()]) for row in batch.to_pylist()]
    for row, kind in zip(
        given, (RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE), strict=True
    ):
        row.set_row_kind(kind)
    records = [*sink.record_serializer.serialize_all(given, Context(), [None] * 3)]

    keys, values = sink.record_serializer.encode_columns(chunk)

    assert keys == [record.key for record in records] == [b'{"a":1}', b'{"a":2}', b'{"a":3}']
    assert values == [record.value for record in records]
    fixed = TableRequest("t", TWO, TO | {"format": "json", "sink.partitioner": "fixed"})
    one_by_one: Any = KafkaConnector().sink(fixed).sink
    assert one_by_one.record_serializer.encode_columns(chunk) is None


@pytest.mark.parametrize("guarantee", ["exactly-once", "at-least-once"])
def test_columns_are_written_in_one_transaction(tmp_path: Path, guarantee: str) -> None:
    (tmp_path / "rows.json").write_text('{"a": 1, "b": "x"}\n{"a": 2}\n')
    read = source("filesystem", TWO, {"path": str(tmp_path), "format": "json"})
    options = TO | {
        "format": "json",
        "sink.delivery-guarantee": guarantee,
        "sink.transactional-id-prefix": "p",
    }
    CLUSTERS["table"] = cluster = Cluster({"t": 1})
    connector = KafkaConnector(producers=FakeProducers("table"))

    copy(read, connector.sink(TableRequest("t", TWO, options)))

    assert cluster.values == ['{"a":1,"b":"x"}', '{"a":2,"b":null}']
    del CLUSTERS["table"]


def test_event_time_is_not_the_timestamp_of_a_message() -> None:
    options, row = TO | {"format": "json"}, row_of(("a", "b"), [1, "x"])
    sink: Any = KafkaConnector().sink(TableRequest("t", TWO, options)).sink
    (record,) = sink.record_serializer.serialize_all([row], Context(), [-5])
    assert record.timestamp is None


def test_upserts_delete_by_messages_without_values() -> None:
    options = TO | {"key.format": "json", "value.format": "json"}
    given = [row_of(("a", "b"), [1, "x"]), row_of(("a", "b"), [1, "x"])]
    given[1].set_row_kind(RowKind.DELETE)
    found = written(UpsertKafkaConnector(), given, columns=TWO, options=options, primary_key=("a",))
    assert [(record.key, record.value) for record in found] == [
        (b'{"a":1}', b'{"a":1,"b":"x"}'),
        (b'{"a":1}', None),
    ]


@pytest.mark.parametrize("key", ["json", "csv", "avro", "raw"])
@pytest.mark.parametrize("value", ["json", "csv", "avro"])
def test_upserts_are_read_as_they_were_written(log: Log, key: str, value: str) -> None:
    options = TO | {"key.format": key, "value.format": value, "scan.bounded.mode": "latest-offset"}
    kinds = [RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.INSERT, RowKind.DELETE]
    given = []
    for kind, number, text in zip(kinds, (1, 1, 2, 2), ("x", "y", "ä,;\n", "z"), strict=True):
        given.append(row_of(("a", "b"), [number, text]))
        given[-1].set_row_kind(kind)
    request: dict[str, Any] = {"columns": TWO, "options": options, "primary_key": ("a",)}
    for record in written(UpsertKafkaConnector(), given, **request):
        log.add(record.value, name=record.key)
    found = rows(UpsertKafkaConnector(CLIENTS).source(TableRequest("t", **request)))
    assert [(row.get_row_kind(), *row) for row in found] == [
        (RowKind.UPDATE_AFTER, 1, "x"),
        (RowKind.UPDATE_AFTER, 1, "y"),
        (RowKind.UPDATE_AFTER, 2, "ä,;\n"),
        (RowKind.DELETE, 2, None),
    ]


def test_properties_of_consumers_are_not_those_of_producers() -> None:
    options = JSON | {"properties.group.id": "g", "properties.linger.ms": "5"}
    options["properties.enable.idempotence"] = "true"
    made: Any = KafkaConnector().sink(TableRequest("t", TWO, options)).sink
    assert dict(made.properties.given).keys() == {
        "bootstrap.servers",
        "linger.ms",
        "enable.idempotence",
    }


def test_exactly_once() -> None:
    options = TO | {"format": "json", "sink.delivery-guarantee": "exactly-once"}
    with pytest.raises(SqlValidationError, match="transactional-id-prefix"):
        KafkaConnector().sink(TableRequest("t", TWO, options))
    options |= {"sink.transactional-id-prefix": "p"}
    sink: Any = KafkaConnector().sink(TableRequest("t", TWO, options)).sink
    assert sink.delivery_guarantee is DeliveryGuarantee.EXACTLY_ONCE


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"format": "json", "topic": "t"}, "bootstrap.servers"),
        (TO | {"format": "json", "topic-pattern": "t.*"}, "one of the options"),
        (JSON | {"key.format": "json"}, "set together"),
        (JSON | {"key.format": "json", "key.fields": "x"}, "is not a column"),
        (TO | {"format": "json"}, r"no group is set[^$]*earliest-offset[^$]*properties\.group\.id"),
        (JSON | {"scan.bounded.mode": "group-offsets"}, "'scan.bounded.mode' is 'group-offsets'"),
        (JSON | {"scan.startup.mode": "timestamp"}, "timestamp-millis"),
        (JSON | {"scan.startup.mode": "earliest"}, "one of earliest-offset"),
        (JSON | {"value.format": "json"}, "both"),
        (JSON | {"sink.buffer-flush.max-rows": "1"}, "unknown option"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(SqlValidationError, match=said):
        KafkaConnector(CLIENTS).source(TableRequest("t", TWO, options))


def test_upserts_need_a_key() -> None:
    options = TO | {"key.format": "json", "value.format": "json"}
    with pytest.raises(SqlValidationError, match="PRIMARY KEY"):
        UpsertKafkaConnector().source(TableRequest("t", TWO, options))

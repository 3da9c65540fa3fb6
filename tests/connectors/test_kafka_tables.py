"""Tables in Kafka over a real broker: what one statement writes, another reads."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import Configuration
from headrace.common.types import RowKind, row_of
from headrace.sql.types import BIGINT, DOUBLE, INT, STRING, TimestampLtzType
from headrace.table import EnvironmentSettings, TableEnvironment
from headrace.table._connectors.connector import MetadataField
from tests.unit.table.harness import columns, copy, rows, sink, source, stream_into

kafka = pytest.importorskip("confluent_kafka", reason="missing: pip install 'headrace[kafka]'")

from tests.connectors.topic import content, new_topic  # noqa: E402

pytestmark = pytest.mark.spark

OF = columns(id=BIGINT, name=STRING, price=DOUBLE)
SEQUENCE = {"fields.id.kind": "sequence", "fields.id.start": "1", "fields.id.end": "3000"}
GENERATED = SEQUENCE | {"rows-per-second": "1000000", "fields.price.min": "0"}


def options(servers: str, topic: str, **more: str) -> dict[str, str]:
    """Return the options of a table, with ``_`` in their names for ``.``."""
    found = {"properties.bootstrap.servers": servers, "topic": topic}
    return found | {key.replace("__", "-").replace("_", "."): text for key, text in more.items()}


READ = {"scan_bounded_mode": "latest-offset"}


@pytest.mark.capability("SQL: tables in Kafka, exactly once", runners="local")
@pytest.mark.parametrize("name", ["json", "csv", "avro"])
def test_what_is_written_exactly_once_is_read(kafka_servers: str, name: str) -> None:
    topic = new_topic(kafka_servers, 2)
    given = source("datagen", OF, GENERATED)
    write = options(kafka_servers, topic, format=name, sink_delivery__guarantee="exactly-once")
    write["sink.transactional-id-prefix"] = topic
    copy(given, sink("kafka", OF, write))

    of = (*OF, *columns(p=INT, at=TimestampLtzType(3)))
    metadata = (MetadataField("p", "partition"), MetadataField("at", "timestamp"))
    read = options(kafka_servers, topic, format=name, **READ)
    read["scan.startup.mode"] = "earliest-offset"
    found = rows(source("kafka", of, read, metadata=metadata))
    expected = rows(given)
    assert sorted(tuple(row)[:3] for row in found) == sorted(map(tuple, expected))
    assert {row.p for row in found} <= {0, 1}


@pytest.mark.capability("SQL: tables in Kafka, exactly once", runners="local")
def test_upserts(kafka_servers: str) -> None:
    topic = new_topic(kafka_servers, 1)
    changes = [("+I", 1, "a"), ("+U", 1, "b"), ("+I", 2, "c"), ("-D", 2, "c")]
    kinds = {"+I": RowKind.INSERT, "+U": RowKind.UPDATE_AFTER, "-D": RowKind.DELETE}
    given: list[Any] = []
    for kind, identifier, name in changes:
        row = row_of(("id", "name", "price"), [identifier, name, 1.5])
        row.set_row_kind(kinds[kind])
        given.append(row)
    write = options(kafka_servers, topic, key_format="json", value_format="json")
    stream_into(given, sink("upsert-kafka", OF, write, primary_key=("id",)))
    assert [(m.key(), m.value()) for m in content(kafka_servers, topic)] == [
        (b'{"id":1}', b'{"id":1,"name":"a","price":1.5}'),
        (b'{"id":1}', b'{"id":1,"name":"b","price":1.5}'),
        (b'{"id":2}', b'{"id":2,"name":"c","price":1.5}'),
        (b'{"id":2}', None),
    ]
    read = write | {"scan.bounded.mode": "latest-offset"}
    found = rows(source("upsert-kafka", OF, read, primary_key=("id",)))
    assert [f"{row.get_row_kind().sign} {row.id} {row.name}" for row in found] == [
        "+U 1 a",
        "+U 1 b",
        "+U 2 c",
        "-D 2 None",
    ]


def test_a_statement_writes_upserts_and_another_reads_changes(kafka_servers: str) -> None:
    config = Configuration()
    config.set_string("execution.target", "local")
    made = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(config)
    table_env = TableEnvironment.create(made.build())
    table_env.execute_sql(
        "CREATE TABLE t (n BIGINT, k STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ("
        f" 'connector' = 'upsert-kafka', 'topic' = '{new_topic(kafka_servers, 2)}',"
        f" 'properties.bootstrap.servers' = '{kafka_servers}', 'key.format' = 'json',"
        " 'value.format' = 'json', 'scan.bounded.mode' = 'latest-offset')"
    )
    values = "(VALUES ('a'), ('b'), ('a'), ('c'), ('a')) AS v(k)"
    for having in ("", " HAVING COUNT(*) < 3"):
        # The second statement takes 'a' away: its rows before updates are deletions.
        query = f"SELECT COUNT(*), k FROM {values} GROUP BY k{having}"
        table_env.execute_sql(f"INSERT INTO t {query}").wait()
    with table_env.execute_sql("SELECT k, n FROM t").collect() as found:
        by_key: dict[str, list[tuple[str, int]]] = {}
        for row in found:
            by_key.setdefault(row[0], []).append((row.get_row_kind().sign, row[1]))
    assert by_key["b"] == by_key["c"] == [("+I", 1)]
    assert [each for each in by_key["a"] if each[0] != "-U"] == [
        ("+I", 1),
        ("+U", 2),
        ("+U", 3),
        ("+U", 1),
        ("-D", 1),
        ("+I", 2),
        ("-D", 2),
    ]


def test_schemas_are_in_a_registry(kafka_servers: str, registry_url: str) -> None:
    topic = new_topic(kafka_servers, 1)
    given = source("datagen", OF, GENERATED)
    write = options(kafka_servers, topic, format="avro-confluent")
    write["avro-confluent.url"] = registry_url
    copy(given, sink("kafka", OF, write))
    read = write | {"scan.bounded.mode": "latest-offset", "scan.startup.mode": "earliest-offset"}
    found = rows(source("kafka", OF, read))
    assert sorted(map(tuple, found)) == sorted(map(tuple, rows(given)))

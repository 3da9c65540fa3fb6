"""Avro on a real broker with a real registry: what is registered, found, refused and read again."""

from __future__ import annotations

import json
import re
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import pytest

from headrace.common import Configuration, WatermarkStrategy
from headrace.connector import Budget
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from headrace.datastream.formats._json.messages import (
    JsonDeserializationSchema,
    JsonSerializationSchema,
)
from headrace.datastream.formats._registry import client as registry_client
from headrace.datastream.formats._registry.registry import header, schema_id
from headrace.datastream.formats.avro import (
    AvroDeserializationSchema,
    AvroSchema,
    AvroSerializationSchema,
)
from headrace.datastream.formats.protobuf import (
    ProtobufDeserializationSchema,
    ProtobufSerializationSchema,
)
from headrace.datastream.formats.registry import (
    RecordNameStrategy,
    SchemaRegistry,
    TopicRecordNameStrategy,
)
from headrace.errors import DecodeError, JobError
from headrace.testing import run_pipeline
from headrace.testing._reading import Planner, Reading
from tests.connectors.topic import content, new_topic
from tests.unit.datastream.formats._registry.test_registry import CLASSES

pytest.importorskip("confluent_kafka.schema_registry", reason="missing: headrace[registry]")

pytestmark = pytest.mark.spark


def order(*fields: tuple[Any, ...]) -> AvroSchema:
    """A schema of fields (name, type), (name, type, default) or (name, type, default, alias)."""
    made = []
    for name, kind, *more in fields:
        entry: dict[str, Any] = {"name": name, "type": kind}
        if more:
            entry["default"] = more[0]
        if more[1:]:
            entry["aliases"] = more[1:]
        made.append(entry)
    return AvroSchema({"type": "record", "name": "com.acme.Order", "fields": made})


V1 = order(("id", "int"), ("symbol", "string"), ("broker", "string"))
V2 = order(("id", "int"), ("symbol", "string"), ("lots", "int", 1))
V3 = order(("id", "long"), ("ticker", "string", "", "symbol"), ("lots", "int", 1))


@dataclass
class Order:
    id: int
    ticker: str
    lots: int


def confluent(name: str) -> Any:
    """What Confluent's own client has under a name."""
    return getattr(import_module("confluent_kafka.schema_registry"), name)


def test_schemas_are_registered_found_and_refused(registry_url: str) -> None:
    own = confluent("SchemaRegistryClient")({"url": registry_url})
    where = SchemaRegistry(registry_url, max_outage=0)
    old = {"id": 1, "symbol": "S", "broker": "b"}
    first = AvroSerializationSchema(V1, where).for_topic("things").serialize(old)
    registered = own.get_latest_version("things-value")
    assert schema_id(first) == registered.schema_id
    assert (
        AvroSchema(registered.schema.schema_str)
        == V1
        == AvroSchema.registered(registry_url, "things-value", 1)
    )
    for strategy, subject in (
        (RecordNameStrategy(), "com.acme.Order"),
        (TopicRecordNameStrategy(), "things-com.acme.Order"),
    ):
        found = AvroSerializationSchema(V1, where, strategy).for_topic("things")
        assert found.serialize(old) == first  # one schema has one id, whatever the subject
        assert own.get_latest_version(subject).schema_id == registered.schema_id
    there = AvroSerializationSchema(V1, where, register=False).for_topic("things")
    assert there.serialize(old) == first
    own.register_schema("laid-out", confluent("Schema")(json.dumps(json.loads(V2.text), indent=2)))
    laid_out = AvroSerializationSchema(V2, where, "laid-out", register=False)
    assert laid_out.serialize({"id": 1, "symbol": ""})[:1] == b"\0"
    own.set_compatibility("things-value", "BACKWARD")
    needs_more = order(("id", "int"), ("symbol", "string"), ("since", "long"))
    with pytest.raises(JobError, match=r"subject 'things-value' failed: .*ncompatible"):
        AvroSerializationSchema(needs_more, where, "things-value").serialize(
            {"id": 1, "symbol": "", "since": 0}
        )
    with pytest.raises(JobError, match="asking for a schema's id under the subject"):
        AvroSerializationSchema(V2, where, "things-value", register=False).serialize(
            {"id": 1, "symbol": ""}
        )
    reads = AvroDeserializationSchema(V3, Order, registry=where)
    assert reads.deserialize(first) == Order(1, "S", 1)
    with pytest.raises(DecodeError, match="unknown schema id 99999"):
        reads.deserialize(header(99999) + b"x")
    text = '{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}'
    data = JsonSerializationSchema(text, where, "as-json").serialize({"id": 1})
    assert schema_id(data) == own.get_latest_version("as-json").schema_id
    assert JsonDeserializationSchema(registered=True).deserialize(data) == {"id": 1}
    imports = CLASSES["o.Order"]  # of another file, which is registered first
    data = ProtobufSerializationSchema(imports, where, "as-protobuf").serialize({"id": 1})
    assert own.get_latest_version("as-protobuf").schema.references[0].subject == "common.proto"
    assert ProtobufDeserializationSchema(imports, registered=True).deserialize(data).id == 1


def test_a_registry_that_comes_back(registry_url: str) -> None:
    AvroSerializationSchema(V1, registry_url, "comes-back").serialize(
        {"id": 1, "symbol": "", "broker": ""}
    )
    with gate(registry_url) as (url, open_gate):
        soon = SchemaRegistry(url, max_outage=300)
        with pytest.raises(JobError, match="version 1 of the subject 'comes-back' failed") as away:
            AvroSchema.registered(soon, "comes-back", 1)
        assert any("was tried again for 0.3 s" in note for note in away.value.__notes__)
        assert "check that it runs" in str(away.value)
        threading.Timer(0.5, open_gate).start()
        waits = SchemaRegistry(url, max_outage=60_000)
        assert AvroSchema.registered(waits, "comes-back", 1) == V1


def write(servers: str, registry_url: str, topic: str, schema: AvroSchema, *records: Any) -> None:
    """A job that writes records to a topic; the schema is registered under the topic's name."""
    values = AvroSerializationSchema(schema, registry_url)
    makes = KafkaRecordSerializationSchema.builder().set_topic(topic)
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(servers)
        .set_record_serializer(makes.set_value_serialization_schema(values).build())
        .build()
    )

    def program(env: StreamExecutionEnvironment) -> DataStream:
        stream = env.from_collection([*records])
        stream.sink_to(sink)
        return stream

    assert len(run_pipeline(program).only) == len(records)


def test_what_was_read_is_read_again_with_the_same_schemas(
    kafka_servers: str, registry_url: str, tmp_path: Path
) -> None:
    """Between a micro-batch and its repetition the subject gets two more versions."""
    topic = new_topic(kafka_servers)
    write(kafka_servers, registry_url, topic, V1, {"id": 1, "symbol": "A", "broker": "x"})

    def source(**given: Any) -> KafkaSource:
        reads = AvroDeserializationSchema(registry=registry_url, **given)
        return KafkaSource(
            bootstrap_servers=kafka_servers,
            topics=topic,
            deserializer=reads,
            stopping_offsets=KafkaOffsetsInitializer.latest(),
        )

    ways: dict[str, dict[str, Any]] = {
        "as written": {},
        "the schema of a version": {
            "schema": AvroSchema.registered(registry_url, f"{topic}-value", 1)
        },
        "the program's": {"schema": V3, "into": Order},
    }
    expected = {
        "as written": {"id": 1, "symbol": "A", "broker": "x"},
        "the schema of a version": {"id": 1, "symbol": "A", "broker": "x"},
        "the program's": Order(1, "A", 1),
    }
    planners = {name: Planner(source(**given), tmp_path) for name, given in ways.items()}
    for name, planner in planners.items():
        tasks = planner.step(Budget(1000, 1 << 20), 1000)
        assert read(source(**ways[name]), tasks) == [expected[name]]
    write(kafka_servers, registry_url, topic, V2, {"id": 2, "symbol": "B", "lots": 5})
    write(kafka_servers, registry_url, topic, V3, {"id": 3, "ticker": "C"})
    for name, planner in planners.items():
        registry_client._clients.clear()  # as in another process
        tasks = planner.plan(*planner.micro_batches[0])
        assert read(source(**ways[name]), tasks) == [expected[name]]
        planner.close()

    ids = [schema_id(message.value()) for message in content(kafka_servers, topic)]
    assert len({*ids}) == 3 and ids == sorted(ids)

    def program(env: StreamExecutionEnvironment) -> DataStream:
        whole = source(schema=V3, into=Order)
        return env.from_source(whole, WatermarkStrategy.no_watermarks(), "orders")

    all_of_them = [Order(1, "A", 1), Order(2, "B", 5), Order(3, "C", 1)]
    assert run_pipeline(program).only == all_of_them


def read(source: KafkaSource, tasks: Any) -> list[Any]:
    """The records of a micro-batch."""
    reading = Reading()
    reading.read(source, tasks)
    return reading.all()


@contextmanager
def gate(url: str) -> Iterator[tuple[str, Any]]:
    """An address that refuses connections, until a function is called: then they are passed on."""
    target = urlsplit(url)
    assert target.hostname and target.port
    place = (target.hostname, target.port)
    with closing(socket.socket()) as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]

        def pass_on(one: socket.socket, other: socket.socket) -> None:
            with one, other:
                while data := one.recv(65536):
                    other.sendall(data)

        def accept() -> None:
            listening.listen()
            while True:
                try:
                    came = listening.accept()[0]
                except OSError:
                    return  # closed: the test is over
                far = socket.create_connection(place)
                for pair in ((came, far.dup()), (far, came.dup())):
                    threading.Thread(target=pass_on, args=pair, daemon=True).start()

        opened = threading.Thread(target=accept, daemon=True)
        yield f"http://127.0.0.1:{port}{target.path}", opened.start


@pytest.mark.capability("Avro with a schema registry", runners="local")
def test_the_page(
    kafka_servers: str,
    registry_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The first programs of docs/how-to/formats.md, with the servers of the tests."""

    def local() -> StreamExecutionEnvironment:
        return StreamExecutionEnvironment(Configuration.from_dict({"execution.target": "local"}))

    monkeypatch.setattr(StreamExecutionEnvironment, "get_execution_environment", local)
    text = (Path(__file__).parents[2] / "docs" / "how-to" / "formats.md").read_text("utf-8")
    first, second = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)[:2]
    (printed,) = re.findall(r"^The program prints:\n\n```text\n(.*?)^```$", text, re.M | re.S)
    here = {
        "localhost:9092": kafka_servers,
        "http://localhost:8081/apis/ccompat/v7": registry_url,
        '"orders"': f'"{new_topic(kafka_servers)}"',
    }
    for shown, real in here.items():
        assert shown in second
        second = second.replace(shown, real)
    page = ModuleType("formats_page")  # Order is found in it
    monkeypatch.setitem(sys.modules, page.__name__, page)
    exec(first, vars(page))
    capsys.readouterr()
    exec(second, vars(page))
    assert capsys.readouterr().out == printed

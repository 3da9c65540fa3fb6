"""A schema registry: the header, subjects, what is asked once, what goes wrong, and secrets."""

from __future__ import annotations

import json
import pickle
import traceback
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from headrace.common.serialization import SimpleStringSchema
from headrace.datastream.connectors._kafka.source.decoding import Decoding
from headrace.datastream.connectors._kafka.source.records import ValueOnly
from headrace.datastream.connectors._kafka.source.split import Split
from headrace.datastream.connectors.kafka import (
    KafkaRecord,
    KafkaRecordDeserializationSchema,
    KafkaRecordSerializationSchema,
)
from headrace.datastream.formats._json.messages import (
    JsonDeserializationSchema,
    JsonSerializationSchema,
)
from headrace.datastream.formats._registry import client as registry_client
from headrace.datastream.formats._registry.header import ConfluentHeaderStripper
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
    TopicNameStrategy,
    TopicRecordNameStrategy,
)
from headrace.errors import DecodeError, JobError, PlanError, TypeMismatchError
from tests.unit.datastream.formats.registry_server import RegistryServer, running


def missing_package() -> str:
    """The first package that the registry's client lacks here, or nothing."""
    try:
        import_module("confluent_kafka.schema_registry")
    except ImportError as error:
        return str(error.name)
    return ""


MISSING = missing_package()
needs_client = pytest.mark.skipif(bool(MISSING), reason=f"missing: {MISSING} (headrace[registry])")

OLD = AvroSchema(
    {
        "type": "record",
        "name": "com.acme.Order",
        "fields": [{"name": "id", "type": "int"}, {"name": "gone", "type": "string"}],
    }
)
NEW = AvroSchema(
    {
        "type": "record",
        "name": "com.acme.Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "note", "type": ["null", "string"], "default": None},
        ],
    }
)


@pytest.fixture(scope="module")
def server() -> Iterator[RegistryServer]:
    with running() as registry:
        yield registry


@pytest.fixture
def registry(server: RegistryServer) -> Iterator[RegistryServer]:
    """The registry, empty and in good health; this process knows nothing of it."""
    address = server.url
    server.__init__()  # type: ignore[misc]
    server.url = address
    registry_client._clients.clear()
    yield server
    registry_client._clients.clear()


def quick(url: str, **more: Any) -> SchemaRegistry:
    return SchemaRegistry(url, {"timeout": 5, **more}, max_outage=0)


def test_the_header_is_a_zero_and_the_id() -> None:
    assert header(258) == b"\x00\x00\x00\x01\x02"
    assert schema_id(b"\x00\x00\x00\x01\x02rest") == 258
    for data, why in (
        (b"", "it is empty"),
        (b"\x01\x00\x00\x00\x01", "wrong magic byte 1"),
        (b"{}", "wrong magic byte 123"),
        (b"\x00\x00", "it is truncated: 2 bytes"),
    ):
        with pytest.raises(DecodeError, match=why):
            schema_id(data)


def test_subjects() -> None:
    assert TopicNameStrategy("t").subject("a.B") == "t-value"
    assert TopicNameStrategy().for_topic("t", is_key=True).subject("a.B") == "t-key"
    assert RecordNameStrategy().for_topic("t").subject("a.B") == "a.B"
    assert TopicRecordNameStrategy().for_topic("t").subject("a.B") == "t-a.B"
    assert TopicRecordNameStrategy("own").for_topic("t").subject("a.B") == "own-a.B"
    with pytest.raises(PlanError, match="no topic is known"):
        TopicNameStrategy().subject("a.B")


@needs_client
def test_each_record_is_read_by_the_schema_it_was_written_with(registry: RegistryServer) -> None:
    where = quick(registry.url)
    old = AvroSerializationSchema(OLD, where, "orders-value").serialize({"id": 1, "gone": "x"})
    new = AvroSerializationSchema(NEW, where, "orders-value").serialize({"id": 2, "note": "n"})
    assert (schema_id(old), schema_id(new)) == (1, 2)
    assert registry.subjects == {"orders-value": [1, 2]}

    reads = pickle.loads(pickle.dumps(AvroDeserializationSchema(NEW, registry=where)))
    found = [reads.deserialize(data) for data in (old, new, old)]
    assert found == [{"id": 1, "note": None}, {"id": 2, "note": "n"}, {"id": 1, "note": None}]
    as_written = AvroDeserializationSchema(registry=where)
    assert as_written.deserialize(old) == {"id": 1, "gone": "x"}
    # each id once for the process, though two schemas read
    assert sum("schemas/ids/1" in path for path in registry.asked) <= 1
    assert sum("schemas/ids/2" in path for path in registry.asked) <= 1


@needs_client
def test_a_schema_is_registered_once_and_by_those_who_may(registry: RegistryServer) -> None:
    where = quick(registry.url)
    writes = AvroSerializationSchema(NEW, where, register=False)
    with pytest.raises(PlanError, match="no topic is known"):
        writes.serialize({"id": 1})
    writes = writes.for_topic("orders")
    with pytest.raises(JobError, match=r"under the subject 'orders-value' failed") as raised:
        writes.serialize({"id": 1})
    assert "Schema not found" in raised.value.message
    registering = AvroSerializationSchema(NEW, where).for_topic("orders")
    first = registering.serialize({"id": 1})
    assert writes.serialize({"id": 1}) == first
    asked = len(registry.asked)
    assert [registering.serialize({"id": 1}) for _ in range(3)] == [first] * 3
    assert len(registry.asked) == asked
    registry.refuses = "Schema being registered is incompatible"
    with pytest.raises(JobError, match="incompatible"):
        AvroSerializationSchema(OLD, where, "orders-value").serialize({"id": 1, "gone": ""})


@needs_client
def test_what_cannot_be_decoded_says_why(registry: RegistryServer) -> None:
    where = quick(registry.url)
    registry.add("j", {"schema": "{}", "schemaType": "JSON"})
    other = {"type": "record", "name": "X", "fields": [{"name": "x", "type": "int"}]}
    registry.add("x", {"schema": json.dumps(other)})
    registry.add("b", {"schema": '{"type": "record"}'})
    reads = AvroDeserializationSchema(NEW, registry=where)
    for data, why in (
        (header(1) + b"x", "schema 1 is JSON, not Avro"),
        (header(2) + b"\x02", "schema 2 does not match the reader's: the field 'id' was not"),
        (header(3) + b"x", "schema 3 of the registry cannot be used"),
        (header(9) + b"x", "unknown schema id 9"),
        (b"\x05abcd", "wrong magic byte 5"),
    ):
        for _ in range(2):
            with pytest.raises(DecodeError, match=why) as raised:
                reads.deserialize(data)
            assert "\n" not in raised.value.message
    assert sum("schemas/ids/9" in path for path in registry.asked) == 1


@needs_client
def test_unknown_ids_are_forgotten_after_a_while(
    registry: RegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A topic of other bytes names an id in each message."""
    client = registry_client.RegistryClient(quick(registry.url))
    monkeypatch.setattr(registry_client, "UNKNOWN_FOR_S", 0.0)
    for identifier in range(100, 110):
        with pytest.raises(DecodeError, match=f"unknown schema id {identifier}"):
            client.schema(identifier)
    assert [*client._unknown] == [109]


@needs_client
def test_a_registry_that_does_not_answer_is_no_bad_record(registry: RegistryServer) -> None:
    reads = AvroDeserializationSchema(NEW, registry=quick(registry.url))
    identifier = registry.add("o", {"schema": NEW.text})
    registry.down = True
    with pytest.raises(JobError, match="store is down"):
        reads.deserialize(header(identifier) + b"\x02\x00")
    registry.down = False
    assert reads.deserialize(header(identifier) + b"\x02\x00") == {"id": 1, "note": None}
    nobody = AvroDeserializationSchema(NEW, registry=quick("http://127.0.0.1:9"))
    with pytest.raises(JobError, match="asking for the schema 1 failed"):
        nobody.deserialize(header(1))


@needs_client
def test_a_registry_that_is_away_is_waited_for(
    registry: RegistryServer, caplog: pytest.LogCaptureFixture
) -> None:
    identifier = registry.add("o", {"schema": NEW.text})
    where = SchemaRegistry(registry.url, {"timeout": 5}, max_outage=60_000)
    registry.down_for = 2
    reads = AvroDeserializationSchema(NEW, registry=where)
    assert reads.deserialize(header(identifier) + b"\x02\x00") == {"id": 1, "note": None}
    assert sum("schemas/ids" in path for path in registry.asked) == 3
    registry.down_for = 1
    assert AvroSerializationSchema(NEW, where, "o").serialize({"id": 1})[:5] == header(1)
    assert "failed, and is tried again" in caplog.text and "works again" in caplog.text
    assert pickle.loads(pickle.dumps(where)).max_outage_ms == 60_000
    registry.refuses = "incompatible"
    asked = len(registry.asked)
    with pytest.raises(JobError, match="incompatible"):  # an answer, so nothing is waited for
        AvroSerializationSchema(OLD, where, "o").serialize({"id": 1, "gone": ""})
    assert len(registry.asked) == asked + 1


@needs_client
def test_a_registry_that_is_away_makes_no_bad_record_of_kafka(registry: RegistryServer) -> None:
    registry.down = True
    reads = AvroDeserializationSchema(NEW, registry=quick(registry.url))
    for schema in (ValueOnly(reads), OfRecord(reads)):
        decoding = Decoding(Split("t", 0, ""), schema, tagged=True)
        asked = len(registry.asked)
        with pytest.raises(JobError, match="store is down"):
            decoding.chunk([Message(header(1) + b"\x02\x00")])
        assert len(registry.asked) == asked + 1  # it is waited for once
        assert len(decoding.chunk([Message(b"\x01no header")]).bad) == 1


class OfRecord(KafkaRecordDeserializationSchema):
    def __init__(self, schema: AvroDeserializationSchema) -> None:
        self._schema = schema

    def deserialize(self, record: KafkaRecord) -> Any:
        return self._schema.deserialize(record.value)


@needs_client
@pytest.mark.parametrize("by_record", [False, True])
def test_a_sink_of_kafka_registers_for_its_topics(
    registry: RegistryServer, by_record: bool
) -> None:
    where = quick(registry.url)
    builder = (
        KafkaRecordSerializationSchema.builder()
        .set_key_serialization_schema(AvroSerializationSchema(NEW, where))
        .set_value_serialization_schema(
            AvroSerializationSchema(NEW, where, TopicRecordNameStrategy())
        )
    )
    topics = ["t1", "t2"] if by_record else ["t"]
    if by_record:
        builder.set_topic_selector(lambda record: f"t{record['id']}")
    else:
        builder.set_topic("t")
    makes = builder.build()
    for number in (1, 2, 1):
        made = makes.serialize({"id": number}, None, None)  # type: ignore[arg-type]
        assert made is not None and made.value is not None
    expected = {f"{t}-key" for t in topics} | {f"{t}-com.acme.Order" for t in topics}
    assert set(registry.subjects) == expected


class Message:
    """What a consumer gives, as far as it is asked."""

    def __init__(self, value: bytes) -> None:
        self._value = value

    def value(self) -> bytes:
        return self._value

    def offset(self) -> int:
        return 7

    def timestamp(self) -> tuple[int, int]:
        return (1, 1000)

    def key(self) -> None:
        return None

    headers = key


@needs_client
def test_a_registered_schema_is_taken_by_its_version(registry: RegistryServer) -> None:
    where = quick(registry.url)
    for schema in (OLD, NEW):
        registry.add("o", {"schema": schema.text})
    registry.add("j", {"schema": "{}", "schemaType": "JSON"})
    assert [AvroSchema.registered(where, "o", version) for version in (1, 2)] == [OLD, NEW]
    with pytest.raises(JobError, match="version 3 of the subject 'o' failed"):
        AvroSchema.registered(where, "o", 3)
    with pytest.raises(PlanError, match="is JSON, not Avro"):
        AvroSchema.registered(where, "j", 1)
    for version in ("latest", 0, -1, True, None):
        with pytest.raises(PlanError, match="is not a number from 1") as raised:
            AvroSchema.registered(where, "o", version)  # type: ignore[arg-type]
        assert "the latest version may change" in str(raised.value)


@needs_client
def test_schemas_that_import_others(registry: RegistryServer) -> None:
    side = {"type": "enum", "name": "c.Side", "symbols": ["BUY", "SELL"]}
    leg = {"name": "c.Leg", "type": "record", "fields": [{"name": "side", "type": "Side"}]}
    order = {
        "type": "record",
        "name": "Order",
        "namespace": "c",
        "fields": [
            {"name": "first", "type": "Leg"},
            {"name": "legs", "type": {"type": "array", "items": "c.Leg"}},
            {"name": "side", "type": ["null", "Side"], "default": None},
        ],
    }
    registry.add("side", {"schema": json.dumps(side)})
    to_side = {"name": "c.Side", "subject": "side", "version": 1}
    to_leg = {"name": "c.Leg", "subject": "leg", "version": 1}
    registry.add("leg", {"schema": json.dumps(leg), "references": [to_side]})
    registry.add("order", {"schema": json.dumps(order), "references": [to_leg, to_side]})
    reads = AvroDeserializationSchema(registry=quick(registry.url))
    buy, sell = {"side": "BUY"}, {"side": "SELL"}
    assert reads.deserialize(header(3) + b"\x00\x04\x00\x02\x00\x02\x02") == {
        "first": buy, "legs": [buy, sell], "side": "SELL",
    }  # fmt: skip
    whole = AvroSchema.registered(quick(registry.url), "order", 1)
    assert whole.name == "c.Order"
    written = AvroSerializationSchema(whole).serialize({"first": sell, "legs": []})
    assert written == b"\x02\x00\x00"


@needs_client
def test_secrets_are_used_and_not_shown(registry: RegistryServer) -> None:
    registry.user = "ann:secret-pw"
    address = registry.url.replace("http://", "http://ann:secret-pw@")
    where = SchemaRegistry(address)
    assert AvroSerializationSchema(NEW, where, "o").serialize({"id": 1})[:5] == header(1)
    wrong = quick(registry.url, **{"basic.auth.user.info": "bob:secret-pw"})
    with pytest.raises(JobError, match="no entry for") as raised:
        AvroSerializationSchema(NEW, wrong, "o").serialize({"id": 1})
    shown = "".join(traceback.format_exception(raised.value))
    for text in (shown, pickle.dumps(raised.value).decode("latin-1"), repr(where), repr(wrong)):
        assert "secret-pw" not in text
        assert "Ym9iOnNlY3JldC1wdw" not in text  # in base64
    assert repr(where) == f"SchemaRegistry({registry.url!r})"
    late = SchemaRegistry(registry.url, properties)
    assert "secret-pw" not in pickle.dumps(late).decode("latin-1")
    assert AvroSerializationSchema(NEW, late, "o").serialize({"id": 1})[:5] == header(1)


def properties() -> dict[str, str]:
    return {"basic.auth.user.info": ":".join(("ann", "secret" + "-" + "pw"))}


def test_several_addresses_have_one_user() -> None:
    both = SchemaRegistry("https://ann:secret-pw@a:1/, https://ann:secret-pw@b:2")
    assert repr(both) == "SchemaRegistry('https://a:1,https://b:2')"
    assert both.properties() == {"basic.auth.user.info": "ann:secret-pw"}
    with pytest.raises(PlanError, match="different users") as caught:
        SchemaRegistry("https://ann:secret-pw@a:1,https://bob:other-pw@b:2")
    assert "-pw" not in str(caught.value)


def test_a_registrys_address_is_checked() -> None:
    with pytest.raises(PlanError, match="begins with http"):
        SchemaRegistry("localhost:8081")
    with pytest.raises(PlanError, match="a user is in"):
        SchemaRegistry("http://a:b@c", {"basic.auth.user.info": "d:e"})
    with pytest.raises(PlanError, match="is no schema registry"):
        AvroDeserializationSchema(NEW, registry=3)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="a subject needs a registry"):
        AvroSerializationSchema(NEW, subject="x")
    with pytest.raises(PlanError, match="each message names"):
        AvroDeserializationSchema(NEW, registry="http://r", writer_schema=OLD)
    with pytest.raises(PlanError, match="is no subject"):
        AvroSerializationSchema(NEW, "http://r", 3)  # type: ignore[arg-type]


# Other formats with a header


@needs_client
def test_json_with_a_header(registry: RegistryServer) -> None:
    schema = '{"title": "Order", "type": "object"}'
    writes = JsonSerializationSchema(schema, quick(registry.url), RecordNameStrategy())
    data = pickle.loads(pickle.dumps(writes)).serialize({"id": 1})
    assert data == header(1) + b'{"id":1}'
    assert registry.schemas == [{"schema": schema, "schemaType": "JSON"}]
    assert registry.subjects == {"Order": [1]}
    assert JsonDeserializationSchema(registered=True).deserialize(data) == {"id": 1}
    with pytest.raises(DecodeError, match="wrong magic byte"):
        JsonDeserializationSchema(registered=True).deserialize(b'{"id":1}')


def test_no_message_is_no_record() -> None:
    for reads in (
        AvroDeserializationSchema(NEW, registry="http://r"),
        JsonDeserializationSchema(registered=True),
        ProtobufDeserializationSchema(CLASSES["o.Order"], registered=True),
    ):
        assert reads.deserialize(None) is None


def test_any_schema_after_a_header() -> None:
    reads = ConfluentHeaderStripper(SimpleStringSchema())
    assert reads.deserialize(header(7) + b"text") == "text"
    with pytest.raises(DecodeError, match="wrong magic byte"):
        reads.deserialize(b"text")


def _classes() -> dict[str, Any]:
    """The classes of two .proto files, as protoc would generate them."""
    pool = descriptor_pool.DescriptorPool()
    common = descriptor_pb2.FileDescriptorProto(name="common.proto", package="c", syntax="proto3")
    venue = common.message_type.add(name="Venue")
    venue.field.add(name="name", number=1, type=9, label=1)
    pool.Add(common)
    file = descriptor_pb2.FileDescriptorProto(
        name="orders.proto", package="o", syntax="proto3", dependency=["common.proto"]
    )
    order = file.message_type.add(name="Order")
    order.field.add(name="id", number=1, type=3, label=1)
    order.field.add(name="venue", number=2, type=11, type_name=".c.Venue", label=1)
    order.nested_type.add(name="Leg").field.add(name="qty", number=1, type=5, label=1)
    file.message_type.add(name="Other").field.add(name="x", number=1, type=9, label=1)
    pool.Add(file)
    names = ("o.Order", "o.Order.Leg", "o.Other", "c.Venue")
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(name)) for name in names
    }


CLASSES = _classes()


def test_protobuf_without_a_header() -> None:
    order = CLASSES["o.Order"]
    writes = ProtobufSerializationSchema(order)
    data = writes.serialize({"id": 1, "venue": {"name": "x"}})
    assert ProtobufDeserializationSchema(order).deserialize(data) == order(
        id=1, venue=CLASSES["c.Venue"](name="x")
    )
    reads = ProtobufDeserializationSchema(order, dict)
    assert reads.deserialize(data) == {"id": "1", "venue": {"name": "x"}}
    assert writes.serialize(order(id=1)) == b"\x08\x01"
    with pytest.raises(DecodeError, match=r"it is no o\.Order"):
        reads.deserialize(b"\x08")
    with pytest.raises(TypeMismatchError, match="does not fit Order"):
        writes.serialize({"no": 1})
    with pytest.raises(TypeMismatchError, match="a int is no Order"):
        writes.serialize(1)
    with pytest.raises(PlanError, match="no class of Protobuf"):
        ProtobufSerializationSchema(dict)


@needs_client
@pytest.mark.parametrize(
    ("name", "indexes"),
    [("o.Order", b"\x00"), ("o.Other", b"\x02\x02"), ("o.Order.Leg", b"\x04\x00\x00")],
)
def test_protobuf_with_a_header(
    registry: RegistryServer, name: str, indexes: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes = ProtobufSerializationSchema(CLASSES[name], quick(registry.url)).for_topic("t")
    data = writes.serialize({})
    monkeypatch.delattr("headrace.datastream.formats.protobuf._encode_descriptor")  # needed once
    assert writes.serialize({}) == data
    assert registry.subjects == {"common.proto": [1], "t-value": [2]}
    assert data == header(2) + indexes
    assert registry.schemas[1]["references"] == [
        {"name": "common.proto", "subject": "common.proto", "version": 1}
    ]
    reads = ProtobufDeserializationSchema(CLASSES[name], registered=True)
    assert reads.deserialize(data) == CLASSES[name]()
    with pytest.raises(DecodeError, match="truncated"):
        reads.deserialize(data[:5])

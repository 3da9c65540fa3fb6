"""Avro messages: reading what another schema wrote, shapes, defaults, and what does not fit."""

from __future__ import annotations

import datetime
import io
import json
import pickle
import sys
import types
import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any

import cloudpickle
import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common.time import Instant
from headrace.common.types import Row
from headrace.datastream.formats._json.messages import JsonDeserializationSchema
from headrace.datastream.formats.avro import (
    AvroDeserializationSchema,
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSchema,
    AvroSerializationSchema,
    AvroType,
    GenericRecordAvroTypeInfo,
)
from headrace.errors import DecodeError, PlanError, TypeMismatchError, UnsupportedError
from tests.effort import examples

UTC = datetime.UTC
MOMENT = datetime.datetime(2024, 1, 2, 3, 4, 5, 678000, UTC)


def record(*fields: Any, name: str = "R", **more: Any) -> dict[str, Any]:
    """A record's schema of fields (name, type) or (name, type, default)."""
    made = [
        {"name": part[0], "type": part[1], **({"default": part[2]} if len(part) > 2 else {})}
        for part in fields
    ]
    return {"type": "record", "name": name, "fields": made, **more}


def written(schema: Any, value: Any) -> bytes:
    """A value as fastavro writes it."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def read(writer: Any, value: Any, reader: Any, into: Any = dict) -> Any:
    """The value, written by one schema and read by another."""
    schema = AvroDeserializationSchema(
        None if reader is None else AvroSchema(reader), into, writer_schema=AvroSchema(writer)
    )
    return pickle.loads(pickle.dumps(schema)).deserialize(written(writer, value))


SIDE = {"type": "enum", "name": "Side", "symbols": ["BUY", "SELL"]}
STAMP = {"type": "long", "logicalType": "timestamp-millis"}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}


@pytest.mark.parametrize(
    ("writer", "value", "reader", "expected"),
    [
        # fields: removed, added, in another order, renamed
        (record(("a", "int"), ("b", "string")), {"a": 1, "b": "x"}, record(("a", "int")), {"a": 1}),
        (record(("a", "int")), {"a": 1}, record(("b", "int", 7), ("a", "int")), {"b": 7, "a": 1}),
        (
            record(("a", "int"), ("b", "int")),
            {"a": 1, "b": 2},
            record(("b", "int"), ("a", "int")),
            {"b": 2, "a": 1},
        ),
        (
            record(("old", "int")),
            {"old": 1},
            {**record(), "fields": [{"name": "new", "type": "int", "aliases": ["old"]}]},
            {"new": 1},
        ),
        # numbers and texts promoted
        (record(("a", "int")), {"a": 1}, record(("a", "double")), {"a": 1.0}),
        (record(("a", "int")), {"a": 1}, record(("a", STAMP)),
         {"a": datetime.datetime(1970, 1, 1, 0, 0, 0, 1000, UTC)}),
        (record(("a", "string")), {"a": "ä"}, record(("a", "bytes")), {"a": "ä".encode()}),
        (record(("a", "bytes")), {"a": "ä".encode()}, record(("a", "string")), {"a": "ä"}),
        # a field that became optional, and one that no longer is
        (record(("a", "int")), {"a": 1}, record(("a", ["null", "long"])), {"a": 1}),
        (record(("a", ["null", "int"])), {"a": 1}, record(("a", "float")), {"a": 1.0}),
        (record(("a", ["int", "string"])), {"a": "x"}, record(("a", ["string", "bytes"])),
         {"a": "x"}),
        # a symbol that the reader does not know
        (
            record(("a", {"type": "enum", "name": "E", "symbols": ["A", "B"]})),
            {"a": "B"},
            record(("a", {"type": "enum", "name": "E", "symbols": ["A"], "default": "A"})),
            {"a": "A"},
        ),
        # inside of arrays, maps and records
        (
            record(("a", {"type": "array", "items": record(("x", "int"), name="I")})),
            {"a": [{"x": 1}]},
            record(("a", {"type": "array",
                          "items": record(("x", "long"), ("y", "int", 2), name="I")})),
            {"a": [{"x": 1, "y": 2}]},
        ),
        (
            record(("a", {"type": "map", "values": "int"})),
            {"a": {"k": 1}},
            record(("a", {"type": "map", "values": "float"})),
            {"a": {"k": 1.0}},
        ),
        # logical types: the writer's scale, the reader's wish
        (record(("t", "long")), {"t": 5}, record(("t", STAMP)),
         {"t": datetime.datetime(1970, 1, 1, 0, 0, 0, 5000, UTC)}),
        (record(("t", STAMP)), {"t": MOMENT}, record(("t", MICROS)), {"t": MOMENT}),
        (record(("t", STAMP)), {"t": 5}, record(("t", "long")), {"t": 5}),
        # names of records count in unions only
        (record(("a", "int"), name="com.Old"), {"a": 1}, record(("a", "int"), name="New"),
         {"a": 1}),
        # not of a record
        ("int", 5, "double", 5.0),
    ],
)  # fmt: skip
def test_what_one_schema_wrote_another_reads(
    writer: Any, value: Any, reader: Any, expected: Any
) -> None:
    found = read(writer, value, reader)
    assert found == expected
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        assert [type(part) for part in found.values()] == [type(p) for p in expected.values()]


@pytest.mark.parametrize(
    ("node", "default", "expected"),
    [
        ("bytes", "\u00ff", b"\xff"),
        ({"type": "fixed", "name": "F", "size": 2}, "\u0001\u0002", b"\x01\x02"),
        (STAMP, 1000, datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)),
        (MONEY, "\u0096", Decimal("-1.06")),
        ("double", 1, 1.0),
        (["null", "int"], None, None),
        (["int", "null"], 3, 3),
        (record(("x", "int"), ("y", "bytes", "\u0001"), name="I"), {"x": 1}, {"x": 1, "y": b"\1"}),
        ({"type": "array", "items": "long"}, [], []),
        ({"type": "map", "values": "bytes"}, {"k": "\u0002"}, {"k": b"\2"}),
    ],
)
def test_a_default_is_the_value_that_would_have_been_read(
    node: Any, default: Any, expected: Any
) -> None:
    schema = AvroDeserializationSchema(
        AvroSchema(record(("a", "int"), ("d", node, default))),
        writer_schema=AvroSchema(record(("a", "int"))),
    )
    data = written(record(("a", "int")), {"a": 1})
    first, second = schema.deserialize(data), schema.deserialize(data)
    assert first == second == {"a": 1, "d": expected}
    assert type(first["d"]) is type(expected)
    if isinstance(expected, list | dict):
        assert first["d"] is not second["d"]  # a program may change its record


@pytest.mark.parametrize(
    ("writer", "reader", "why"),
    [
        (record(("a", "int")), record(("b", "int")), "'b' was not written, and has no default"),
        (record(("a", "string")), record(("a", "int")), "string cannot be read as int"),
        (record(("a", "long")), record(("a", "int")), "long cannot be read as int"),
        (record(("a", record(("x", "string"), name="I"))),
         record(("a", record(("x", "int"), name="I"))), "field 'a.x'"),
        (record(("a", ["int", "string"])), record(("a", "boolean")), "cannot be read as boolean"),
        (record(("a", "int")), record(("a", ["null", "string"])), "none of the reader's types"),
        (record(("a", {"type": "fixed", "name": "F", "size": 2})),
         record(("a", {"type": "fixed", "name": "F", "size": 3})), "2 bytes"),
    ],
)  # fmt: skip
def test_schemas_that_do_not_match_are_found_when_the_program_is_built(
    writer: Any, reader: Any, why: str
) -> None:
    with pytest.raises(PlanError, match=why):
        AvroDeserializationSchema(AvroSchema(reader), writer_schema=AvroSchema(writer))


def test_a_value_without_a_place_is_a_bad_record() -> None:
    nullable, needed = record(("a", ["null", "int"])), record(("a", "int"))
    assert read(nullable, {"a": 1}, needed) == {"a": 1}
    with pytest.raises(DecodeError, match="null cannot be read as int"):
        read(nullable, {"a": None}, needed)
    symbols = record(("a", SIDE))
    fewer = record(("a", {**SIDE, "symbols": ["BUY"]}))
    with pytest.raises(DecodeError, match="'SELL' is no symbol"):
        read(symbols, {"a": "SELL"}, fewer)


def test_a_union_of_records_goes_by_the_name_that_was_written() -> None:
    made, dropped = record(("id", "int"), name="Made"), record(("id", "int"), name="Dropped")
    newer = [
        {
            **dropped,
            "fields": [*dropped["fields"], {"name": "why", "type": "string", "default": ""}],
        },
        made,
    ]
    wide = record(("e", [made, dropped]))
    assert read(wide, {"e": ("Made", {"id": 1})}, record(("e", newer))) == {"e": {"id": 1}}
    assert read(wide, {"e": ("Dropped", {"id": 1})}, record(("e", newer))) == {
        "e": {"id": 1, "why": ""}
    }
    assert read([made, dropped], ("Dropped", {"id": 1}), newer) == {"id": 1, "why": ""}
    # dropped with its field
    assert read(record(("e", [made, dropped]), ("x", "int")),
                {"e": ("Made", {"id": 1}), "x": 2}, record(("x", "int"))) == {"x": 2}  # fmt: skip


def test_types_of_a_union_that_look_alike_are_refused_where_it_matters() -> None:
    numbers = record(("n", ["int", "long"]))
    assert read(numbers, {"n": 1 << 40}, record(("n", "double"))) == {"n": float(1 << 40)}
    with pytest.raises(PlanError, match="look alike"):
        AvroDeserializationSchema(
            AvroSchema(record(("n", ["int", "string"]))), writer_schema=AvroSchema(numbers)
        )


def test_a_named_type_may_be_used_again_and_read_as_two() -> None:
    inner = record(("x", "int"), name="I")
    writer = record(
        ("a", inner), ("b", "I"), ("c", ["null", "I"]), ("d", {"type": "array", "items": "I"})
    )
    one, other = record(("x", "long"), name="One"), record(("y", "int", 3), name="Other")
    value = {"a": {"x": 1}, "b": {"x": 2}, "c": {"x": 3}, "d": [{"x": 4}]}
    reader = record(("d", {"type": "array", "items": other}), ("b", one), ("a", "Other"))
    assert read(writer, value, reader) == {"d": [{"y": 3}], "b": {"x": 2}, "a": {"y": 3}}
    assert read(writer, value, writer) == value
    assert read(writer, value, writer, Row).c == Row(x=3)
    # a type of a union that has no place, and defines what is used after it
    outer = record(("i", inner), ("z", "string"), name="O")
    wide = record(("u", ["null", outer]), ("b", "I"))
    narrow = record(("u", ["null", record(("i", inner), ("z", "int"), name="O")]), ("b", "I"))
    assert read(wide, {"u": None, "b": {"x": 5}}, narrow) == {"u": None, "b": {"x": 5}}
    with pytest.raises(DecodeError, match="string cannot be read as int"):
        read(wide, {"u": {"i": {"x": 1}, "z": "s"}, "b": {"x": 5}}, narrow)


def test_a_record_may_hold_itself() -> None:
    tree = record(("v", "int"), ("next", ["null", "Tree"]), name="Tree")
    newer = record(("v", "long"), ("next", ["null", "Tree"]), ("w", "int", 0), name="Tree")
    value = {"v": 1, "next": {"v": 2, "next": None}}
    assert read(tree, value, tree) == value
    expected = {"v": 1, "next": {"v": 2, "next": None, "w": 0}, "w": 0}
    assert read(tree, value, newer) == expected
    again = AvroSerializationSchema(AvroSchema(tree)).serialize(value)
    assert again == written(tree, value)


class Side(Enum):
    BUY = 1
    SELL = 2


@dataclass(frozen=True)
class Leg:
    venue: str
    price: Annotated[Decimal, AvroType.decimal(10, 2)]


@dataclass
class Order:
    id: int
    at: Annotated[Decimal, AvroType("string")] = Decimal(1)


@dataclass
class Priced:
    id: int
    price: Annotated[Decimal, AvroType.decimal(10, 2)] = Decimal("1.25")
    fee: Decimal = Decimal("-0.5")
    day: datetime.date | None = datetime.date(2024, 1, 2)
    at: datetime.datetime = MOMENT
    seen: Instant = Instant(3, 4000)  # noqa: RUF009
    opens: datetime.time = datetime.time(9, 30)
    key: uuid.UUID = uuid.UUID(int=5)  # noqa: RUF009
    steps: list[Decimal] = field(default_factory=lambda: [Decimal("0.01")])


def test_defaults_of_logical_types_are_read_where_nothing_was_written() -> None:
    reads = AvroDeserializationSchema(Priced, writer_schema=AvroSchema(record(("id", "int"))))
    first = reads.deserialize(b"\x02")
    assert first == Priced(1)
    assert first.steps is not reads.deserialize(b"\x02").steps
    assert AvroDeserializationSchema(Priced).deserialize(
        AvroSerializationSchema(Priced).serialize(Priced(1))
    ) == Priced(1)

    @dataclass
    class Rounded:
        price: Annotated[Decimal, AvroType.decimal(4, 2)] = Decimal("1.255")

    with pytest.raises(PlanError, match=r"Decimal\('1.255'\) cannot be represented"):
        AvroSchema.of_dataclass(Rounded)


def test_dataclasses_have_schemas_and_come_back() -> None:
    @dataclass
    class Point:
        x: int
        y: float | None = None
        at: str | None = "here"

    assert json.loads(AvroSchema.of_dataclass(Point, "com.acme").text) == {
        "type": "record",
        "name": "Point",
        "namespace": "com.acme",
        "fields": [
            {"name": "x", "type": "long"},
            {"name": "y", "type": ["null", "double"], "default": None},
            {"name": "at", "type": ["string", "null"], "default": "here"},
        ],
    }


def test_a_default_that_has_no_form_in_a_schema_is_refused() -> None:
    with pytest.raises(PlanError, match="cannot be represented in an Avro schema"):
        AvroSchema.of_dataclass(Order)


@dataclass
class Trade:
    id: int
    side: Side
    legs: list[Leg]
    sent: datetime.datetime
    seen: Instant
    day: datetime.date
    key: uuid.UUID
    tags: tuple[str, ...] = ()
    limit: float | None = None
    count: Annotated[int, AvroType("int")] = 1
    marks: dict[str, int] = field(default_factory=dict)


TRADE = Trade(
    1, Side.SELL, [Leg("x", Decimal("1.25"))], MOMENT, Instant(3, 4000), datetime.date(2024, 1, 2),
    uuid.UUID(int=5), ("a", "b"), None, 2, {"k": 1},
)  # fmt: skip


def test_objects_come_back_equal() -> None:
    writes = pickle.loads(pickle.dumps(AvroSerializationSchema(Trade)))
    reads = pickle.loads(pickle.dumps(AvroDeserializationSchema(Trade)))
    data = writes.serialize(TRADE)
    found = reads.deserialize(data)
    assert found == TRADE
    assert type(found.tags) is tuple
    assert type(found.legs[0]) is Leg
    assert AvroDeserializationSchema(AvroSchema.of_dataclass(Trade)).deserialize(data)["legs"] == [
        {"venue": "x", "price": Decimal("1.25")}
    ]


def test_a_class_takes_what_it_knows_of_a_larger_schema() -> None:
    @dataclass
    class Part:
        b: str
        z: int = 9

    schema = AvroSchema(record(("a", "int"), ("b", "string")))
    data = written(json.loads(schema.text), {"a": 1, "b": "x"})
    assert AvroDeserializationSchema(schema, Part).deserialize(data) == Part("x")
    assert AvroDeserializationSchema(schema, Row).deserialize(data) == Row(a=1, b="x")

    @dataclass
    class Times:
        t: int
        u: datetime.datetime

    stamps = record(("t", STAMP), ("u", STAMP))
    times = AvroDeserializationSchema(AvroSchema(stamps), Times)
    assert times.deserialize(written(stamps, {"t": 5, "u": MOMENT})) == Times(5, MOMENT)

    @dataclass
    class More:
        c: int

    with pytest.raises(PlanError, match="More needs 'c'"):
        AvroDeserializationSchema(schema, More)


SMALL = record(("id", "long"), ("n", "int"), ("s", ["null", "string"]), ("b", "bytes", "\u0001"))


@pytest.mark.parametrize(
    "value",
    [
        {"id": 1, "n": 2, "s": "x", "b": b"\1"},
        {"id": 1, "n": 2, "s": "x"},
        Row(s="x", n=2, id=1, b=b"\1"),
        Row(1, 2, "x", b"\1"),
        (1, 2, "x", b"\1"),
    ],
)
def test_records_are_written_from_dicts_rows_and_tuples(value: Any) -> None:
    expected = written(SMALL, {"id": 1, "n": 2, "s": "x", "b": b"\1"})
    assert AvroSerializationSchema(AvroSchema(SMALL)).serialize(value) == expected


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"id": 1.5, "n": 2}, "float"),
        ({"id": 1, "n": 1 << 31}, "more than 32 bits"),
        ({"id": 1 << 63, "n": 1}, "more than 64 bits"),
        ({"n": 1}, "no field 'id'"),
        ({"id": 1, "n": 2, "s": 3}, "do not match"),
        ((1, 2), "2 values for 4 fields"),
        ("text", "a str is no record"),
    ],
)
def test_a_record_that_does_not_fit_says_so(value: Any, why: str) -> None:
    schema = AvroSerializationSchema(AvroSchema(SMALL))
    with pytest.raises(TypeMismatchError, match=why):
        schema.serialize(value)


def test_scalars_that_fastavro_would_change_are_checked() -> None:
    flags = AvroSerializationSchema(AvroSchema(record(("f", "boolean"))))
    with pytest.raises(TypeMismatchError, match="'false' is no boolean"):
        flags.serialize({"f": "false"})
    stamps = AvroSerializationSchema(AvroSchema(record(("t", MICROS))))
    naive = MOMENT.replace(tzinfo=None)
    assert stamps.serialize({"t": naive}) == stamps.serialize({"t": MOMENT})
    assert stamps.serialize({"t": MOMENT}) == written(record(("t", "long")), {
        "t": int(MOMENT.timestamp() * 1000) * 1000
    })  # fmt: skip


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it is truncated"),
        (b"\x02", "it is truncated"),
        (b"\x02\x04\x02\x10ab", "it is truncated"),
        (b"\x02\x04\x02\x02\xff\x00", "does not match the schema: a string is not UTF-8"),
        (b"\x02\x04\x08\x02x\x00", "does not match the schema"),
        (b"\x02\x04\x00\x00rest", "does not match the schema: 4 bytes are left"),
    ],
)
def test_bytes_that_hold_no_record_say_why(data: bytes, why: str) -> None:
    schema = AvroDeserializationSchema(AvroSchema(SMALL))
    with pytest.raises(DecodeError, match=why) as raised:
        schema.deserialize(data)
    assert "\n" not in raised.value.message


@settings(max_examples=examples(12), deadline=None)
@given(st.binary(max_size=12))
def test_any_bytes_give_a_record_or_a_decode_error(data: bytes) -> None:
    newer = record(("id", "double"), ("t", STAMP, 0), ("s", ["null", "string"]))
    schema = AvroDeserializationSchema(AvroSchema(newer), writer_schema=AvroSchema(SMALL))
    try:
        found = schema.deserialize(data)
    except DecodeError:
        return
    assert list(found) == ["id", "t", "s"]


# Evolution, against fastavro's own resolution, where that follows the specification.

NAMES = "abcde"
PRIMITIVES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "int": st.integers(-(1 << 31), (1 << 31) - 1),
    "long": st.integers(-(1 << 63), (1 << 63) - 1),
    "double": st.floats(allow_nan=False),
    "string": st.text(max_size=3),
    "bytes": st.binary(max_size=3),
}
WIDER = {
    "int": ["int", "long", "double"],
    "long": ["long", "double"],
    "string": ["string", "bytes"],
}
PLAIN_DEFAULTS = {"boolean": True, "int": 3, "long": 4, "double": 2.5, "string": "d"}


@st.composite
def evolutions(draw: st.DrawFn, depth: int = 1) -> tuple[Any, Any, Any]:
    """A writer's schema, a reader's, and a value of the first."""
    writer, reader, value = [], [], {}
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=4)):
        kind = draw(st.sampled_from([*PRIMITIVES, *(["record", "array"] if depth else [])]))
        if kind in PRIMITIVES:
            w: Any = kind
            r: Any = draw(st.sampled_from(WIDER.get(kind, [kind])))
            held = draw(PRIMITIVES[kind])
        else:
            w, r, held = draw(evolutions(depth=0))
            w, r = {**w, "name": f"N{name}"}, {**r, "name": f"N{name}"}
            if kind == "array":
                w, r, held = (
                    {"type": "array", "items": w},
                    {"type": "array", "items": r},
                    [held] * 2,
                )
        if draw(st.booleans()):
            w, r = ["null", w], ["null", r]
            held = draw(st.sampled_from([held, None]))
        writer.append({"name": name, "type": w})
        value[name] = held
        if draw(st.booleans()):
            reader.append({"name": name, "type": r})
    for name in draw(st.lists(st.sampled_from("xyz"), unique=True)):
        kind = draw(st.sampled_from(list(PLAIN_DEFAULTS)))
        reader.append({"name": name, "type": kind, "default": PLAIN_DEFAULTS[kind]})
    reader = draw(st.permutations(reader))
    named = {"type": "record", "name": "R"}
    return {**named, "fields": writer}, {**named, "fields": list(reader)}, value


@settings(max_examples=examples(12), deadline=None)
@given(evolutions())
def test_evolution_gives_what_fastavro_gives(case: tuple[Any, Any, Any]) -> None:
    writer, reader, value = case
    data = written(writer, value)
    expected = fastavro.schemaless_reader(
        io.BytesIO(data), fastavro.parse_schema(writer), fastavro.parse_schema(reader)
    )
    found = read(writer, value, reader)
    assert found == expected
    rows = read(writer, value, reader, Row)
    assert rows.as_dict(recursive=True) == expected
    # and what was read is written by the reader's schema as fastavro would
    assert AvroSerializationSchema(AvroSchema(reader)).serialize(found) == written(reader, found)


def test_what_is_no_schema_is_refused() -> None:
    for wrong in ('{"type": "record"}', "{", '{"type": "no"}', '["int", '):
        with pytest.raises(PlanError, match="no Avro schema"):
            AvroSchema.parse_string(wrong)
    with pytest.raises(PlanError, match="is no Avro schema"):
        AvroDeserializationSchema(3)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="needs the schema"):
        AvroDeserializationSchema()
    with pytest.raises(PlanError, match="cannot become"):
        AvroDeserializationSchema(AvroSchema("int"), list)
    assert AvroSchema('{ "type" : "int" }') == AvroSchema({"type": "int"})


def test_a_schema_comes_from_a_file(tmp_path: Any) -> None:
    (tmp_path / "a.avsc").write_text(json.dumps(SMALL))
    schema = AvroSchema.parse_file(str(tmp_path / "a.avsc"))
    assert schema == AvroSchema(SMALL)
    assert schema.name == "R"
    assert json.loads(str(schema)) == SMALL


# PyFlink's row schemas

ROWS = record(
    ("id", "long"), ("side", SIDE), ("raw", "bytes"), ("at", MICROS),
    ("day", {"type": "int", "logicalType": "date"}),
    ("clock", {"type": "long", "logicalType": "time-micros"}), ("price", MONEY),
    ("inner", record(("x", "int"), name="I")), ("many", {"type": "array", "items": "int"}),
    ("by", {"type": "map", "values": "long"}), ("note", ["null", "string"]),
)  # fmt: skip


def test_rows_have_the_values_that_flink_gives_them() -> None:
    value = {
        "id": 1, "side": "BUY", "raw": b"\1", "at": MOMENT, "day": datetime.date(2024, 1, 2),
        "clock": datetime.time(1, 2, 3, 4567), "price": Decimal("1.50"), "inner": {"x": 1},
        "many": [1, 2], "by": {"k": 3}, "note": None,
    }  # fmt: skip
    schema = AvroRowDeserializationSchema(avro_schema_string=json.dumps(ROWS))
    schema = pickle.loads(pickle.dumps(schema))
    data = written(ROWS, value)
    row = schema.deserialize(data)
    assert row == Row(
        id=1, side="BUY", raw=b"\1", at=MOMENT.replace(tzinfo=None), day=datetime.date(2024, 1, 2),
        clock=datetime.time(1, 2, 3, 4000), price=Decimal("1.50"), inner=Row(x=1), many=[1, 2],
        by={"k": 3}, note=None,
    )  # fmt: skip
    assert schema.get_produced_type().coerce(row) == row
    assert str(schema.get_produced_type()).count("SQL_TIMESTAMP") == 1
    # Flink does not look at what comes after the record
    assert schema.deserialize(data + b"more") == row
    writes = AvroRowSerializationSchema(avro_schema_string=json.dumps(ROWS))
    again = pickle.loads(pickle.dumps(writes)).serialize(row)
    assert schema.deserialize(again) == row
    with pytest.raises(DecodeError, match="truncated"):
        schema.deserialize(data[:-3])


def test_row_schemas_refuse_what_they_cannot_do() -> None:
    for kind in (AvroRowDeserializationSchema, AvroRowSerializationSchema):
        with pytest.raises(TypeError, match="needs avro_schema_string"):
            kind()
        with pytest.raises(UnsupportedError, match=r"com\.acme\.Order"):
            kind(record_class="com.acme.Order")
    with pytest.raises(PlanError, match="record's schema"):
        AvroRowDeserializationSchema(avro_schema_string='"int"')
    tree = record(("next", ["null", "Tree"]), name="Tree")
    with pytest.raises(PlanError, match="is recursive"):
        AvroRowDeserializationSchema(avro_schema_string=json.dumps(tree))


def test_generic_records_are_what_their_bytes_hold() -> None:
    declared = GenericRecordAvroTypeInfo(AvroSchema(SMALL))
    assert declared.coerce({"id": 1, "n": 2}) == {"id": 1, "n": 2, "s": None, "b": b"\1"}
    assert declared == pickle.loads(pickle.dumps(declared))
    assert declared.format({"id": 1}) == '{"id": 1}'
    keyed = record(("key", {"type": "string", "logicalType": "uuid"}))
    text = str(uuid.UUID(int=1))  # as in PyFlink
    assert GenericRecordAvroTypeInfo(AvroSchema(keyed)).coerce({"key": text}) == {"key": text}
    assert read(keyed, {"key": text}, keyed) == {"key": uuid.UUID(int=1)}
    with pytest.raises(TypeMismatchError, match="does not fit"):
        declared.coerce({"id": "x", "n": 1})


def test_a_class_of_the_main_module_is_known_in_another_process() -> None:
    """There it is another class, and the names in its annotations mean nothing."""
    module = types.ModuleType("__program__")
    sys.modules["__program__"] = module
    try:
        exec(
            "from __future__ import annotations\n"
            "from dataclasses import dataclass\n"
            "from decimal import Decimal as Amount\n"
            "@dataclass\n"
            "class Part:\n"
            "    price: Amount\n"
            "@dataclass\n"
            "class Whole:\n"
            "    parts: list[Part]\n",
            module.__dict__,
        )
        cloudpickle.register_pickle_by_value(module)
        avro = AvroDeserializationSchema(module.Whole)
        data = AvroSerializationSchema(module.Whole).serialize(
            module.Whole([module.Part(Decimal("1.5"))])
        )
        sent = cloudpickle.dumps((avro, JsonDeserializationSchema(module.Whole)))
        cloudpickle.unregister_pickle_by_value(module)
    finally:
        del sys.modules["__program__"]
    avro, plain = pickle.loads(sent)
    assert avro.deserialize(data).parts[0].price == Decimal("1.5")
    assert plain.deserialize(b'{"parts": [{"price": "1.5"}]}').parts[0].price == Decimal("1.5")

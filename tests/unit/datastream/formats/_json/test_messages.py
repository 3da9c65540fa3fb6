"""Messages of JSON: the same with orjson and without, and objects of dataclasses."""

from __future__ import annotations

import datetime
import json
import pickle
import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common.time import Instant
from headrace.common.types import Row
from headrace.datastream.formats._json import messages as json_messages
from headrace.datastream.formats._json.messages import (
    JsonDeserializationSchema,
    JsonSerializationSchema,
    parse_json,
    write_json,
)
from headrace.datastream.formats._json.rows import JsonLinesEncoder
from headrace.datastream.formats._lines import json_parser
from headrace.errors import DecodeError, PlanError, TypeMismatchError
from tests.effort import examples

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda part: (
        st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=2), part, max_size=3)
    ),
    max_leaves=6,
)


def outcome(function: Any, value: Any) -> Any:
    try:
        return repr(function(value))
    except (ValueError, RecursionError, TypeMismatchError) as error:
        return type(error)


@settings(max_examples=examples(40), deadline=None)
@given(JSON)
def test_it_does_not_matter_whether_orjson_is_there(value: Any) -> None:
    # exponents are written in two ways: 1e-08 and 1e-8
    line = outcome(lambda v: json.loads(JsonLinesEncoder().encode(v)), value)
    assert outcome(lambda v: json.loads(write_json(v)), value) == line
    text = json.dumps(value)
    slow = json_parser(False)
    assert outcome(parse_json, text.encode()) == outcome(slow, text)


@pytest.mark.parametrize(
    "text",
    ["123456789012345678901234567890", "-9223372036854775809", "1E400", '"\\ud800"', "NaN", "[1,]",
     '{"a": 1, "a": 2}', "", "\ufeff{}", "-0", "[" * 2000 + "]" * 2000],
)  # fmt: skip
def test_texts_that_parsers_differ_on(text: str) -> None:
    def slow(text: str) -> Any:
        return json_parser(False)(text)

    assert outcome(lambda t: parse_json(t.encode()), text) == outcome(slow, text)


def test_records_are_written_as_lines_are() -> None:
    value = {
        "d": Decimal("1E+3"), "t": datetime.datetime(2024, 1, 2), "b": b"\xff", "e": Kind.A,
        "r": Row(x=1), "l": Leg("v"), "n": float("1e300"), "none": None, "i": Instant(1, 0),
        "u": uuid.UUID(int=1), "big": 1 << 70, "s": "\ud800",
    }  # fmt: skip
    assert write_json(value) == JsonLinesEncoder().encode(value)[:-1]
    for wrong in ({"x": float("nan")}, {"x": object()}, {"x": Decimal("NaN")}):
        with pytest.raises(TypeMismatchError):
            JsonSerializationSchema().serialize(wrong)


class Kind(Enum):
    A = "a"


@dataclass
class Leg:
    venue: str


@dataclass
class Order:
    id: int
    price: Decimal
    at: datetime.datetime
    kind: Kind
    legs: list[Leg]
    raw: bytes = b""
    seen: Instant | None = None
    weight: float = 1.0
    pair: tuple[int, str] = (0, "")
    parent: Order | None = None
    by: dict[str, Leg] = field(default_factory=dict)


ORDER = Order(
    1, Decimal("1.50"), datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC), Kind.A, [Leg("x")],
    b"\1", Instant(1, 0), 2.0, (1, "a"),
    Order(2, Decimal(1), datetime.datetime(2024, 1, 2), Kind.A, []), {"k": Leg("y")},
)  # fmt: skip


def test_objects_come_back_equal() -> None:
    writes = pickle.loads(pickle.dumps(JsonSerializationSchema()))
    reads = pickle.loads(pickle.dumps(JsonDeserializationSchema(Order)))
    assert reads.deserialize(writes.serialize(ORDER)) == ORDER


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "it is not JSON"),
        ("[1]", "a JSON object was expected, not list"),
        ('{"venue": 1}', "Leg.venue: 1: a string was expected"),
        ("{}", r"Leg needs more fields \(venue\)"),
    ],
)
def test_what_is_no_record_says_why(text: str, why: str) -> None:
    with pytest.raises(DecodeError, match=why) as raised:
        JsonDeserializationSchema(Leg).deserialize(text.encode())
    assert "\n" not in raised.value.message
    assert JsonDeserializationSchema(Leg).deserialize(b'{"venue": "x", "more": 1}') == Leg("x")


def test_classes_that_json_cannot_fill() -> None:
    @dataclass
    class Wrong:
        x: complex

    with pytest.raises(PlanError, match="JSON has no form for"):
        JsonDeserializationSchema(Wrong)
    with pytest.raises(PlanError, match="pass a dataclass"):
        JsonDeserializationSchema(int)
    with pytest.raises(PlanError, match="needs the JSON schema"):
        JsonSerializationSchema(registry="http://r")
    assert json_messages._ORJSON


@pytest.mark.parametrize(
    "last", ['{"n": 18446744073709551616}', '{"n": 1e3}', '{"t": "0000000000000000000"}']
)
def test_several_messages_are_read_as_one_by_one(last: str) -> None:
    schema = JsonDeserializationSchema()
    messages = [b'{"a": 1}', b'{"b": [1, {"c": null}]}', last.encode()]
    found = schema.deserialize_all(messages)
    assert repr(found) == repr([schema.deserialize(message) for message in messages])
    with pytest.raises(DecodeError):
        schema.deserialize_all([*messages, b"[1]"])


def test_several_messages_are_read_by_the_method_that_a_program_overrides() -> None:
    class Named(JsonDeserializationSchema):
        def deserialize(self, data: bytes | None) -> Any:
            return "own", super().deserialize(data)

    assert Named().deserialize_all([b"{}", b"{}"]) == [("own", {})] * 2

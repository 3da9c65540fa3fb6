"""Messages of JSON: dicts, and objects of dataclasses."""

from __future__ import annotations

import datetime
import pickle
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest

from headrace.common.time import Instant
from headrace.datastream.formats._json.messages import (
    JsonDeserializationSchema,
    JsonSerializationSchema,
)
from headrace.errors import DecodeError, PlanError


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

    with pytest.raises(PlanError, match="JSON cannot represent"):
        JsonDeserializationSchema(Wrong)
    with pytest.raises(PlanError, match="pass a dataclass"):
        JsonDeserializationSchema(int)
    with pytest.raises(PlanError, match="needs the JSON schema"):
        JsonSerializationSchema(registry="http://r")


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

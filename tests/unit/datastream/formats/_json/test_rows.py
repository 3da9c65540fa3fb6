"""JSON: rows of a declared type from and to bytes, and lines of anything."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common.time import Instant
from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.datastream.formats._json.rows import (
    JsonLinesEncoder,
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from headrace.errors import DecodeError, PlanError, TypeMismatchError

INNER = Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.STRING()])
FIELDS: dict[str, tuple[Any, Any, str]] = {
    "string": (Types.STRING(), 'ä"\n', '"ä\\"\\n"'),
    "char": (Types.CHAR(), "c", '"c"'),
    "boolean": (Types.BOOLEAN(), True, "true"),
    "byte": (Types.BYTE(), -128, "-128"),
    "long": (Types.LONG(), 1 << 62, "4611686018427387904"),
    "big": (Types.BIG_INT(), 1 << 70, "1180591620717411303424"),
    "double": (Types.DOUBLE(), 0.1, "0.1"),
    "float": (Types.FLOAT(), 0.5, "0.5"),
    "decimal": (Types.BIG_DEC(), Decimal("1234567890123456789.10"), "1234567890123456789.10"),
    "instant": (Types.INSTANT(), Instant(1, 500_000_000), '"1970-01-01T00:00:01.500Z"'),
    "date": (Types.SQL_DATE(), date(2024, 1, 2), '"2024-01-02"'),
    "time": (Types.SQL_TIME(), time(1, 2, 3), '"01:02:03"'),
    "timestamp": (Types.SQL_TIMESTAMP(), datetime(2024, 1, 2, 3, 4, 5), '"2024-01-02T03:04:05Z"'),
    "bytes": (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x00\xff", '"AP8="'),
    "array": (Types.OBJECT_ARRAY(Types.INT()), [1, None, 2], "[1,null,2]"),
    "list": (Types.LIST(INNER), [Row(x=1, y="a")], '[{"x":1,"y":"a"}]'),
    "map": (Types.MAP(Types.STRING(), Types.BIG_DEC()), {"k": Decimal("1.0")}, '{"k":1.0}'),
    "int_map": (Types.MAP(Types.INT(), Types.INT()), {1: 2}, '{"1":2}'),
    "tuple": (Types.TUPLE([Types.INT(), Types.STRING()]), (1, "a"), '[1,"a"]'),
    "row": (INNER, Row(x=1, y=None), '{"x":1,"y":null}'),
    "any": (Types.PICKLED_BYTE_ARRAY(), {"a": [1, None]}, '{"a":[1,null]}'),
    "null": (Types.LONG(), None, "null"),
}
ROW = Types.ROW_NAMED(list(FIELDS), [kind for kind, _, _ in FIELDS.values()])


def reader(**options: bool) -> JsonRowDeserializationSchema:
    builder = JsonRowDeserializationSchema.builder().type_info(ROW)
    for name, chosen in options.items():
        if chosen:
            getattr(builder, name)()
    made: JsonRowDeserializationSchema = pickle.loads(pickle.dumps(builder.build()))
    return made


def test_every_type_there_and_back() -> None:
    row = Row(**{name: value for name, (_, value, _) in FIELDS.items()})
    write = JsonRowSerializationSchema.builder().with_type_info(ROW).build()
    text = pickle.loads(pickle.dumps(write)).serialize(row).decode()
    assert text == "{" + ",".join(f'"{name}":{part}' for name, (_, _, part) in FIELDS.items()) + "}"
    assert reader().deserialize(text.encode()) == row
    assert reader().get_produced_type() == ROW


@given(st.dictionaries(st.sampled_from(["double", "string", "big"]), st.none(), max_size=3))
def test_missing_fields_are_none(present: dict[str, None]) -> None:
    row = reader().deserialize(json.dumps(present).encode())
    assert set(row) == {None}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "Expecting"),
        ("[]", "object was expected"),
        ('{"long": "x"}', "invalid literal|no LONG"),
        ('{"long": 1.5}', "no whole number"),
        ('{"long": 9223372036854775808}', "LONG"),
        ('{"boolean": 1}', "no BOOLEAN"),
        ('{"row": {"x": {}}}', "no INT"),
        ('{"row": 5}', "no ROW"),
        ('{"array": 5}', "no OBJECT_ARRAY"),
        ('{"tuple": [1]}', "shorter"),
        ('{"decimal": "NaN"}', "no decimal"),
        ('{"date": "yesterday"}', "isoformat"),
        ('{"instant": "2024-01-01T00:00:00"}', "no offset"),
        ('{"bytes": "%"}', "base64|padding|discouraged|non-base64|Only"),
        ('{"double": NaN}', "not JSON"),
    ],
)
def test_what_does_not_fit_cannot_be_decoded(text: str, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        reader().deserialize(text.encode())
    assert reader(ignore_parse_errors=True).deserialize(text.encode()) is None


def test_scalars_are_read_from_their_text() -> None:
    row = reader().deserialize(b'{"long": "12", "double": "1.5", "string": 1.0, "boolean": "TRUE"}')
    assert (row.long, row.double, row.string, row.boolean) == (12, 1.5, "1.0", True)


def test_timestamps_with_an_offset_are_in_utc() -> None:
    row = reader().deserialize(b'{"timestamp": "2024-01-02T03:04:05+02:00"}')
    assert row.timestamp == datetime(2024, 1, 2, 1, 4, 5)


def test_a_missing_field_can_be_an_error() -> None:
    with pytest.raises(DecodeError, match="'string' is missing"):
        reader(fail_on_missing_field=True).deserialize(b"{}")


def test_builders_need_a_type() -> None:
    builder = JsonRowDeserializationSchema.builder
    for wrong in (
        lambda: builder().build(),
        lambda: builder().type_info(Types.INT()),
        lambda: builder().type_info(ROW).fail_on_missing_field().ignore_parse_errors().build(),
        lambda: builder().json_schema('{"type": "object", "properties": {"a": {"$ref": "#"}}}'),
        lambda: JsonRowSerializationSchema.builder().build(),
    ):
        with pytest.raises(PlanError):
            wrong()


def test_json_schema() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": ["integer", "null"]},
            "b": {"type": "array", "items": {"type": "number"}},
            "c": {"type": "string", "format": "date"},
            "d": {"type": "object", "properties": {"e": {"type": "boolean"}}},
        },
    }
    made = JsonRowDeserializationSchema.builder().json_schema(json.dumps(schema)).build()
    row = made.deserialize(b'{"a": 1, "b": [0.10], "c": "2024-01-02", "d": {"e": false}}')
    assert row == Row(a=1, b=[Decimal("0.10")], c=date(2024, 1, 2), d=Row(e=False))


class Side(Enum):
    BUY = "B"


@dataclass
class Order:
    id: int
    price: Decimal
    side: Side


class Pair(NamedTuple):
    a: int
    b: int


def test_lines_of_anything() -> None:
    values: list[Any] = [
        {"o": Order(1, Decimal("1E+3"), Side.BUY), "r": Row(a=1), "u": Row(1, "ä")},
        Pair(1, 2),
        [datetime(2024, 1, 2, tzinfo=UTC), date(2024, 1, 2), time(1), b"\xff", Instant(1, 0)],
        None,
        "\ud800",
    ]
    lines = JsonLinesEncoder().encode_all(values).decode().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"o": {"id": 1, "price": "1000", "side": "B"}, "r": {"a": 1}, "u": [1, "ä"]},
        [1, 2],
        ["2024-01-02T00:00:00+00:00", "2024-01-02", "01:00:00", "/w==", 1000],
        None,
        "\ud800",
    ]
    assert JsonLinesEncoder().encode({"ä": 1}) == '{"ä":1}\n'.encode()


@pytest.mark.parametrize("value", [object(), float("nan"), Decimal("NaN"), {1, 2}, {(1,): 2}])
def test_what_has_no_form_in_json(value: Any) -> None:
    with pytest.raises(TypeMismatchError, match="JSON"):
        JsonLinesEncoder().encode({"a": value})

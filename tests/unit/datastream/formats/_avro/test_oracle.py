"""Every kind of type in both directions, against fastavro: dicts, dataclasses and rows."""

from __future__ import annotations

import datetime
import io
from dataclasses import fields, is_dataclass, make_dataclass
from decimal import Decimal
from itertools import count
from typing import Any

import fastavro
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common.types import Row
from headrace.datastream.formats.avro import (
    AvroDeserializationSchema,
    AvroSchema,
    AvroSerializationSchema,
)
from tests.effort import examples

UTC = datetime.UTC
FIRST, LAST = datetime.datetime(1901, 1, 1), datetime.datetime(2200, 1, 1)
MOMENTS = st.datetimes(FIRST, LAST, timezones=st.just(UTC))
TIMES = st.times()


def whole_ms(moment: Any) -> Any:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def logical(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


MONEY = logical("bytes", "decimal", precision=12, scale=2)
EDGES = (0, -1, 63, 64, -64, -65, 8191, 8192, -8192, -8193, 1 << 20, 1 << 27, 1 << 28, 1 << 41)
LEAVES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    ("null", st.none()),
    ("boolean", st.booleans()),
    ("int", st.integers(-(1 << 31), (1 << 31) - 1) | st.sampled_from(EDGES[:-1])),
    ("long", st.integers(-(1 << 63), (1 << 63) - 1) | st.sampled_from(EDGES)),
    ("float", st.floats(width=32, allow_nan=False)),
    ("double", st.floats(allow_nan=False)),
    ("string", st.text(max_size=3) | st.just("x" * 9000)),
    ("bytes", st.binary(max_size=3)),
    (MONEY, st.integers(-(10**12) + 1, 10**12 - 1).map(lambda cents: Decimal(cents) / 100)),
    (logical("int", "date"), st.dates(FIRST.date(), LAST.date())),
    (logical("int", "time-millis"), TIMES.map(whole_ms)),
    (logical("long", "time-micros"), TIMES),
    (logical("long", "timestamp-millis"), MOMENTS.map(whole_ms)),
    (logical("long", "timestamp-micros"), MOMENTS),
    (logical("long", "local-timestamp-micros"), st.datetimes(FIRST, LAST)),
    (logical("string", "uuid"), st.uuids()),
]
FORMS = ["leaf", "leaf", "record", "array", "map", "nullable", "named", "mixed"]
MIXED = ["null", "long", "string", "boolean", "double", "bytes"]
OF_MIXED = st.one_of(st.none(), st.integers(-9, 9), st.text(max_size=2), st.booleans())


@st.composite
def records(
    draw: st.DrawFn, depth: int = 2, numbers: count[int] | None = None
) -> tuple[Any, dict[str, Any]]:
    """A record's schema, and a value of it."""
    numbers = count() if numbers is None else numbers
    parts, value = [], {}
    for name in draw(st.lists(st.sampled_from("abcde"), unique=True, max_size=5)):
        node, held = draw(_part(depth, numbers))
        parts.append({"name": name, "type": node})
        value[name] = held
    return {"type": "record", "name": f"R{next(numbers)}", "fields": parts}, value


@st.composite
def _part(draw: st.DrawFn, depth: int, numbers: count[int]) -> tuple[Any, Any]:
    form = draw(st.sampled_from(FORMS))
    if depth == 0 or form == "leaf":
        node, values = draw(st.sampled_from(LEAVES))
        return node, draw(values)
    if form == "named":
        symbols = {"type": "enum", "name": f"E{next(numbers)}", "symbols": ["A", "B"]}
        fixed = {"type": "fixed", "name": f"F{next(numbers)}", "size": 2}
        return draw(st.sampled_from([(symbols, "B"), (fixed, b"xy")]))
    if form == "mixed":
        return MIXED, draw(OF_MIXED)
    if form == "record":
        return draw(records(depth - 1, numbers))
    node, held = draw(_part(depth - 1, numbers))
    if form == "array":
        return {"type": "array", "items": node}, [held] * draw(st.integers(0, 2))
    if form == "map":
        return {"type": "map", "values": node}, {"k": held, "": held} if draw(st.booleans()) else {}
    if node == "null" or isinstance(node, list):
        return node, held
    union = ["null", node] if draw(st.booleans()) else [node, "null"]
    return union, draw(st.sampled_from([held, None]))


def object_of(node: Any, value: Any) -> Any:
    """The value with an object of a class of its own in place of each record's dict."""
    if isinstance(node, list):
        others = [branch for branch in node if branch != "null"]
        return value if value is None or len(others) > 1 else object_of(others[0], value)
    kind = node["type"] if isinstance(node, dict) else node
    if kind == "record":
        made = make_dataclass(node["name"], [(f["name"], Any) for f in node["fields"]])
        held = {f["name"]: object_of(f["type"], value[f["name"]]) for f in node["fields"]}
        return made(**held)
    if kind == "array":
        return [object_of(node["items"], part) for part in value]
    if kind == "map":
        return {key: object_of(node["values"], part) for key, part in value.items()}
    return value


def row_of(value: Any) -> Any:
    """The same with rows without names in place of objects."""
    if is_dataclass(value):
        return Row(*(row_of(getattr(value, part.name)) for part in fields(value)))
    if isinstance(value, list):
        return [row_of(part) for part in value]
    if isinstance(value, dict):
        return {key: row_of(part) for key, part in value.items()}
    return value


@settings(max_examples=examples(24), deadline=None)
@given(records())
def test_all_types_go_both_ways(case: tuple[Any, dict[str, Any]]) -> None:
    node, value = case
    out, parsed = io.BytesIO(), fastavro.parse_schema(node)
    fastavro.schemaless_writer(out, parsed, value)
    data = out.getvalue()
    expected = fastavro.schemaless_reader(io.BytesIO(data), parsed, None)
    writes = AvroSerializationSchema(AvroSchema(node))
    objects = object_of(node, value)
    for form in (value, objects, row_of(objects)):
        assert writes.serialize(form) == data
    found = AvroDeserializationSchema(AvroSchema(node)).deserialize(data)
    assert found == expected == value
    assert repr(found) == repr(expected)  # -0.0 and 0, True and 1
    rows = AvroDeserializationSchema(AvroSchema(node), Row).deserialize(data)
    assert rows.as_dict(recursive=True) == value
    into = AvroDeserializationSchema(AvroSchema(node), type(objects)).deserialize(data)
    assert {part.name: getattr(into, part.name) for part in fields(into)} == value

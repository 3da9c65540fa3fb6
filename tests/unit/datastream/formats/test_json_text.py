"""JSON texts: the same with orjson and without."""

from __future__ import annotations

import datetime
import json
import uuid
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common.time import Instant
from headrace.common.types import Row
from headrace.datastream.formats import _json_text
from headrace.datastream.formats._json_text import (
    _write_line_with_stdlib,
    json_parser,
    parse_all,
    parse_json,
    write_json,
    write_line,
)
from headrace.datastream.formats.json import JsonLinesEncoder
from headrace.errors import TypeMismatchError
from tests.effort import examples


class Kind(Enum):
    A = "a"


class Wrong(Enum):
    NAN = float("nan")


@dataclass
class Leg:
    venue: Any


class Fraction(float):
    """A float that orjson does not know."""

    def __new__(cls, value: Any) -> Fraction:
        return super().__new__(cls, 0.5 if value is None else value)


def test_orjson_is_there() -> None:
    assert _json_text._ORJSON


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


@settings(max_examples=examples(16), deadline=None)
@given(JSON)
def test_it_does_not_matter_whether_orjson_is_there(value: Any) -> None:
    # exponents are written in two ways: 1e-08 and 1e-8
    line = outcome(lambda v: json.loads(_write_line_with_stdlib(v)), value)
    assert outcome(lambda v: json.loads(write_line(v)), value) == line
    text = json.dumps(value)
    slow = json_parser(False)
    assert outcome(parse_json, text.encode()) == outcome(slow, text)
    assert outcome(parse_all, [text.encode()]) == outcome(lambda each: [slow(each)], text)


@pytest.mark.parametrize(
    "text",
    ["123456789012345678901234567890", "-9223372036854775809", "1E400", '"\\ud800"', "NaN", "[1,]",
     '{"a": 1, "a": 2}', "", "\ufeff{}", "-0", "[" * 2000 + "]" * 2000],
)  # fmt: skip
def test_texts_that_parsers_differ_on(text: str) -> None:
    def slow(text: str) -> Any:
        return json_parser(False)(text)

    assert outcome(lambda t: parse_json(t.encode()), text) == outcome(slow, text)


def test_records_are_written_the_same_way_without_orjson() -> None:
    value: dict[str, Any] = {
        "d": Decimal("1E+3"), "t": datetime.datetime(2024, 1, 2), "b": b"\xff", "e": Kind.A,
        "r": Row(x=1), "l": Leg("v"), "n": float("1e300"), "none": None, "i": Instant(1, 0),
        "u": uuid.UUID(int=1), "big": 1 << 70, "s": "\ud800",
    }  # fmt: skip
    assert write_line(value) == _write_line_with_stdlib(value) == JsonLinesEncoder().encode(value)
    del value["s"], value["big"]  # which orjson leaves to the standard library
    assert write_line(value) == _write_line_with_stdlib(value) == write_json(value) + b"\n"


@pytest.mark.parametrize(
    "wrong",
    [
        *(
            float("nan"),
            object(),
            Decimal("NaN"),
            Leg(float("inf")),
            [Leg(None), Leg(float("nan"))],
        ),
        *((None, float("nan")), Row(None, float("nan")), Row(a=None, b=object())),
        *({"a": None, "b": Wrong.NAN}, {1, 2}, {(1,): None, "a": float("nan")}),
    ],
)
def test_what_has_no_form_is_refused_by_both(wrong: Any) -> None:
    for write in (write_line, _write_line_with_stdlib):
        with pytest.raises(TypeMismatchError, match="JSON"):
            write(wrong)


@pytest.mark.parametrize(
    "value",
    [
        *(None, [None, 1.5], Leg(None), {"a": None, "b": (1.0, None, Kind.A, Row(None, 1))}),
        *([None, uuid.UUID(int=1), datetime.date(2024, 1, 2), Fraction(None)],),
    ],
)
def test_null_alone_is_not_taken_for_nan(value: Any) -> None:
    assert write_line(value) == _write_line_with_stdlib(value)

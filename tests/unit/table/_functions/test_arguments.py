"""Columns as the values that Python functions get."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from headrace.common.types import Row
from headrace.sql.type_names import parse_type
from headrace.sql.types import to_arrow
from headrace.table._functions.arguments import python_values, rows_of

DAY, TIME = datetime.date(2024, 2, 29), datetime.time(1, 2, 3, 456000)
MOMENT = datetime.datetime(2024, 2, 29, 12, 34, 56, 789012)


def values(kind: str, given: list[Any], zone: str = "UTC") -> list[Any]:
    sql = parse_type(kind)
    return python_values(pa.array(given, to_arrow(sql)), sql, zone)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("BOOLEAN", True),
        ("TINYINT", -128),
        ("BIGINT", 2**63 - 1),
        ("FLOAT", 1.5),
        ("DOUBLE", -0.1),
        ("DECIMAL(10, 3)", Decimal("1.250")),
        ("CHAR(3)", "abc"),
        ("STRING", ""),
        ("BYTES", b"\x00\xff"),
        ("DATE", DAY),
        ("TIME(3)", TIME),
        ("TIMESTAMP(6)", MOMENT),
        ("TIMESTAMP(9)", MOMENT),
        ("TIMESTAMP(3)", MOMENT.replace(microsecond=789000)),
        ("ARRAY<INT>", [1, None]),
    ],
)
def test_a_value_and_null(kind: str, value: Any) -> None:
    assert values(kind, [value, None, value]) == [value, None, value]
    (found,) = values(kind, [value])
    assert type(found) is type(value)
    assert values(kind, []) == []


def test_a_moment_is_in_the_time_zone() -> None:
    moment = MOMENT.replace(tzinfo=datetime.UTC)
    (in_utc, none) = values("TIMESTAMP_LTZ(6)", [moment, None])
    assert (in_utc, in_utc.tzinfo, none) == (moment, datetime.UTC, None)
    (there,) = values("TIMESTAMP_LTZ(6)", [moment], "Asia/Tokyo")
    assert there == moment
    assert there.replace(tzinfo=None) == MOMENT + datetime.timedelta(hours=9)


def test_maps_are_dicts_and_rows_have_names() -> None:
    assert values("MAP<STRING, INT>", [[("a", 1), ("b", None)], None]) == [
        {"a": 1, "b": None},
        None,
    ]
    assert values("MULTISET<STRING>", [[("a", 2)]]) == [{"a": 2}]
    kind = "ROW<a INT, r ROW<m MAP<STRING, INT>>>"
    (row, none) = values(kind, [{"a": 1, "r": {"m": [("x", 2)]}}, None])
    assert row == Row(a=1, r=Row(m={"x": 2}))
    assert none is None
    assert values("ARRAY<ROW<a INT>>", [[{"a": 1}, None]]) == [[Row(a=1), None]]


def test_rows_of_columns() -> None:
    assert rows_of([[1, 2], ["x", None]], ("a", "b")) == [Row(a=1, b="x"), Row(a=2, b=None)]

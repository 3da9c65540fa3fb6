"""What Python functions give, as columns of their result type."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from headrace.common.types import Row
from headrace.sql.type_names import parse_type
from headrace.table._functions.results import ResultWriter, WrongResult

MOMENT = datetime.datetime(2024, 2, 29, 12, 34, 56, 789012)
TWO_HOURS = datetime.timezone(datetime.timedelta(hours=2))


def written(kind: str, given: list[Any], zone: str = "UTC") -> list[Any]:
    found: list[Any] = ResultWriter(parse_type(kind), zone)(given).to_pylist()
    return found


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        ("INT", 5, 5),
        ("INT", True, 1),
        ("INT", 1.7, 1),  # as PyFlink
        ("INT", np.int64(5), 5),
        ("DOUBLE", 1, 1.0),
        ("DOUBLE", 2**60 + 1, float(2**60 + 1)),
        ("DOUBLE", np.float32(1.5), 1.5),
        ("BOOLEAN", 1, True),
        ("BOOLEAN", np.bool_(False), False),
        ("STRING", np.str_("x"), "x"),
        ("BYTES", bytearray(b"x"), b"x"),
        ("DECIMAL(5, 1)", Decimal("1.25"), Decimal("1.2")),
        ("DECIMAL(5, 1)", Decimal("1.35"), Decimal("1.4")),
        ("DECIMAL(5, 2)", Decimal(1), Decimal("1.00")),
        ("DATE", MOMENT, MOMENT.date()),
        ("TIME(3)", datetime.time(1, 2, 3, 456789), datetime.time(1, 2, 3, 456000)),
        ("TIMESTAMP(3)", MOMENT, MOMENT.replace(microsecond=789000)),
        ("TIMESTAMP(6)", MOMENT.replace(tzinfo=TWO_HOURS), MOMENT),
        ("TIMESTAMP(6)", pd.Timestamp(MOMENT), MOMENT),
        ("ARRAY<INT>", [1, None], [1, None]),
        ("ARRAY<DOUBLE>", np.array([1, 2]), [1.0, 2.0]),
        ("MAP<STRING, INT>", {"a": 1, "b": None}, [("a", 1), ("b", None)]),
        ("ROW<a INT, b STRING>", Row(1, "x"), {"a": 1, "b": "x"}),
        ("ROW<a INT, b STRING>", Row(b="x", a=1), {"a": 1, "b": "x"}),
        ("ROW<a INT, b STRING>", (1, None), {"a": 1, "b": None}),
        ("ROW<a INT, b STRING>", {"b": "x"}, {"a": None, "b": "x"}),
    ],
)
def test_a_value_becomes_one_of_the_type(kind: str, given: Any, expected: Any) -> None:
    assert written(kind, [given, None]) == [expected, None]
    assert written(kind, []) == []


def test_a_moment_without_a_zone_is_in_the_sessions() -> None:
    expected = [MOMENT.replace(tzinfo=datetime.UTC) - datetime.timedelta(hours=9)]
    assert written("TIMESTAMP_LTZ(6)", [MOMENT], "Asia/Tokyo") == expected
    moment = MOMENT.replace(tzinfo=TWO_HOURS)
    assert written("TIMESTAMP_LTZ(6)", [moment], "Asia/Tokyo") == [moment]


@pytest.mark.parametrize(
    ("kind", "given", "problem"),
    [
        ("INT", "1", "'1' (str)"),
        ("INT", 2**31, "out of the range of INT"),
        ("BIGINT", 2**63, "out of the range of BIGINT"),
        ("INT", float("nan"), "nan (float)"),
        ("DOUBLE", "1", "a number is needed"),
        ("BOOLEAN", "true", "'true' (str)"),
        ("STRING", 1, "a str is needed"),
        ("STRING", b"x", "a str is needed"),
        ("BYTES", "x", "bytes are needed"),
        ("DECIMAL(5, 1)", 1, "a Decimal is needed"),
        ("DECIMAL(5, 1)", Decimal(123456), "out of the range of DECIMAL(5, 1)"),
        ("DECIMAL(5, 1)", Decimal("NaN"), "it is not finite"),
        ("DATE", "2024-01-01", "a date is needed"),
        ("TIMESTAMP(3)", MOMENT.date(), "a datetime is needed"),
        ("TIMESTAMP_LTZ(3)", 5, "a datetime is needed"),
        ("ARRAY<INT>", (1, 2), "a list is needed"),
        ("ARRAY<INT>", ["x"], "['x'] (list)"),
        ("MAP<STRING, INT>", [("a", 1)], "a dict is needed"),
        ("ROW<a INT, b INT>", (1,), "1 values"),
        ("ROW<a INT, b INT>", 1, "a Row or a tuple is needed"),
        ("INT NOT NULL", None, "NOT NULL"),
    ],
)
def test_a_value_of_another_type_is_refused(kind: str, given: Any, problem: str) -> None:
    right = {"INT": 1, "INT NOT NULL": 1}.get(kind)
    with pytest.raises(WrongResult) as caught:
        written(kind, [right, given, right])
    assert caught.value.place == 1
    assert problem in caught.value.problem

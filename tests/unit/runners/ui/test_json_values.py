"""State as JSON: whatever a program may keep has a form."""

from __future__ import annotations

import datetime
import json
import math
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any

import pytest

from headrace.common import Row
from headrace.runners.ui.json_values import json_value


@dataclass(frozen=True)
class Order:
    symbol: str
    fills: tuple[int, ...]


class Side(Enum):
    BUY = "buy"


class Number(IntEnum):
    ONE = 1


class Plain:
    def __repr__(self) -> str:
        return "a plain object"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (1 << 70, 1 << 70),
        (1.5, 1.5),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        ("é\ud800", "é\ud800"),
        ((1, [2, {"a": (3,)}]), [1, [2, {"a": [3]}]]),
        ({1: "one", (2, 3): None}, [[1, "one"], [[2, 3], None]]),
        (frozenset({4}), [4]),
        (b"\x00\xff", "AP8="),
        (Order("A", (1, 2)), {"symbol": "A", "fills": [1, 2]}),
        (Row(1, "x"), [1, "x"]),
        (Row(a=1, b=Order("A", ())), {"a": 1, "b": {"symbol": "A", "fills": []}}),
        (Side.BUY, "buy"),
        (Number.ONE, 1),
        (Decimal("1E+2"), "100"),
        (Decimal("NaN"), "NaN"),
        (datetime.datetime(2026, 1, 2, 3, 4), "2026-01-02T03:04:00"),
        (Plain(), "a plain object"),
    ],
    ids=repr,
)
def test_each_value_has_a_form(value: Any, expected: Any) -> None:
    found = json_value(value)
    assert found == expected
    assert type(found) is type(expected)
    assert json.loads(json.dumps(found, allow_nan=False)) == expected

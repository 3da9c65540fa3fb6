"""What somebody else has pickled is read only if it is data."""

from __future__ import annotations

import os
import pickle
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from types import ModuleType
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from headrace.common._storage.pickles import loads, only_data, stand_ins
from headrace.common.types import Row, RowKind
from headrace.errors import CheckpointError


class Side(Enum):
    BUY = 1


class Pair(NamedTuple):
    one: int
    other: int


@dataclass
class Order:
    side: Side


@dataclass(frozen=True, slots=True)
class Leg:
    price: Decimal


class Plain:
    pass


class Calls:
    def __init__(self, function: Any, *arguments: Any) -> None:
        self.what = function, arguments

    def __reduce__(self) -> Any:
        return self.what


NUMBERS = [*map(str, range(10))]

DATA = [
    {"a": [1, 2.5, None, True, "ä", b"b", (1,)], "set": {1}, "frozen": frozenset({2})},
    [bytearray(b"b"), 1j, range(3), slice(1)],
    [datetime(2026, 1, 1, tzinfo=UTC), date(2026, 1, 1), timedelta(1), datetime(2026, 1, 1)],
    datetime(2026, 1, 1, tzinfo=ZoneInfo("Europe/Berlin")),
    [Decimal("1.5"), Fraction(1, 3), UUID(int=5)],
    [Counter("aa"), OrderedDict(a=1), defaultdict(list, a=[1]), deque([1])],
    [Row(1, "a"), Row(a=1), Row.of_kind(RowKind.DELETE, 1)],
    [Order(Side.BUY), Leg(Decimal(1)), Pair(1, 2)],
]


@pytest.mark.parametrize("value", DATA, ids=NUMBERS[:8])
@pytest.mark.parametrize("protocol", [4, 5])
def test_data_is_read(value: Any, protocol: int) -> None:
    with only_data():
        found = loads(pickle.dumps(value, protocol))
    assert found == value
    assert repr(found) == repr(value)


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (Calls(os.system, "exit 1"), "posix.system"),
        (Calls(eval, "1"), "builtins.eval"),
        (Calls(getattr, Order, "__init__"), r"getattr\(…, '__init__'\)"),
        (Calls(getattr, Side, "__class__"), r"getattr\(…, '__class__'\)"),
        (Plain(), "test_pickles.Plain"),
        ([Order(Side.BUY), Plain()], "test_pickles.Plain"),
        (Plain, "test_pickles.Plain"),
        (Calls(pickle.loads, b""), "_pickle.loads"),
        (Calls(loads, b""), "headrace.common._storage.pickles.loads"),
        (test_data_is_read, "test_pickles.test_data_is_read"),
    ],
    ids=NUMBERS,
)
def test_what_can_run_code_is_refused(value: Any, named: str) -> None:
    data = pickle.dumps(value, 5)
    with only_data(), pytest.raises(CheckpointError, match=named) as refused:
        loads(data)
    assert "--allow-pickles" in (refused.value.hint or "")


def test_a_module_of_a_name_that_is_pickled_is_not_imported() -> None:
    with only_data(), pytest.raises(CheckpointError, match=r"antigravity\.fly is pickled"):
        loads(b"cantigravity\nfly\n.")


def test_what_the_job_has_stored_itself_is_read() -> None:
    with only_data(False):
        assert type(loads(pickle.dumps(Plain(), 5))) is Plain
    assert type(loads(pickle.dumps(Plain(), 5))) is Plain


@pytest.mark.parametrize("only", [True, False])
def test_objects_of_classes_that_cannot_be_imported_are_shown(
    monkeypatch: pytest.MonkeyPatch, only: bool
) -> None:
    gone = ModuleType("gone")
    values = {}
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "gone", gone)
        for cls, value in ((Order, Order(Side.BUY)), (Pair, Pair(1, 2)), (Leg, Leg(Decimal(3)))):
            patch.setattr(cls, "__module__", "gone")
            setattr(gone, cls.__name__, cls)
            values[cls] = pickle.dumps(value, 5)
    with only_data(only), stand_ins():
        order, pair, leg = (loads(values[cls]) for cls in (Order, Pair, Leg))
        assert loads(values[Pair]) == pair != loads(values[Leg])
    assert repr(order) == f"Order(side={Side.BUY!r})"
    assert repr(pair) == "Pair(1, 2)"
    assert repr(leg) == "Leg(Decimal('3'))"
    with pytest.raises(pickle.PicklingError, match="cannot be imported"):
        pickle.dumps(order)
    with only_data(only), pytest.raises(ImportError):
        loads(values[Order])

"""Which values nobody can change any more."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from collections import namedtuple
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

import pytest

from headrace.common import Row
from headrace.runtime.immutability import ATOMIC_TYPES, is_immutable

Pair = namedtuple("Pair", "left right")


class Point(NamedTuple):
    x: int
    y: Any


class Marked(Point):
    """A named tuple whose objects have attributes of their own."""


class Upper(NamedTuple):
    name: str

    def __reduce__(self) -> Any:
        return Upper, (self.name.upper(),)


@dataclass(frozen=True)
class Trade:
    symbol: str
    price: Any


@dataclass(frozen=True)
class Executed(Trade):
    venue: str


class Loose(Trade):
    """Inherits from a frozen dataclass, but is none: its attributes can be set."""


@dataclass(frozen=True)
class Slotted:
    __slots__ = ("name",)
    name: str


@dataclass(frozen=True)
class Shrinking:
    """Is sent without its cache."""

    name: str
    cache: Any = field(default=None, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {"name": self.name, "cache": None}


@dataclass(frozen=True)
class Basket(list):  # type: ignore[type-arg]
    owner: str


@dataclass
class Open:
    name: str


class Side(enum.Enum):
    BUY = 1


class Text(str):
    """A string with attributes."""


ATOM_VALUES = [
    "a",
    1,
    1.5,
    True,
    b"a",
    None,
    1j,
    Decimal("1.0"),
    dt.date(2024, 1, 2),
    dt.datetime(2024, 1, 2, 3),
    dt.time(4),
    dt.timedelta(5),
    uuid.UUID(int=6),
]
PLAIN = [
    *ATOM_VALUES,
    (),
    ("a", 1),
    ("a", (1, (2.0, None))),
    Pair("a", (1, 2)),
    Point(1, Pair(2, 3)),
    Trade("ABC", Decimal(1)),
    Trade("ABC", (1, Trade("DEF", 2))),
    Executed("ABC", 1, "X"),
]
CHANGEABLE = [
    [],
    {},
    set(),
    frozenset(),  # never looked into
    bytearray(),
    Row(1, 2),
    Open("a"),
    Text("a"),
    Side.BUY,
    object,
    ("a", [1]),
    ("a", (1, ({},))),
    Pair("a", [1]),
    Point(1, Open("a")),
    Marked(1, 2),
    Upper("a"),
    Trade("ABC", [1]),
    Executed("ABC", {}, "X"),
    Loose("ABC", 1),
    Slotted("a"),
    Shrinking("a"),
    Basket("a"),
]


def test_every_kind_of_atom_is_tried() -> None:
    assert {type(value) for value in ATOM_VALUES} == ATOMIC_TYPES


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_plain(value: Any) -> None:
    assert is_immutable(value)


@pytest.mark.parametrize("value", CHANGEABLE, ids=repr)
def test_not_plain(value: Any) -> None:
    assert not is_immutable(value)


def test_what_a_frozen_object_was_given_later_counts() -> None:
    trade = Trade("ABC", 1)
    assert is_immutable(trade)
    object.__setattr__(trade, "notes", ["by hand"])
    assert not is_immutable(trade)

"""Which records wait as they are, and what a block keeps of those that do not."""

from __future__ import annotations

import datetime as dt
import enum
import pickle
import uuid
from collections import namedtuple
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

import pytest

from headrace.common import Row
from headrace.runtime.block import Block, BlockBuffer, Mark, decode, encode, take, values_of
from headrace.runtime.plain import ATOMS, is_plain

Pair = namedtuple("Pair", "left right")


class Point(NamedTuple):
    x: int
    y: Any


class Marked(Point):
    """A named tuple whose objects have attributes of their own."""


class Told(NamedTuple):
    name: str

    def __reduce__(self) -> Any:
        return Told, (self.name.upper(),)


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
    Told("a"),
    Trade("ABC", [1]),
    Executed("ABC", {}, "X"),
    Loose("ABC", 1),
    Slotted("a"),
    Shrinking("a"),
    Basket("a"),
]


def test_every_kind_of_atom_is_tried() -> None:
    assert {type(value) for value in ATOM_VALUES} == ATOMS


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_plain(value: Any) -> None:
    assert is_plain(value)


@pytest.mark.parametrize("value", CHANGEABLE, ids=repr)
def test_not_plain(value: Any) -> None:
    assert not is_plain(value)


def test_what_a_frozen_object_was_given_later_counts() -> None:
    trade = Trade("ABC", 1)
    assert is_plain(trade)
    object.__setattr__(trade, "notes", ["by hand"])
    assert not is_plain(trade)


def block_of(values: list[Any], **other: Any) -> Block:
    parts: dict[str, Any] = {
        "keys": None,
        "timestamps": None,
        "isolated": False,
        "marks": [],
        "since": None,
        "now_ms": 0,
    }
    return Block(values=values, **(parts | other))


@pytest.mark.parametrize(
    "block",
    [
        block_of([]),
        block_of([value for value in PLAIN if not isinstance(value, type)], now_ms=7),
        block_of([1, 2], keys=["a", ("b", 1)], timestamps=[10, None], since=5, merged_channel="0"),
        block_of([], marks=[Mark(0, "0:split", 5), Mark(0, "1", -(2**63), True)]),
        block_of([Open("a"), Row(x=1), Shrinking("a")]),
        block_of([b"x" * 5_000_000] * 2),
        block_of(list(range(300_000)), keys=[0] * 300_000),
    ],
    ids=["empty", "plain", "keyed", "marks only", "objects", "large records", "many records"],
)
def test_round_trip(block: Block) -> None:
    returned = decode(encode(block))
    assert returned == block
    assert type(returned) is Block
    assert all(type(mark) is Mark for mark in returned.marks)


def test_what_cannot_be_pickled_is_told() -> None:
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError), match="lambda"):
        encode(block_of([lambda: None]))


def test_isolating_keeps_what_was_gathered() -> None:
    buffer = BlockBuffer(since=3)
    buffer.values.extend([1, "a"])
    buffer.isolate()
    record = {"n": 1}
    buffer.values.append(pickle.dumps(record, 5))
    record["n"] = 2
    buffer.timestamps.extend([None, None, 5])
    block = take(buffer, keyed=False, now_ms=9, merged_channel=None)
    assert block.isolated
    assert block.keys is None
    assert block.timestamps == [None, None, 5]
    assert (block.since, block.now_ms) == (3, 9)
    assert values_of(decode(encode(block))) == [1, "a", {"n": 1}]


def test_isolated_records_are_fresh_at_every_reading() -> None:
    buffer = BlockBuffer(since=None)
    buffer.isolate()
    buffer.values.append(pickle.dumps([1], 5))
    block = take(buffer, keyed=False, now_ms=0, merged_channel=None)
    (first,), (second,) = values_of(block), values_of(block)
    first.append(2)
    assert second == [1]


def test_timestamps_are_left_out_where_there_are_none() -> None:
    buffer = BlockBuffer(since=None)
    buffer.keys.extend(["a", "b"])
    buffer.values.extend([1, 2])
    buffer.timestamps.extend([None, None])
    block = take(buffer, keyed=True, now_ms=0, merged_channel="4")
    assert block.timestamps is None
    assert block.keys == ["a", "b"]
    assert block.merged_channel == "4"


def test_time_zero_is_a_timestamp() -> None:
    buffer = BlockBuffer(since=None)
    buffer.values.append(1)
    buffer.timestamps.append(0)
    assert take(buffer, keyed=False, now_ms=0, merged_channel=None).timestamps == [0]

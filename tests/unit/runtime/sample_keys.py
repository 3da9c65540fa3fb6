"""Keys of every kind; run as a program, it prints their hashes."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from headrace.common import Row
from headrace.runtime.keys.key_groups import stable_hash


class Point(NamedTuple):
    x: int
    y: int


class Side(enum.Enum):
    BUY = 1
    SELL = 2


class Level(enum.IntEnum):
    LOW = 1


class Colour(enum.StrEnum):
    RED = "red"


class Right(enum.Flag):
    READ = 1
    WRITE = 2


class Symbol(str):
    """A string of a type of its own."""


class Cents(int):
    """A number of a type of its own."""


class Ratio(float, enum.Enum):
    """Equal to its number; the name is not part of the comparison."""

    HALF = 0.5


class Code(str, enum.Enum):  # noqa: UP042
    """Its value is not the text that it is equal to."""

    def __new__(cls, text: str, number: str) -> Code:
        made = str.__new__(cls, text)
        made._value_ = number
        return made

    FIRST = "first", "1"


class Day(dt.date):
    """A date that shows itself in another way."""

    def isoformat(self) -> str:
        return "a day"


@dataclass(frozen=True)
class Labelled(str):
    """Compared by its field: the text does not count."""

    label: str

    def __new__(cls, label: str, text: str = "") -> Labelled:
        return str.__new__(cls, text)

    def __init__(self, label: str, text: str = "") -> None:
        object.__setattr__(self, "label", label)


class Shy(Symbol):
    """Hashed in a way of its own, and compared as any str is."""

    def __hash__(self) -> int:
        return hash(str(self)) ^ 1


@dataclass(frozen=True)
class Account:
    bank: str
    number: int
    note: str = field(default="", compare=False)


class Branch(Account):
    """Compared by the fields of its base."""


@dataclass(frozen=True, eq=False)
class Sub(Account):
    """Compared by the fields of its base: this one's own does not count."""

    place: str = ""


@dataclass(frozen=True)
class Hashed:
    """Hashed by less than it compares by, as it may be."""

    bank: str
    number: int

    def __hash__(self) -> int:
        return hash(self.bank)


@dataclass(frozen=True)
class Other:
    bank: str
    number: int


EAST = dt.timezone(dt.timedelta(hours=5, minutes=30))

KEYS: list[Any] = [
    None,
    "",
    "a",
    "ä€😀",
    "\ud800",
    Symbol("a"),
    Colour.RED,
    b"",
    b"a",
    0,
    1,
    -1,
    -2,
    2**31,
    2**61 - 1,
    2**64 + 1,
    10**40,
    True,
    Level.LOW,
    Cents(5),
    0.0,
    -0.0,
    1.5,
    float("inf"),
    1e300,
    2 + 3j,
    Decimal("1.10"),
    Decimal("-Infinity"),
    Fraction(1, 3),
    (),
    ("a", 1),
    ("a", ("b", None)),
    Point(1, 2),
    Side.BUY,
    Side.SELL,
    Right.READ | Right.WRITE,
    dt.date(2024, 1, 2),
    dt.datetime(2024, 1, 2),
    dt.datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=EAST),
    dt.time(1, 2, 3),
    dt.time(1, 2, 3, tzinfo=EAST),
    dt.timedelta(1, 2, 3),
    uuid.UUID(int=7),
    frozenset(),
    frozenset({"a", "b", 3}),
    Row("a", 1),
    Row(name="a", size=1),
    Account("X", 1),
    Account("X", 2, "noted"),
    Other("X", 1),
    Ratio.HALF,
    Code.FIRST,
    Day(2024, 1, 2),
    Labelled("a", "text"),
    Branch("X", 1),
    Sub("X", 1, place="here"),
    Hashed("X", 1),
]

if __name__ == "__main__":
    print([stable_hash(key) for key in KEYS])

"""Equal keys meet, in whatever interpreter they are met."""

from __future__ import annotations

import datetime as dt
import enum
import json
import os
import pickle
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st

from headrace.common import Row
from headrace.errors import UnstableKeyError
from headrace.runtime.keys import key_groups
from headrace.runtime.keys.key_groups import (
    KeyGroups,
    int_key_group,
    key_group_of,
    page_hasher,
    stable_hash,
    subtask_of,
)
from tests.effort import examples
from tests.unit.runtime.sample_keys import (
    EAST,
    KEYS,
    Account,
    Branch,
    Cents,
    Code,
    Colour,
    Day,
    Hashed,
    Labelled,
    Level,
    Other,
    Point,
    Ratio,
    Shy,
    Side,
    Sub,
    Symbol,
)

ROOT = Path(__file__).parents[4]

# State lies where these numbers say: one that changes makes every checkpoint unreadable.
PINNED: list[tuple[Any, int]] = [
    ("a", 0xB3D206B7),
    ("symbol-17", 0x15B56011),
    (1, 0x9E3779B9),
    (-1, 0xC3910C8D),
    (1.5, 0xEE3779B9),
    (b"a", 0xCE665E93),
    (None, 0xFBD64DB4),
    (("a", 1), 0x33D485A0),
    (dt.datetime(2024, 1, 2), 0x1E8DAE0E),
    (Side.BUY, 0xE3C75C97),
    (Row(name="a", size=1), 0x270CB7A8),
    (Account("X", 1), 0x175B92B0),
]


@pytest.mark.parametrize(("key", "expected"), PINNED, ids=repr)
def test_hashes_do_not_change(key: Any, expected: int) -> None:
    assert stable_hash(key) == expected


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "4711"])
def test_hashes_are_equal_in_another_interpreter(seed: str) -> None:
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parents[1] / "sample_keys.py")],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == [stable_hash(key) for key in KEYS]


def test_a_hash_has_32_bits() -> None:
    assert all(0 <= stable_hash(key) < 1 << 32 for key in KEYS)


class Raw(bytes):
    """Bytes of a type of their own."""


EQUAL: list[tuple[Any, ...]] = [
    (1, True, 1.0, Decimal(1), Decimal("1.00"), Fraction(1), 1 + 0j, Level.LOW, np.float64(1)),
    (1, np.bool_(True), np.int8(1), np.uint64(1), np.float16(1), np.longdouble(1), np.complex64(1)),
    (-1, np.int32(-1), np.float32(-1)),
    (2**63, np.uint64(2**63), 2.0**63),
    (0.5, np.float16(0.5), np.float32(0.5)),
    ((1, "a"), (np.int64(1), np.str_("a"))),
    (frozenset({1, 2}), frozenset({np.int64(1), np.uint8(2)})),
    (Account("X", 1), Account("X", np.int64(1))),  # type: ignore[arg-type]
    (Row(a=1), Row(a=np.int64(1))),
    (b"a", np.bytes_(b"a")),
    (np.datetime64("2024-01-02"), np.datetime64("2024-01-02T00", "h")),
    (np.datetime64("2024-01", "M"), np.datetime64("2024-01-01T00:00:00", "ns")),
    (np.datetime64("2024-01-02", "us"), dt.datetime(2024, 1, 2), pd.Timestamp(2024, 1, 2)),
    (np.timedelta64(1, "s"), np.timedelta64(1000, "ms"), dt.timedelta(seconds=1)),
    (np.timedelta64(1, "Y"), np.timedelta64(12, "M")),
    (0, False, 0.0, -0.0, Decimal("-0")),
    (5, Cents(5)),
    ("a", Symbol("a")),
    ("red", Colour.RED),
    ((1, 2), Point(1, 2), (1.0, True + 1)),
    (Row(a=1, b=2), Row(b=2, a=1)),
    (Account("X", 1), Account("X", 1, "not compared")),
    (frozenset({1, 2, 3}), frozenset({3, 2, 1.0})),
    (
        dt.datetime(2024, 1, 2, 12, tzinfo=dt.UTC),
        dt.datetime(2024, 1, 2, 17, 30, tzinfo=EAST),
    ),
    (dt.datetime(2024, 10, 27, 2, fold=0), dt.datetime(2024, 10, 27, 2, fold=1)),
    (dt.time(12, tzinfo=dt.UTC), dt.time(17, 30, tzinfo=EAST)),
    (dt.timedelta(hours=24), dt.timedelta(days=1)),
    (0.5, Ratio.HALF, Fraction(1, 2)),
    ("first", Code.FIRST),
    (dt.date(2024, 1, 2), Day(2024, 1, 2)),
    (Labelled("a", "one"), Labelled("a", "two")),
    (Branch("X", 1), Branch("X", 1, "not compared")),
    (Sub("X", 1, place="here"), Sub("X", 1, place="there")),
    (Hashed("X", 1), Hashed("X", 1)),
    (2**61 + 4, Decimal(2**61 + 4), Fraction(2**61 + 4)),
    (2.0**80, 2**80, Decimal(2**80), np.float64(2**80)),
    (float("inf"), Decimal("Infinity"), np.float64("inf")),
    (b"a", Raw(b"a")),
    (pd.Timestamp(2024, 1, 2), dt.datetime(2024, 1, 2)),
    (pd.Timestamp(2024, 1, 2, tz="UTC"), dt.datetime(2024, 1, 2, tzinfo=dt.UTC)),
    (pd.Timedelta(days=1), dt.timedelta(days=1)),
    (np.str_("a"), "a"),
]


@pytest.mark.parametrize("keys", EQUAL, ids=repr)
def test_equal_keys_have_equal_hashes(keys: tuple[Any, ...]) -> None:
    assert all(key == keys[0] for key in keys)
    assert {stable_hash(key) for key in keys} == {stable_hash(keys[0])}


class Fold(str):
    """A text in which case does not count."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self.lower() == other.lower()

    def __hash__(self) -> int:
        return hash(self.lower())


def _nearly(kind: type) -> type:
    """A class whose objects are equal to all others of it."""
    parts = {"__eq__": lambda one, other: type(one) is type(other), "__hash__": lambda one: 1}
    return type(f"Nearly{kind.__name__}", (kind,), parts)


@dataclass(frozen=True)
class Named:
    name: str
    number: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and self.name.lower() == other.name.lower()

    def __hash__(self) -> int:
        return hash(self.name.lower())


class Renamed(Account):
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Renamed) and self.bank.lower() == other.bank.lower()

    def __hash__(self) -> int:
        return hash(self.bank.lower())


class Wide(enum.Enum):
    ONE = 1
    TWO = 2

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Wide)

    def __hash__(self) -> int:
        return 1


OF_THEIR_OWN: list[Any] = [
    Fold("A"),
    ("in a tuple", Fold("A")),
    Account(Fold("A"), 1),
    Named("A", 1),
    Renamed("A", 1),
    _nearly(int)(3),
    _nearly(float)(3),
    _nearly(bytes)(b"a"),
    _nearly(tuple)((1, 2)),
    _nearly(Point)(1, 2),
    _nearly(frozenset)({1}),
    _nearly(Decimal)(1),
    _nearly(Fraction)(1),
    _nearly(dt.datetime)(2024, 1, 2),
    _nearly(dt.date)(2024, 1, 2),
    _nearly(dt.time)(2),
    _nearly(dt.timedelta)(2),
    _nearly(Row)(1, 2),
    _nearly(Account)("X", 1),
]


@pytest.mark.parametrize("key", OF_THEIR_OWN, ids=lambda key: type(key).__name__)
def test_a_key_that_compares_in_its_own_way_is_refused(key: Any) -> None:
    with pytest.raises(UnstableKeyError, match="an __eq__ of its own") as caught:
        stable_hash(key)
    assert "let key_by give what" in str(caught.value)


class ById(str):
    __hash__ = object.__hash__


@pytest.mark.parametrize("key", [Wide.ONE, ById("a"), pd.NaT], ids=repr)
def test_a_key_whose_equal_would_not_be_found_is_refused(key: Any) -> None:
    with pytest.raises(UnstableKeyError, match="cannot be a key"):
        stable_hash(key)


numbers = st.one_of(
    st.integers(),
    st.booleans(),
    st.floats(allow_nan=False),
    st.fractions(),
    st.decimals(allow_nan=False),
)
atoms = st.one_of(numbers, st.text(max_size=3), st.binary(max_size=3), st.none(), st.dates())
some_keys = st.recursive(atoms, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=5)


@settings(max_examples=examples(24))
@given(some_keys, some_keys)
def test_no_pair_of_equal_keys_is_parted(one: Any, other: Any) -> None:
    if one == other:
        assert stable_hash(one) == stable_hash(other)


@settings(max_examples=examples(16))
@given(st.fractions(max_denominator=16))
def test_no_type_of_number_is_parted(number: Fraction) -> None:
    decimal = Decimal(number.numerator) / Decimal(number.denominator)
    same = [kind for kind in (float(number), decimal, int(number)) if kind == number]
    assert {stable_hash(one) for one in same} <= {stable_hash(number)}


texts = st.sampled_from(["", "a", "A", "first", "red"])
small = st.sampled_from([0, 1, -1, 2**61, 2**61 - 1, 2**64])
moments = st.datetimes(dt.datetime(2024, 10, 26), dt.datetime(2024, 10, 28))
kin = st.one_of(
    st.builds(Symbol, texts),
    st.builds(Shy, texts),
    texts,
    small.map(Cents),
    small,
    small.map(float),
    small.map(Decimal),
    small.map(float).map(np.float64),
    small.map(float).map(np.float32),
    st.sampled_from([0, 1, -1]).map(np.int64),
    st.booleans().map(np.bool_),
    moments.map(np.datetime64),
    small.map(complex),
    st.sampled_from([Code.FIRST, Colour.RED, Ratio.HALF, 0.5, Level.LOW, True, -0.0]),
    st.tuples(small, small),
    st.builds(Point, small, small),
    st.builds(Account, texts, small, texts),
    st.builds(Branch, texts, small, texts),
    st.builds(Sub, texts, small, place=texts),
    st.builds(Hashed, texts, small),
    st.builds(Labelled, texts, texts),
    st.builds(Row, small, texts),
    st.builds(Row, a=small, b=texts),
    st.builds(lambda b, a: Row(b=b, a=a), texts, small),
    st.frozensets(small | small.map(float), max_size=2),
    moments,
    moments.map(lambda moment: moment.replace(tzinfo=dt.UTC)),
    moments.map(lambda moment: moment.replace(tzinfo=EAST)),
    moments.map(pd.Timestamp),
    st.dates(dt.date(2024, 1, 1), dt.date(2024, 1, 3)),
    st.builds(Day, st.just(2024), st.just(1), st.integers(1, 3)),
)
families = st.lists(kin | st.tuples(kin, kin) | kin.map(lambda key: frozenset({key})), max_size=30)


@given(families)
def test_no_two_keys_of_kin_types_are_parted(keys: list[Any]) -> None:
    met: dict[Any, int] = {}
    for key in keys:
        hashed = stable_hash(key)
        try:
            known = met.setdefault(key, hashed)
        except TypeError:  # numpy's integers cannot be compared with a Decimal of the same hash
            reject()
        assert known == hashed


@pytest.mark.slow
@settings(max_examples=examples(2))
@given(st.lists(kin, min_size=20, max_size=60))
def test_hashes_of_kin_types_are_equal_in_another_interpreter(keys: list[Any]) -> None:
    program = (
        "import pickle, sys; from headrace.runtime.keys.key_groups import stable_hash;"
        " print([stable_hash(key) for key in pickle.load(sys.stdin.buffer)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": "99", "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        input=pickle.dumps(keys),
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout) == [stable_hash(key) for key in keys]


def test_different_keys_differ() -> None:
    apart = [
        *("1", 1, b"1", ("1",), (1,), None, "None", "", b"", (), -1),
        *(dt.date(1970, 1, 1), dt.datetime(1970, 1, 1), dt.time(0), dt.timedelta(0)),
        *(Account("X", 1), Other("X", 1), ("X", 1), Row("X", 1)),
        *(Side.BUY, Side.SELL, "BUY", (1, 2), (2, 1), (1, (2,)), ((1,), 2)),
    ]
    assert len({stable_hash(key) for key in apart}) == len(apart)


@dataclass
class Thawed:
    name: str


@dataclass(frozen=True, eq=False)
class ByIdentity:
    name: str


class Plain:
    """Equal to itself only."""


UNSTABLE: list[Any] = [
    Plain(),
    Thawed("a"),
    ByIdentity("a"),
    [1],
    {"a": 1},
    {1},
    bytearray(b"a"),
    object,
    len,
    range(3),
    np.void(b"a"),
    ("a", [1]),
    (1, (2, Plain())),
    frozenset({Plain()}),
    Row("a", [1]),
    Account([], 1),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("key", UNSTABLE, ids=lambda key: type(key).__name__)
def test_unstable_keys_are_refused(key: Any) -> None:
    with pytest.raises(UnstableKeyError, match="cannot be a key") as caught:
        stable_hash(key)
    assert "frozen=True" in str(caught.value)


@pytest.mark.parametrize(
    "key",
    [
        *(float("nan"), Decimal("nan"), Decimal("sNaN"), complex("nan"), (1, float("nan"))),
        *(np.float32("nan"), np.float64("nan"), np.datetime64("NaT"), np.timedelta64("NaT", "s")),
    ],
    ids=repr,
)
def test_what_is_not_equal_to_itself_is_refused(key: Any) -> None:
    with pytest.raises(UnstableKeyError, match="not equal to itself"):
        stable_hash(key)


def test_the_fold_of_a_moment_does_not_part_equal_keys() -> None:
    """In one zone two moments are equal by what the clock shows, also where it shows it twice."""
    first = dt.datetime(2023, 10, 29, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    second = first.replace(fold=1)
    assert first == second and first.utcoffset() != second.utcoffset()
    assert stable_hash(first) == stable_hash(second)
    assert stable_hash(first) == stable_hash(dt.datetime(2023, 10, 29, 0, 30, tzinfo=dt.UTC))


def test_moments_beyond_the_calendar_of_utc_have_a_hash() -> None:
    west, east = dt.timezone(-dt.timedelta(hours=5)), dt.timezone(dt.timedelta(hours=5))
    last, first = dt.datetime.max.replace(tzinfo=west), dt.datetime.min.replace(tzinfo=east)
    farther = dt.timezone(-dt.timedelta(hours=6))
    same = (dt.datetime.max - dt.timedelta(hours=1)).replace(tzinfo=farther)
    assert same == last
    assert stable_hash(same) == stable_hash(last)
    assert len({stable_hash(key) for key in (last, first, dt.datetime.max, dt.datetime.min)}) == 4


def test_the_refusal_shows_the_key_shortened() -> None:
    with pytest.raises(UnstableKeyError) as caught:
        stable_hash(["x" * 1000])
    shown = caught.value.where["key"]
    assert shown.startswith("['xxx") and len(shown) == 200


def test_keys_spread_over_the_groups() -> None:
    counts = Counter(key_group_of(f"user-{number}", 128) for number in range(12_800))
    assert len(counts) == 128
    assert min(counts.values()) > 50
    assert max(counts.values()) < 200
    # numbers that count up, or by a power of two, must not meet in few groups
    assert len({key_group_of(number, 128) for number in range(512)}) > 100
    assert len({key_group_of(number * 1024, 128) for number in range(512)}) > 100


def test_the_cache_gives_what_the_hash_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_groups, "_CACHED_KEYS", 10)
    groups = KeyGroups(7)
    for _ in range(2):
        assert [groups[key] for key in KEYS] == [key_group_of(key, 7) for key in KEYS]
        assert len(groups) <= 10


def test_pages_take_what_the_key_group_leaves_of_the_hash() -> None:
    hash_of = page_hasher(7)
    assert [hash_of(key) for key in KEYS] == [stable_hash(key) // 7 for key in KEYS]


@given(key=st.integers(), count=st.sampled_from([1, 7, 128, 1000, 1024]))
@example(key=-1, count=7)
@example(key=(1 << 61) - 1, count=128)
@example(key=-(1 << 63), count=128)
def test_the_expression_for_ints_gives_what_the_hash_gives(key: int, count: int) -> None:
    assert eval(int_key_group("key", count), {"key": key}) == key_group_of(key, count)


def test_subtasks_own_contiguous_groups_of_about_equal_number() -> None:
    for parallelism, most in [(1, 128), (3, 128), (128, 128), (5, 7)]:
        owners = [subtask_of(group, parallelism, most) for group in range(most)]
        assert owners == sorted(owners)
        counts = Counter(owners)
        assert set(counts) == set(range(parallelism))
        assert max(counts.values()) - min(counts.values()) <= 1

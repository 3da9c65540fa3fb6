"""Equal keys meet, in whatever interpreter they are met."""

from __future__ import annotations

import datetime as dt
import json
import os
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
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common import Row
from headrace.errors import UnstableKeyError
from headrace.runtime import key_groups
from headrace.runtime.key_groups import KeyGroups, key_group_of, stable_hash, subtask_of
from tests.unit.runtime.keys import (
    EAST,
    KEYS,
    Account,
    Cents,
    Colour,
    Level,
    Other,
    Point,
    Side,
    Symbol,
)

ROOT = Path(__file__).parents[3]

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


@pytest.mark.parametrize("seed", ["1", "4711"])
def test_hashes_are_equal_in_another_interpreter(seed: str) -> None:
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "keys.py")],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == [stable_hash(key) for key in KEYS]


def test_a_hash_has_32_bits() -> None:
    assert all(0 <= stable_hash(key) < 1 << 32 for key in KEYS)


EQUAL: list[tuple[Any, ...]] = [
    (1, True, 1.0, Decimal(1), Decimal("1.00"), Fraction(1), 1 + 0j, Level.LOW, np.float64(1)),
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
]


@pytest.mark.parametrize("keys", EQUAL, ids=repr)
def test_equal_keys_have_equal_hashes(keys: tuple[Any, ...]) -> None:
    assert all(key == keys[0] for key in keys)
    assert {stable_hash(key) for key in keys} == {stable_hash(keys[0])}


numbers = st.one_of(
    st.integers(),
    st.booleans(),
    st.floats(allow_nan=False),
    st.fractions(),
    st.decimals(allow_nan=False),
)
atoms = st.one_of(numbers, st.text(max_size=3), st.binary(max_size=3), st.none(), st.dates())
some_keys = st.recursive(atoms, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=5)


@settings(max_examples=60)
@given(some_keys, some_keys)
def test_no_pair_of_equal_keys_is_parted(one: Any, other: Any) -> None:
    if one == other:
        assert stable_hash(one) == stable_hash(other)


@settings(max_examples=40)
@given(st.fractions(max_denominator=16))
def test_no_type_of_number_is_parted(number: Fraction) -> None:
    decimal = Decimal(number.numerator) / Decimal(number.denominator)
    same = [kind for kind in (float(number), decimal, int(number)) if kind == number]
    assert {stable_hash(one) for one in same} <= {stable_hash(number)}


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
    np.int64(1),
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
    [float("nan"), Decimal("nan"), Decimal("sNaN"), complex("nan"), (1, float("nan"))],
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


def test_subtasks_own_contiguous_groups_of_about_equal_number() -> None:
    for parallelism, most in [(1, 128), (3, 128), (128, 128), (5, 7)]:
        owners = [subtask_of(group, parallelism, most) for group in range(most)]
        assert owners == sorted(owners)
        counts = Counter(owners)
        assert set(counts) == set(range(parallelism))
        assert max(counts.values()) - min(counts.values()) <= 1

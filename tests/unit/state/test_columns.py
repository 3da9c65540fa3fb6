"""How records become columns, and which records of two savepoints differ."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headrace.errors import TypeMismatchError
from headrace.runtime.savepoint.records import encode
from headrace.state._columns import Changed, Column, text_of, type_of_key


@dataclass(eq=False)
class Alone:
    """Equal to itself only."""

    at: int


def changed(one: Any, other: Any) -> list[tuple[Any, Any]]:
    """What ``Changed`` makes of two values."""
    # Without references, equal values have other bytes.
    first, second = encode(one), pickle.dumps(other, protocol=4)
    row = {"state": "s", "key": encode("k"), "namespace": None, "item": None, "position": None}
    batch = pa.RecordBatch.from_pylist([{**row, "first": first, "second": second}])
    (found,) = Changed(only_data=False)([batch])
    return [(row["first"], row["second"]) for row in found.to_pylist()]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.array([1.0, 2.0]), np.array([1.0, 3.0])),
        (np.array([]), np.array([1.0])),
        ({"levels": np.array([1, 2])}, {"levels": np.array([1, 3])}),
        ([float("nan"), 1], [float("nan"), 2]),
        (Alone(1), Alone(2)),
        ({1: "a"}, {"1": "a"}),
        ([{"at": {True: 0}}], [{"at": {"true": 0}}]),
    ],
)
def test_what_cannot_be_compared_by_a_sign_is_compared(one: Any, other: Any) -> None:
    assert changed(one, other) == [(text_of(one), text_of(other))]
    assert text_of(one) != text_of(other)
    assert changed(one, one) == changed(other, other) == []


@pytest.mark.parametrize("text", ["a\ud800", "é"])
def test_each_text_can_be_shown(text: str) -> None:
    shown = text_of(text)
    assert shown is not None and json.loads(shown) == text
    assert pa.array([shown], pa.string()).to_pylist() == [shown]


@pytest.mark.parametrize(
    ("first", "next_one"), [(1, 1.5), (1, "a"), ("a", b"a"), ("a", 1), (1.5, "a"), (True, 2)]
)
def test_keys_are_never_changed_to_the_type_of_the_first_one(first: Any, next_one: Any) -> None:
    encoded = [encode(first), encode(next_one)]
    with pytest.raises(TypeMismatchError, match="does not fit the column 'key'"):
        Column("key", type_of_key(first)).read(encoded)
    shown = Column("key", None).read(encoded).to_pylist()
    assert shown == [text_of(first), text_of(next_one)]


def test_numbers_of_numpy_are_integers() -> None:
    keys = [1, np.int64(2), None]
    found = Column("key", pa.int64()).read([None if k is None else encode(k) for k in keys])
    assert found.to_pylist() == keys

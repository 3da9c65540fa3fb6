"""The order of the entries of maps that are read."""

from __future__ import annotations

import pytest

from headrace.table._formats.map_order import hash_code, in_hash_order


@pytest.mark.parametrize(
    ("data", "code"),
    [(b"", 142593372), (b"a", 1485273170), ("żółw".encode(), 4007758484)],
)
def test_hash_codes(data: bytes, code: int) -> None:
    assert hash_code(data) == code


def test_two_keys() -> None:
    assert in_hash_order([("p", 1), ("q", 2)]) == [("q", 2), ("p", 1)]
    assert in_hash_order([("q", 2), ("p", 1)]) == [("q", 2), ("p", 1)]


def test_the_table_grows() -> None:
    few = [key for key, _ in in_hash_order([(f"k{number}", number) for number in range(12)])]
    many = [key for key, _ in in_hash_order([(f"k{number}", number) for number in range(30)])]
    assert sorted(few) == sorted(f"k{number}" for number in range(12))
    assert few != [key for key in many if key in few]


def test_entries_of_one_slot_keep_their_order() -> None:
    slot_of_p = (hash_code(b"p") ^ hash_code(b"p") >> 16) & 15
    names = [f"n{number}" for number in range(100)]
    same = next(
        name
        for name in names
        if (hash_code(name.encode()) ^ hash_code(name.encode()) >> 16) & 15 == slot_of_p
    )
    assert in_hash_order([("p", 1), (same, 2)]) == [("p", 1), (same, 2)]
    assert in_hash_order([(same, 2), ("p", 1)]) == [(same, 2), ("p", 1)]


def test_nothing() -> None:
    assert in_hash_order([]) == []

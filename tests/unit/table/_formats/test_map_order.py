"""The order of the entries of maps that are read."""

from __future__ import annotations

from headrace.common._murmur3 import murmur3
from headrace.table._formats.map_order import in_hash_order


def test_two_keys() -> None:
    assert in_hash_order([("p", 1), ("q", 2)]) == [("q", 2), ("p", 1)]
    assert in_hash_order([("q", 2), ("p", 1)]) == [("q", 2), ("p", 1)]


def test_the_table_grows() -> None:
    few = [key for key, _ in in_hash_order([(f"k{number}", number) for number in range(12)])]
    many = [key for key, _ in in_hash_order([(f"k{number}", number) for number in range(30)])]
    assert sorted(few) == sorted(f"k{number}" for number in range(12))
    assert few != [key for key in many if key in few]


def test_entries_of_one_slot_keep_their_order() -> None:
    slot_of_p = (murmur3(b"p") ^ murmur3(b"p") >> 16) & 15
    names = [f"n{number}" for number in range(100)]
    same = next(
        name
        for name in names
        if (murmur3(name.encode()) ^ murmur3(name.encode()) >> 16) & 15 == slot_of_p
    )
    assert in_hash_order([("p", 1), (same, 2)]) == [("p", 1), (same, 2)]
    assert in_hash_order([(same, 2), ("p", 1)]) == [(same, 2), ("p", 1)]


def test_nothing() -> None:
    assert in_hash_order([]) == []

"""Elements of lists of instances are shared out where the number of instances changes."""

from __future__ import annotations

import pytest

from headrace.runtime.savepoint.read import redistribute_list_elements
from headrace.runtime.savepoint.records import PICKLE, StateRecord, encode, encode_key
from headrace.runtime.state.kinds import VALUE

Element = tuple[str, int, int]
"""The list, the instance that had the element, and its position there."""


def record(element: Element) -> StateRecord:
    name, instance, position = element
    key = encode_key((name, instance, position, 7))
    value = encode(element)
    return StateRecord("id", "element", VALUE, PICKLE, instance, key, None, 0, None, None, value)


@pytest.mark.parametrize(
    ("before", "now", "shares"),
    [(3, 2, [3, 3]), (2, 4, [2, 1, 2, 1]), (3, 1, [6]), (1, 5, [2, 1, 1, 1, 1]), (2, 8, [1] * 6)],
)
def test_each_list_is_cut_in_its_order_into_equal_shares(
    before: int, now: int, shares: list[int]
) -> None:
    elements = [("a", index * before // 6, index) for index in range(6)]
    given = [record(element) for element in elements]
    found = {r.value: r.key_group for r in redistribute_list_elements(reversed(given), before, now)}
    groups = [found[encode(element)] for element in elements]
    assert groups == sorted(groups)
    assert [groups.count(group) for group in sorted({*groups})] == shares


def test_lists_are_shared_out_one_by_one() -> None:
    given = [record((name, 0, position)) for name in "ab" for position in range(2)]
    assert [r.key_group for r in redistribute_list_elements(given, 1, 2)] == [0, 1, 0, 1]


def test_as_many_instances_keep_their_own() -> None:
    given = [record(("a", instance, 0)) for instance in (1, 1, 0)]
    assert [*redistribute_list_elements(given, 2, 2)] == given

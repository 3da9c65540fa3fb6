"""The queue has the order of Java's ``PriorityQueue``, equal items included."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.operators.patterns.queue_order import JavaQueue


@dataclass
class Item:
    order: int
    number: int

    def __str__(self) -> str:
        return f"{self.order}.{self.number}"


RECORDED = [
    (
        "+2 +1 +3 /0 +1 +0 +3 +0 - - /1 +3 +2 +1 +1 +1 +3",
        "0.4 0.6",
        "1.3 1.11 1.9 2.8 3.5 3.2 1.10 3.7 3.12",
    ),
    (
        "+2 - +3 +0 +1 - +2 +3 +0 +0 +3 +3 - +1 - +3",
        "2.0 0.2 0.6 0.7",
        "1.3 1.10 2.4 3.5 3.1 3.9 3.8 3.11",
    ),
    ("/2 +0 +2 - +0 - +0 +2 +3 - +1 -", "0.0 0.2 0.3 1.6", "2.1 3.5 2.4"),
    ("/2 /0 +3 +2 - - +1 +3 +1 - +3 +0 - +3 +1", "2.1 3.0 1.2 0.6", "1.4 1.8 3.5 3.7 3.3"),
    ("+1 +2 +3 +0 +1 /0 - - +1 /1 +2 +3 +2 +3", "1.4 2.1", "1.5 2.8 2.6 3.7 3.2 3.9"),
    (
        "+1 +1 +3 +0 +1 +0 +3 +2 /0 - +1 +1 - +2 +1",
        "0.5 1.1",
        "1.9 1.8 1.4 3.2 2.7 2.10 1.11",
    ),
    ("/2 +3 /2 /1 - +1 +0 - - +0 - +0 +1 - +3 +0", "3.0 0.2 1.1 0.3 0.4", "0.7 3.6 1.5"),
    (
        "+0 +0 +1 +3 - +0 - - /0 +0 +2 - +3 +1 +1 /1 - +0",
        "0.0 0.1 0.4 0.5 1.2",
        "0.10 1.9 2.6 1.8",
    ),
    ("+1 - /0 /1 /0 +1 +1 /1 +0 +0 +2 - +1", "1.0 0.3", "0.4 1.2 2.5 1.6"),
    ("+3 +0 +3 +3 /0 /1 +2 +3 +3 +0 /1 +1 +2 +1", "", "1.8 2.9 1.10 3.6 3.5 3.2"),
    (
        "/1 /2 +2 +0 +3 +0 +1 +0 - +2 +2 +2 - +2",
        "0.1 0.3",
        "0.5 1.4 2.8 2.0 3.2 2.6 2.7 2.9",
    ),
    ("+2 - /1 +2 - +1 +3 +3 +1 +2 - +0", "2.0 2.1 1.2", "0.7 1.5 3.4 3.3 2.6"),
]
"""What Java 17 gave: calls (``+n`` adds an item of order n, ``-`` polls, ``/n`` removes those whose
number has the remainder n of three), what was polled, and the array at the end."""


@pytest.mark.parametrize(("calls", "polled", "array"), RECORDED)
def test_the_array_is_that_of_java(calls: str, polled: str, array: str) -> None:
    queue: JavaQueue[Item] = JavaQueue()
    number, gone = 0, []
    for call in calls.split():
        kind, argument = call[:1], call[1:]
        if kind == "+":
            queue.add(Item(int(argument), number))
            number += 1
        elif kind == "-":
            gone.append(queue.poll())
        else:
            queue.remove_if(lambda item, rest=int(argument): item.number % 3 == rest)
    assert " ".join(map(str, gone)) == polled
    assert " ".join(map(str, queue)) == array


@given(st.lists(st.tuples(st.sampled_from(["add", "poll", "remove"]), st.integers(0, 5))))
def test_it_holds_what_a_sorted_list_holds(calls: list[tuple[str, int]]) -> None:
    queue: JavaQueue[Item] = JavaQueue()
    model: list[Item] = []
    for number, (call, order) in enumerate(calls):
        if call == "add":
            queue.add(Item(order, number))
            model.append(Item(order, number))
        elif call == "remove":
            queue.remove_if(lambda item, order=order: item.order == order)
            model = [item for item in model if item.order != order]
        elif model:
            item = queue.poll()
            assert item.order == min(each.order for each in model)
            model.remove(item)
        first = queue.peek()
        assert (first is None) == (not model)
        assert len(queue) == len(model)
        items = [*queue]
        assert sorted(items, key=str) == sorted(model, key=str)
        assert all(items[(at - 1) // 2].order <= items[at].order for at in range(1, len(items)))


@given(st.lists(st.integers(0, 5)))
def test_a_queue_of_a_queue_has_the_same_array(orders: list[int]) -> None:
    """So the state does not change by being stored, or by an event that all matches ignore."""
    queue = JavaQueue(Item(order, number) for number, order in enumerate(orders))
    assert [*JavaQueue(queue)] == [*queue]

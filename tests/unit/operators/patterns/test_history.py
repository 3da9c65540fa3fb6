"""Which pattern holds at which time, after changes in any order."""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.operators.patterns.history import (
    REMOVED,
    ActivePattern,
    History,
    Timeline,
    with_change,
    without_past,
)

MATCHER: Any = None


def timeline(**histories: History) -> Timeline:
    return Timeline(
        histories.items(), lambda number, of, text: ActivePattern(number, of, {"": text}, MATCHER)
    )


def ids(made: Timeline, time_ms: int) -> list[tuple[int, str]]:
    return [(each.number, each.id) for each in made.at(time_ms)]


def test_each_pattern_holds_until_its_next_change() -> None:
    made = timeline(
        a=[(1, 10, "x"), (1, 15, "x"), (4, 30, "y")],
        b=[(2, 20, "x"), (3, 30, REMOVED)],
        c=[(5, -7, REMOVED)],
    )
    at = [9, 10, 19, 20, 29, 30, 99]
    assert [ids(made, each) for each in at] == [
        [],
        [(1, "a")],
        [(1, "a")],
        [(1, "a"), (2, "b")],
        [(1, "a"), (2, "b")],
        [(4, "a")],
        [(4, "a")],
    ]
    assert made.ends_ms == {1: 30, 2: 30}


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        ([], (1, 5, "x"), [(1, 5, "x")]),
        ([(1, 5, "x")], (3, 9, "y"), [(1, 5, "x"), (3, 9, "y")]),
        ([(1, 5, "x")], (3, 9, "x"), [(1, 5, "x"), (1, 9, "x")]),
        ([(1, 5, "x")], (3, 5, "x"), None),
        ([(1, 5, "x")], (3, 5, "y"), [(3, 5, "y")]),
        ([(1, 5, "x")], (3, 3, "y"), [(3, 3, "y"), (1, 5, "x")]),
        ([(1, 5, "x")], (3, 3, "x"), [(1, 3, "x"), (1, 5, "x")]),
        ([(1, 5, "x"), (3, 9, "y")], (5, 9, "x"), [(1, 5, "x"), (1, 9, "x")]),
        ([(1, 5, "x")], (3, 9, REMOVED), [(1, 5, "x"), (3, 9, REMOVED)]),
        (
            [(1, 5, "x"), (1, 9, "x")],
            (3, 7, "y"),
            [(1, 5, "x"), (3, 7, "y"), (4, 9, "x")],
        ),
        (
            [(1, 3, "x"), (3, 5, "y"), (4, 9, "x")],
            (5, 5, "x"),
            [(1, 3, "x"), (1, 5, "x"), (1, 9, "x")],
        ),
    ],
)
def test_a_change_is_put_in_its_place(before: History, change: Any, after: History | None) -> None:
    assert with_change(before, change) == after


@pytest.mark.parametrize(
    ("watermark", "left"),
    [(4, 4), (5, 4), (8, 4), (9, 3), (20, 2), (30, 0)],
)
def test_what_no_event_asks_for_is_removed(watermark: int, left: int) -> None:
    whole = [(1, 5, "x"), (2, 9, "y"), (3, 20, "z"), (4, 30, REMOVED)]
    assert without_past(whole, watermark) == whole[4 - left :]


CHANGES = st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["x", "y", REMOVED])), max_size=9)


@given(CHANGES, st.integers(-1, 10))
def test_the_last_change_of_the_latest_time_holds(changes: Any, watermark: int) -> None:
    history: History = []
    by_time: dict[int, str] = {}
    for number, (from_ms, data) in enumerate(changes):
        history = with_change(history, (2 * number, from_ms, data)) or history
        by_time[from_ms] = data
    assert [(from_ms, data) for _, from_ms, data in history] == sorted(by_time.items())
    for (number, _, data), (following, _, after) in pairwise(history):
        assert (number == following) == (data == after)
    parts = [number for number, _ in groupby(number for number, _, _ in history)]
    assert len({*parts}) == len(parts)
    whole, left = timeline(a=history), timeline(a=without_past(history, watermark))
    for time_ms in range(-1, 11):
        known = [data for at, data in sorted(by_time.items()) if at <= time_ms]
        expected = [] if not known or known[-1] == REMOVED else [known[-1]]
        assert [each.data[""] for each in whole.at(time_ms)] == expected
        if time_ms > watermark:
            assert ids(left, time_ms) == ids(whole, time_ms)

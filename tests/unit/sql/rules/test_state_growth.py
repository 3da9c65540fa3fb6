"""Which state grows without end, and how a time-to-live bounds it."""

from __future__ import annotations

import pytest

from headrace.sql.rel import (
    Aggregate,
    ChangelogNormalize,
    Column,
    CountWindowAggregate,
    Rel,
    Scan,
    SetOperation,
    Sort,
    Values,
)
from headrace.sql.rules.state_growth import growing_rows, growing_state
from headrace.sql.types import INT

SCAN = Scan(("c", "d", "t"), (Column("k", INT),))
ROWS = Values((Column("k", INT),), ())
GROWING: dict[str, tuple[Rel, str]] = {
    "groups": (Aggregate(SCAN, ("k",), ()), "GroupAggregate(groupBy=[k])"),
    "rows by key": (ChangelogNormalize(SCAN, ("k",)), "ChangelogNormalize(key=[k])"),
    "set operation": (SetOperation(SCAN, SCAN, "EXCEPT", all=False), "EXCEPT keeps each row"),
}


@pytest.mark.parametrize("name", GROWING)
def test_a_time_to_live_ends_the_warning(name: str) -> None:
    rel, named = GROWING[name]
    (found,) = growing_state(rel, 0)
    assert found.startswith(named)
    assert "set table.exec.state.ttl" in found
    assert growing_state(rel, 1) == []


def test_a_hint_is_stronger() -> None:
    assert growing_state(Aggregate(SCAN, ("k",), (), ttl_ms=1), 0) == []
    assert len(growing_state(Aggregate(SCAN, ("k",), (), ttl_ms=0), 1)) == 1


def test_windows_of_a_number_of_rows_have_no_time_to_live() -> None:
    windows = CountWindowAggregate(SCAN, ("k",), (), 2, 2)
    assert growing_state(windows, 0) == growing_state(windows, 1)
    assert "have no time-to-live" in growing_state(windows, 1)[0]


@pytest.mark.parametrize(
    "rel",
    [
        Aggregate(SCAN, (), ()),
        Sort(SCAN, (), 0, 3),
        Aggregate(ROWS, ("k",), ()),
        SetOperation(ROWS, ROWS, "EXCEPT", all=True),
        CountWindowAggregate(SCAN, (), (), 2, 2),
    ],
    ids=["one group", "LIMIT", "of constants", "EXCEPT of constants", "one window"],
)
def test_what_does_not_grow_is_not_warned_of(rel: Rel) -> None:
    assert growing_state(rel, 0) == []


def test_a_sink_that_keeps_rows_grows() -> None:
    (found,) = growing_rows("t", SCAN, 0)
    assert found.startswith("Sink(table=[t]) keeps the rows of each primary key without end")
    assert growing_rows("t", SCAN, 1) == []
    assert growing_rows("t", ROWS, 0) == []

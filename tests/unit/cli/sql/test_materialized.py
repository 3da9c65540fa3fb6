"""The table that a changelog makes."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from headrace.cli.sql.materialized import MaterializedRows
from headrace.common.types import Row, RowKind


def change(kind: RowKind, *values: object) -> Row:
    row = Row(*values)
    row.set_row_kind(kind)
    return row


def values(rows: list[Row]) -> list[tuple[object, ...]]:
    return [tuple(row._values) for row in rows]


def test_an_update_stays_in_its_place() -> None:
    table = MaterializedRows(10)
    table.add(change(RowKind.INSERT, "ann", 1))
    table.add(change(RowKind.INSERT, "bob", 1))
    table.add(change(RowKind.UPDATE_BEFORE, "ann", 1))
    assert values(table.rows()) == [("bob", 1)] and len(table) == 1
    table.add(change(RowKind.UPDATE_AFTER, "ann", 2))
    assert values(table.rows()) == [("ann", 2), ("bob", 1)]
    assert values(table.last(1)) == [("bob", 1)]
    assert table.changes == 4


def test_a_row_that_is_taken_back_without_another_goes() -> None:
    table = MaterializedRows(10)
    table.add(change(RowKind.INSERT, [1]))
    table.add(change(RowKind.UPDATE_BEFORE, [1]))
    table.add(change(RowKind.INSERT, [2]))
    assert values(table.rows()) == [([2],)]
    table.add(change(RowKind.DELETE, [2]))
    assert values(table.rows()) == []


def test_rows_beyond_the_limit_are_dropped_and_not_missed() -> None:
    table = MaterializedRows(2)
    for number in (1, 2, 3, 1):
        table.add(change(RowKind.INSERT, number))
    assert values(table.rows()) == [(3,), (1,)]
    table.add(change(RowKind.DELETE, 2))
    table.add(change(RowKind.UPDATE_BEFORE, 2))
    table.add(change(RowKind.UPDATE_AFTER, 4))
    assert values(table.rows()) == [(1,), (4,)]


@given(st.lists(st.tuples(st.sampled_from([*RowKind]), st.integers(0, 3)), max_size=60))
def test_the_rows_are_those_of_a_bag(changes: list[tuple[RowKind, int]]) -> None:
    table, bag = MaterializedRows(1000), Counter[int]()
    for kind, value in changes:
        if kind in (RowKind.UPDATE_BEFORE, RowKind.DELETE):
            if not bag[value]:
                continue
            bag[value] -= 1
        else:
            bag[value] += 1
        table.add(change(kind, value))
        rows = table.rows()
        assert Counter(row._values[0] for row in rows) == +bag
        assert len(table) == len(rows)
        assert values(table.last(2)) == values(rows[-2:])

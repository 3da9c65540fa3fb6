"""Which tables of aligned windows are dropped, and when."""

from __future__ import annotations

import pytest

from headrace.operators.windows.aligned.grid import Grid
from headrace.operators.windows.aligned.tables import WindowTables
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.kinds import StateKind


@pytest.mark.parametrize(
    ("can_merge", "starts", "kept"),
    [
        (True, [0, 4, 8, 12], [8, 12]),  # panes of 4 ms: that at 4 belongs to the window at 0
        (False, [0, 8], [8]),
    ],
)
def test_tables_that_only_ended_windows_need_are_dropped(
    can_merge: bool, starts: list[int], kept: list[int]
) -> None:
    tables = WindowTables(Grid(12, 8, 0), can_merge, StateKind("value"))
    tables.attach(HeapBackend())
    for start in starts:
        tables.table_at(start)
    tables.drop_before(0)
    assert sorted(tables.starts()) == kept

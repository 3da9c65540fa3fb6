"""The state of aligned windows: one table by key for each open window or pane."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from headrace.errors import CheckpointError
from headrace.operators.windows.aligned.grid import Grid
from headrace.operators.windows.contents import SLOT
from headrace.runtime.state.backend import KeyedTable, NamespaceTables, StateBackend
from headrace.runtime.state.kinds import StateKind

PANE = "pane"

_MAX_LOOKUPS = 1000
"""Up to this many panes of a window are looked up one by one; beyond, all tables are scanned."""


def layout_kind(grid: Grid, can_merge: bool) -> str:
    """Return how a grid's windows are stored: a part of the operator's kind in checkpoints."""
    if not (can_merge and grid.overlaps):
        return f"windows-of-{grid.size_ms}-ms"
    start_ms = grid.offset_ms % grid.pane_ms
    return f"panes-of-{grid.pane_ms}-ms" + (f"-from-{start_ms}" if start_ms else "")


class WindowTables:
    """Tables by window, or by pane if the accumulators of panes can be merged.

    ``by_pane``: a record is stored once, however many windows contain it.
    """

    def __init__(self, grid: Grid, can_merge: bool, kind: StateKind) -> None:
        self._grid = grid
        self.by_pane = can_merge and grid.overlaps
        self._kind = kind
        self._backend: StateBackend | None = None
        self._tables: NamespaceTables

    def attach(self, backend: StateBackend) -> None:
        """Use the tables of a state backend."""
        if backend is not self._backend:
            self._backend, self._tables = backend, backend.tables
            self._tables.declare(SLOT, self._kind)
            for namespace in self._tables.namespaces():
                self._check_namespace(namespace)

    def _check_namespace(self, namespace: Any) -> None:
        """Raise CheckpointError if a stored table has other panes or windows than the program."""
        if (namespace[0] == PANE) is not self.by_pane:
            raise CheckpointError(
                "the program keeps records by pane, but the checkpoint has them by window"
                if self.by_pane
                else "the program keeps records by window, but the checkpoint has them by pane",
                hint="restore the window's function, or give the operator another uid",
            )
        if self._namespace_of(self._start(namespace)) != namespace:
            size_ms = namespace[1] - namespace[0]
            raise CheckpointError(
                f"the checkpoint has windows of {size_ms} ms, but the program has windows of"
                f" {self._grid.size_ms} ms",
                hint="restore the window's size, or give the operator another uid",
            )
        if self.by_pane and self._grid.pane_of(namespace[1]) != namespace[1]:
            raise CheckpointError(
                "the checkpoint has records by pane, and a pane does not begin where one of the"
                " program's windows begins",
                where={
                    "pane": f"{namespace[1]} ms",
                    "program": f"panes of {self._grid.pane_ms} ms",
                },
                hint="restore size and slide, or give the operator another uid",
            )

    def table_starts(self, pane: int, windows: list[int]) -> list[int]:
        """Return the starts of the tables to which a record of ``pane`` in ``windows`` is added."""
        return [pane] if self.by_pane else windows

    def table_at(self, start: int) -> KeyedTable:
        """Return the table with the given start; it is created if missing."""
        return self._tables.table(self._namespace_of(start))

    def starts(self) -> list[int]:
        """Return the starts of all tables."""
        return [*map(self._start, self._tables.namespaces())]

    def tables_of(self, window: int) -> list[KeyedTable]:
        """Return the existing tables of a window, in order of time."""
        if not self.by_pane:
            return [self.table_at(window)]
        return [self.table_at(pane) for pane in self._list_existing(self._grid.panes_of(window))]

    def windows(self) -> list[int]:
        """Return the starts of all windows that have tables, including windows that have ended."""
        starts = self.starts()
        if not self.by_pane:
            return starts
        window_starts: list[int] = []
        for start in sorted(starts):
            # Adjacent panes share nearly all of their windows, which may be thousands.
            windows = self._grid.windows_of(start)
            known = bisect_right(windows, window_starts[-1]) if window_starts else 0
            window_starts += windows[known:]
        return window_starts

    def drop(self, window: int) -> None:
        """Drop the tables that only this window, or windows before it, need."""
        if not self.by_pane:
            self._tables.drop(self._namespace_of(window))
            return
        grid = self._grid
        for pane in self._list_existing(range(window, window + grid.slide_ms, grid.pane_ms)):
            self._tables.drop(self._namespace_of(pane))

    def drop_before(self, window: int) -> None:
        """Drop the tables that no window after ``window`` needs."""
        for start in self.starts():
            last = start if not self.by_pane else self._grid.last_window_of(start)
            if last <= window:
                self._tables.drop(self._namespace_of(start))

    def _list_existing(self, starts: range) -> list[int]:
        """Return the starts that have a table."""
        if len(starts) > _MAX_LOOKUPS:
            return sorted(start for start in self.starts() if start in starts)
        has, namespace = self._tables.has, self._namespace_of
        return [start for start in starts if has(namespace(start))]

    def _start(self, namespace: Any) -> int:
        start: int = namespace[1 if self.by_pane else 0]
        return start

    def _namespace_of(self, start: int) -> Any:
        return (PANE, start) if self.by_pane else (start, start + self._grid.size_ms)

"""How the rows of a query are shown: as a table that changes, as changes, or line by line."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence

from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from headrace.cli.sql.materialized import MaterializedRows
from headrace.common.types import Row
from headrace.runners.signals import default_interrupts
from headrace.table._results.tableau import print_rows
from headrace.table.table_result import KIND_CODES, TableResult

KEPT_CHANGES = 1000
"""How many changes are kept of a changelog that is shown; Flink's client keeps as many."""

_REFRESHES_PER_SECOND = 4
_LINES_AROUND = 6

Cells = Callable[[Row], list[str]]


class TableView:
    """The rows that are there after all changes."""

    kinds = False

    def __init__(self, limit: int) -> None:
        self._rows = MaterializedRows(limit)

    @property
    def received(self) -> int:
        """How many changes have come."""
        return self._rows.changes

    def add(self, row: Row) -> None:
        """Apply a change."""
        self._rows.add(row)

    def page(self, height: int, cells: Cells) -> tuple[list[list[str]], int]:
        """Return the last rows."""
        shown = self._rows.last(height)
        return [cells(row) for row in shown], len(self._rows) - len(shown)

    def all(self, cells: Cells) -> list[list[str]]:
        """Return all rows."""
        return [cells(row) for row in self._rows.rows()]


class ChangelogView:
    """The last changes."""

    kinds = True

    def __init__(self) -> None:
        self._changes: deque[Row] = deque(maxlen=KEPT_CHANGES)
        self.received = 0

    def add(self, row: Row) -> None:
        """Keep a change."""
        self.received += 1
        self._changes.append(row)

    def page(self, height: int, cells: Cells) -> tuple[list[list[str]], int]:
        """Return the last changes."""
        shown = [*self._changes][-height:]
        return self._cells(shown, cells), self.received - len(shown)

    def all(self, cells: Cells) -> list[list[str]]:
        """Return the changes that are kept."""
        return self._cells(self._changes, cells)

    def _cells(self, rows: Sequence[Row] | deque[Row], cells: Cells) -> list[list[str]]:
        return [[KIND_CODES[row.get_row_kind()], *cells(row)] for row in rows]


def show_live(result: TableResult, view: TableView | ChangelogView, console: Console) -> bool:
    """Show rows in place while they come, then print them; return False if Ctrl-C ended the query.

    Its job has ended when this returns.
    """
    lock = threading.Lock()

    def frame() -> RenderableType:
        with lock:
            height = max(1, console.size.height - _LINES_AROUND)
            shown, above = view.page(height, result._cells)
            received = view.received
        return _table(result, view.kinds, shown, above, received)

    finished = True
    with (
        result._take() as rows,
        default_interrupts(),
        Live(
            get_renderable=frame,
            console=console,
            refresh_per_second=_REFRESHES_PER_SECOND,
            transient=True,
        ),
    ):
        try:
            for row in rows:
                with lock:
                    view.add(row)
        except KeyboardInterrupt:
            finished = False
    with lock:
        cells = view.all(result._cells)
    print_cells(result, view.kinds, cells, console)
    return finished


def print_cells(
    result: TableResult, kinds: bool, cells: Sequence[Sequence[str]], console: Console
) -> None:
    """Print rows of texts as a table, with their number."""
    print_rows(result._columns, kinds, cells, _writer(console), result._max_width)


def print_as_they_come(result: TableResult, console: Console) -> bool:
    """Print each row when it comes; return False if Ctrl-C ended the query."""
    with result._take() as rows, default_interrupts():
        try:
            texts = result._texts(rows)
            print_rows(result._columns, result._changes, texts, _writer(console), result._max_width)
        except KeyboardInterrupt:
            return False
    return True


def _writer(console: Console) -> Callable[[str], object]:
    return lambda text: print(text, file=console.file, flush=console.is_terminal)


def _table(
    result: TableResult, kinds: bool, shown: list[list[str]], above: int, received: int
) -> Table:
    changes = "1 change" if received == 1 else f"{received:,} changes"
    table = Table(
        caption=f"{changes} so far; Ctrl-C ends the query", caption_justify="left", show_edge=True
    )
    if kinds:
        table.add_column("op")
    for column in result._columns:
        table.add_column(Text(column.name), justify="right", no_wrap=True, overflow="ellipsis")
    if above:
        before = "1 more row" if above == 1 else f"{above:,} more rows"
        table.title = f"{before} before these"
    for cells in shown:
        table.add_row(*(Text(cell) for cell in cells))
    return table

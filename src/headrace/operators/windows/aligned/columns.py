"""The second of two phases of windows one after the other, for records that come as columns.

Partial results stay columns until their window fires. What is open when a micro-batch ends goes to
the tables of rows, where it finds what earlier micro-batches left, or rows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from headrace.common._output_tag import OutputTag
from headrace.common._windows import TimeWindow
from headrace.common.watermark_strategy import MAX_WATERMARK
from headrace.operators.aggregates.aggregate import Fold
from headrace.operators.windows.aligned.grid import Grid, panes_of
from headrace.operators.windows.aligned.operator import AlignedWindowOperator
from headrace.operators.windows.windowing import Windowing
from headrace.runtime.loops import Push
from headrace.runtime.operator import Outputs, Signal
from headrace.runtime.state.backend import MISSING

if TYPE_CHECKING:
    import numpy as np

    from headrace.operators.windows.aligned.partials import Partials
    from headrace.runtime.columns.batch import Columns
    from headrace.runtime.columns.keys import ColumnKeys

MOST_PARTIALS = 1 << 19
"""So many are kept as columns; where there are more, all go to the tables."""


class WaitingColumns(AlignedWindowOperator):
    """Keeps columns until their windows fire, all that are due at once.

    What is open at the end of a micro-batch goes to the tables.
    """

    def __init__(self, windowing: Windowing, grid: Grid) -> None:
        super().__init__(windowing, grid)
        self._reached_ms: int | None = None
        """A watermark that has come: its windows fire, with others, when the micro-batch ends."""

    @property
    @abstractmethod
    def _has_columns(self) -> bool:
        """Whether columns wait."""

    @abstractmethod
    def _drop_columns(self) -> None:
        """Forget the columns that wait."""

    @abstractmethod
    def _to_tables(self) -> None:
        """The columns that wait go to the tables."""

    @abstractmethod
    def _fire_waiting(self, watermark: int) -> None:
        """Fire the windows of columns that are due, and those of tables between them."""

    def bind(self, outputs: Outputs) -> Push:
        """Keyed operators take blocks; see ``process`` and ``process_columns``."""
        self._outputs = outputs
        return super().bind(outputs)

    def restore(self, state: Any | None) -> None:
        """A call begins; what one that failed has left is dropped."""
        super().restore(state)
        self._reached_ms = None
        self._drop_columns()

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        """Put each record of a block into its window."""
        self._catch_up()
        self._to_tables()
        super().process(keys, values, timestamps)

    def complete(self) -> None:
        """The micro-batch ends: what is due fires, and what is open goes to the tables."""
        self._catch_up()
        self._to_tables()

    def watermark(self, watermark: int, idle: bool, signal: Signal) -> None:
        """Let a watermark wait where columns do: then all that is due fires at once.

        What comes after it for a window that it ends is late all the same.
        """
        self._signal = signal
        if self._has_columns and not idle and watermark < MAX_WATERMARK:
            self._reached_ms = watermark
        else:
            self._reached_ms = None  # this one is later
            super().watermark(watermark, idle, signal)

    def _catch_up(self) -> None:
        """Fire what the watermark that waits has ended."""
        if self._reached_ms is not None:
            reached_ms, self._reached_ms = self._reached_ms, None
            super().watermark(reached_ms, False, self._signal)

    def _advance(self, watermark: int) -> None:
        """Fire what is due in the order of time, from columns and tables."""
        self._fire_waiting(watermark)
        super()._advance(watermark)

    def _fire_tables(self, start: int) -> None:
        """Fire the window of a table, and all before it."""
        end_ms = start + self._grid.size_ms - 1
        super()._advance(end_ms)
        self._reached = max(self._reached, end_ms)


class ColumnWindowOperator(WaitingColumns):
    """Merges columns of partial results. ``fold``: what comes of records."""

    def __init__(self, windowing: Windowing, grid: Grid, fold: Fold) -> None:
        super().__init__(windowing, grid)
        self._fold_of_columns = fold
        self._waiting: list[Any] = []
        """Batches of partial results whose windows have not fired."""
        self._partials: Partials | None = None

    @property
    def _has_columns(self) -> bool:
        return bool(self._waiting)

    def _drop_columns(self) -> None:
        self._waiting = []

    # Records

    def process_columns(self, keys: ColumnKeys, columns: Columns) -> None:
        """Keep partial results, those that were sent, or those of the records that were."""
        from headrace.operators.windows.aligned.partials import COUNT, partials_of
        from headrace.runtime.columns.keys import ColumnKeys

        partials = partials_of(self._fold_of_columns, keys.names, self._grid, columns)
        if partials != self._partials:
            self._to_tables()
            self._partials = partials
        if columns.shape == partials.shape:
            batch = columns.batch
        else:
            if self._windowing.late_tag is not None:
                columns = self._in_time(columns, self._windowing.late_tag)
                keys = ColumnKeys(columns, keys.names)
                if not len(columns):
                    return
            taken = partials.taken(columns)
            if taken is None:
                times = columns.timestamps
                self.process([*keys], columns.rows(), None if times is None else [*times])
                return
            batch = partials.made([taken])
        late = _panes(batch) <= self.key_context.watermark - self._grid.size_ms + 1
        if late.any():
            counts = batch.column(COUNT).to_numpy()
            self._late.inc(int(counts[late].sum()))
            batch = _where(batch, ~late)
        if batch.num_rows:
            self._keep(batch)

    def _in_time(self, columns: Columns, tag: OutputTag) -> Columns:
        """The records that are not late; the late ones go to the side output."""
        panes = panes_of(columns.times, self._grid.pane_ms, self._grid.offset_ms)
        if panes is None:
            return columns  # they are looked at one by one
        late = panes <= self.key_context.watermark - self._grid.size_ms + 1
        if not late.any():
            return columns
        import numpy as np

        self._outputs.side_columns(tag.tag_id)(columns.take(np.flatnonzero(late)))
        return columns.take(np.flatnonzero(~late))

    def _keep(self, batch: Any) -> None:
        waiting = self._waiting
        if waiting and not waiting[0].schema.equals(batch.schema):
            self._to_tables()
        self._waiting.append(batch)
        if sum(each.num_rows for each in self._waiting) > MOST_PARTIALS:
            self._catch_up()
            merged = self._merge_up()
            if merged is not None and merged.num_rows > MOST_PARTIALS // 2:
                self._to_tables()

    def _merge_up(self) -> Any | None:
        """All that waits as one batch, sorted by pane; None where nothing does.

        Sums that might not fit their column go to the tables.
        """
        import numpy as np
        import pyarrow as pa

        partials = self._partials
        if not self._waiting or partials is None:
            return None
        batch = partials.merged(self._waiting)
        if batch is None:
            self._to_tables()
            return None
        order = np.argsort(_panes(batch), kind="stable")
        self._waiting = [batch.take(pa.array(order))]
        return self._waiting[0]

    def _to_tables(self) -> None:
        waiting, self._waiting = self._waiting, []
        for batch in waiting:
            self._put(batch)

    def _put(self, batch: Any) -> None:
        assert self._partials is not None and self._folding is not None
        node, missing, merge = self.node, MISSING, self._folding.merge  # noqa: F841
        self._tables.attach(self.key_context.backend)
        at = table = changed = None
        for key, pane, held in self._partials.held(batch):
            if pane != at:
                at = pane
                self._scheduled().expect(pane, self._reached)
                table, changed = self._target(pane)
            before = table[key]  # type: ignore[index]
            table[key] = held if before is missing or before is None else merge(before, held)  # type: ignore[index]
            changed(key)  # type: ignore[misc]

    # Firing

    def _fire_waiting(self, watermark: int) -> None:
        merged = self._merge_up()
        if merged is not None:
            panes = _panes(merged)
            due = int(panes.searchsorted(watermark - self._grid.size_ms + 1, "right"))
            if due:
                self._waiting = [merged.slice(due)] if due < merged.num_rows else []
                self._fire_columns(merged.slice(0, due))

    def _fire_columns(self, batch: Any) -> None:
        """Fire windows of a batch that is sorted by pane, and those of tables between them."""
        self._tables.attach(self.key_context.backend)
        done = 0
        panes = _panes(batch)
        for start in sorted(self._tables.starts()):
            first = int(panes.searchsorted(start, "left"))
            if first >= len(panes):
                break
            stop = int(panes.searchsorted(start, "right"))
            self._emit_columns(batch.slice(done, first - done))
            self._put(batch.slice(first, stop - first))
            self._fire_tables(start)
            done = stop
        self._emit_columns(batch.slice(done))

    def _emit_columns(self, batch: Any) -> None:
        """Emit the results of windows that the tables have nothing of."""
        partials = self._partials
        if not batch.num_rows or partials is None:
            return
        if self._firing.calls:
            self._call_each(partials.held(batch))
            return
        import pyarrow.compute as pc

        from headrace.operators.windows.aligned.partials import PANE
        from headrace.runtime.columns.batch import Columns

        node = self.node  # noqa: F841  for ``annotate``
        function: Any = self._windowing.contents.functions[0].target
        results, shape = partials.results(batch, function)
        times = pc.add(batch.column(PANE), self._grid.size_ms - 1)
        self._outputs.columns(Columns(results, shape, times))

    def _call_each(self, found: Iterable[tuple[Any, int, Any]]) -> None:
        start: int | None = None
        held: list[tuple[Any, Any]] = []
        for key, pane, value in found:
            if pane != start:
                self._fire_held(start, held)
                start, held = pane, []
            held.append((key, value))
        self._fire_held(start, held)

    def _fire_held(self, start: int | None, held: list[tuple[Any, Any]]) -> None:
        if start is not None:
            window = TimeWindow(start, start + self._grid.size_ms)
            self._results(window, held)
            if self._clears:
                self._clear(window, [key for key, _ in held])


def _panes(batch: Any) -> np.ndarray[Any, Any]:
    from headrace.operators.windows.aligned.partials import PANE

    found: np.ndarray[Any, Any] = batch.column(PANE).to_numpy()
    return found


def _where(batch: Any, wanted: np.ndarray[Any, Any]) -> Any:
    import numpy as np
    import pyarrow as pa

    return batch.take(pa.array(np.flatnonzero(wanted)))

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
from headrace.runtime.operator import Outputs, PushWatermark
from headrace.runtime.state.backend import MISSING

if TYPE_CHECKING:
    import numpy as np

    from headrace.operators.windows.aligned.partials import PartialAggregator
    from headrace.runtime.columns.batch import Columns
    from headrace.runtime.columns.keys import ColumnKeys

MAX_BUFFERED_ROWS = 1 << 19
"""So many are kept as columns; where there are more, all go to the tables."""


class BufferedColumnsOperator(AlignedWindowOperator):
    """Keeps columns until their windows fire, all that are due at once.

    What is open at the end of a micro-batch goes to the tables.
    """

    def __init__(self, windowing: Windowing, grid: Grid) -> None:
        super().__init__(windowing, grid)
        self._deferred_watermark: int | None = None
        """A watermark that has come: its windows fire, with others, when the micro-batch ends."""

    @property
    @abstractmethod
    def _has_buffered(self) -> bool:
        """Whether columns wait."""

    @abstractmethod
    def _clear_buffer(self) -> None:
        """Forget the columns that wait."""

    @abstractmethod
    def _write_to_tables(self) -> None:
        """The columns that wait go to the tables."""

    @abstractmethod
    def _fire_buffered(self, watermark: int) -> None:
        """Fire the windows of columns that are due, and those of tables between them."""

    def bind(self, outputs: Outputs) -> Push:
        """Keyed operators take blocks; see ``process`` and ``process_columns``."""
        self._outputs = outputs
        return super().bind(outputs)

    def restore(self, state: Any | None) -> None:
        """A call begins; what one that failed has left is dropped."""
        super().restore(state)
        self._deferred_watermark = None
        self._clear_buffer()

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        """Put each record of a block into its window."""
        self._apply_deferred_watermark()
        self._write_to_tables()
        super().process(keys, values, timestamps)

    def complete(self) -> None:
        """The micro-batch ends: what is due fires, and what is open goes to the tables."""
        self._apply_deferred_watermark()
        self._write_to_tables()

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        """Let a watermark wait where columns do: then all that is due fires at once.

        What comes after it for a window that it ends is late all the same.
        """
        self._signal = push_watermark
        if self._has_buffered and not idle and watermark < MAX_WATERMARK:
            self._deferred_watermark = watermark
        else:
            self._deferred_watermark = None  # this one is later
            super().watermark(watermark, idle, push_watermark)

    def _apply_deferred_watermark(self) -> None:
        """Fire what the watermark that waits has ended."""
        if self._deferred_watermark is not None:
            deferred, self._deferred_watermark = self._deferred_watermark, None
            super().watermark(deferred, False, self._signal)

    def _advance(self, watermark: int) -> None:
        """Fire what is due in the order of time, from columns and tables."""
        self._fire_buffered(watermark)
        super()._advance(watermark)

    def _fire_tables(self, start: int) -> None:
        """Fire the window of a table, and all before it."""
        end_ms = start + self._grid.size_ms - 1
        super()._advance(end_ms)
        self._last_watermark = max(self._last_watermark, end_ms)


class ColumnWindowOperator(BufferedColumnsOperator):
    """Merges columns of partial results. ``fold``: what comes of records."""

    def __init__(self, windowing: Windowing, grid: Grid, fold: Fold) -> None:
        super().__init__(windowing, grid)
        self._fold_function = fold
        self._buffer: list[Any] = []
        """Batches of partial results whose windows have not fired."""
        self._aggregator: PartialAggregator | None = None

    @property
    def _has_buffered(self) -> bool:
        return bool(self._buffer)

    def _clear_buffer(self) -> None:
        self._buffer = []

    # Records

    def process_columns(self, keys: ColumnKeys, columns: Columns) -> None:
        """Keep partial results, those that were sent, or those of the records that were."""
        from headrace.operators.windows.aligned.partials import COUNT, partial_aggregator
        from headrace.runtime.columns.keys import ColumnKeys

        aggregator = partial_aggregator(self._fold_function, keys.names, self._grid, columns)
        if aggregator != self._aggregator:
            self._write_to_tables()
            self._aggregator = aggregator
        if columns.shape == aggregator.shape:
            batch = columns.batch
        else:
            if self._windowing.late_tag is not None:
                columns = self._emit_late(columns, self._windowing.late_tag)
                keys = ColumnKeys(columns, keys.names)
                if not len(columns):
                    return
            projected = aggregator.project(columns)
            if projected is None:
                times = columns.timestamps
                self.process([*keys], columns.rows(), None if times is None else [*times])
                return
            batch = aggregator.aggregate([projected])
        late = _pane_starts(batch) <= self.key_context.watermark - self._grid.size_ms + 1
        if late.any():
            counts = batch.column(COUNT).to_numpy()
            self._late_counter.inc(int(counts[late].sum()))
            batch = _filter_rows(batch, ~late)
        if batch.num_rows:
            self._add_to_buffer(batch)

    def _emit_late(self, columns: Columns, tag: OutputTag) -> Columns:
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

    def _add_to_buffer(self, batch: Any) -> None:
        buffer = self._buffer
        if buffer and not buffer[0].schema.equals(batch.schema):
            self._write_to_tables()
        self._buffer.append(batch)
        if sum(each.num_rows for each in self._buffer) > MAX_BUFFERED_ROWS:
            self._apply_deferred_watermark()
            merged = self._merge_buffer()
            if merged is not None and merged.num_rows > MAX_BUFFERED_ROWS // 2:
                self._write_to_tables()

    def _merge_buffer(self) -> Any | None:
        """All that waits as one batch, sorted by pane; None where nothing does.

        Sums that might not fit their column go to the tables.
        """
        import numpy as np
        import pyarrow as pa

        aggregator = self._aggregator
        if not self._buffer or aggregator is None:
            return None
        batch = aggregator.merge(self._buffer)
        if batch is None:
            self._write_to_tables()
            return None
        order = np.argsort(_pane_starts(batch), kind="stable")
        self._buffer = [batch.take(pa.array(order))]
        return self._buffer[0]

    def _write_to_tables(self) -> None:
        buffer, self._buffer = self._buffer, []
        for batch in buffer:
            self._write_batch(batch)

    def _write_batch(self, batch: Any) -> None:
        assert self._aggregator is not None and self._folding is not None
        node, missing, merge = self.node, MISSING, self._folding.merge  # noqa: F841
        self._tables.attach(self.key_context.backend)
        current_pane = table = changed = None
        for key, pane, accumulator in self._aggregator.accumulators(batch):
            if pane != current_pane:
                current_pane = pane
                self._current_schedule().add_window(pane, self._last_watermark)
                table, changed = self._table_target(pane)
            stored = table[key]  # type: ignore[index]
            table[key] = (  # type: ignore[index]
                accumulator if stored is missing or stored is None else merge(stored, accumulator)
            )
            changed(key)  # type: ignore[misc]

    # Firing

    def _fire_buffered(self, watermark: int) -> None:
        merged = self._merge_buffer()
        if merged is not None:
            panes = _pane_starts(merged)
            due = int(panes.searchsorted(watermark - self._grid.size_ms + 1, "right"))
            if due:
                self._buffer = [merged.slice(due)] if due < merged.num_rows else []
                self._fire_columns(merged.slice(0, due))

    def _fire_columns(self, batch: Any) -> None:
        """Fire windows of a batch that is sorted by pane, and those of tables between them."""
        self._tables.attach(self.key_context.backend)
        done = 0
        panes = _pane_starts(batch)
        for start in sorted(self._tables.starts()):
            first = int(panes.searchsorted(start, "left"))
            if first >= len(panes):
                break
            stop = int(panes.searchsorted(start, "right"))
            self._emit_columns(batch.slice(done, first - done))
            self._write_batch(batch.slice(first, stop - first))
            self._fire_tables(start)
            done = stop
        self._emit_columns(batch.slice(done))

    def _emit_columns(self, batch: Any) -> None:
        """Emit the results of windows that the tables have nothing of."""
        aggregator = self._aggregator
        if not batch.num_rows or aggregator is None:
            return
        if self._firing.has_function:
            self._call_each(aggregator.accumulators(batch))
            return
        import pyarrow.compute as pc

        from headrace.operators.windows.aligned.partials import PANE
        from headrace.runtime.columns.batch import Columns

        node = self.node  # noqa: F841  for ``annotate``
        function: Any = self._windowing.contents.functions[0].target
        results, shape = aggregator.results(batch, function)
        times = pc.add(batch.column(PANE), self._grid.size_ms - 1)
        self._outputs.columns(Columns(results, shape, times))

    def _call_each(self, partials: Iterable[tuple[Any, int, Any]]) -> None:
        start: int | None = None
        accumulators: list[tuple[Any, Any]] = []
        for key, pane, accumulator in partials:
            if pane != start:
                self._fire_window(start, accumulators)
                start, accumulators = pane, []
            accumulators.append((key, accumulator))
        self._fire_window(start, accumulators)

    def _fire_window(self, start: int | None, accumulators: list[tuple[Any, Any]]) -> None:
        if start is not None:
            window = TimeWindow(start, start + self._grid.size_ms)
            self._emit_results(window, accumulators)
            if self._needs_cleanup:
                self._clear_keys(window, [key for key, _ in accumulators])


def _pane_starts(batch: Any) -> np.ndarray[Any, Any]:
    from headrace.operators.windows.aligned.partials import PANE

    found: np.ndarray[Any, Any] = batch.column(PANE).to_numpy()
    return found


def _filter_rows(batch: Any, wanted: np.ndarray[Any, Any]) -> Any:
    import numpy as np
    import pyarrow as pa

    return batch.take(pa.array(np.flatnonzero(wanted)))

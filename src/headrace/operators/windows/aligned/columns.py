"""Aligned windows over columns: partial aggregates, or records, are buffered as columns.

They stay columns until their window fires. Those of open windows are written to the window tables
at the end of the micro-batch, where they are merged with what earlier micro-batches left.
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
"""With more rows in the buffer, all are written to the tables."""


class BufferedColumnsOperator(AlignedWindowOperator):
    """Base class: buffers columns until their windows fire, all that are due at once.

    Columns of open windows are written to the tables at the end of the micro-batch.
    """

    def __init__(self, windowing: Windowing, grid: Grid) -> None:
        super().__init__(windowing, grid)
        self._deferred_watermark: int | None = None
        """A watermark that was received while columns are buffered: its windows fire with those of
        later watermarks, at the end of the micro-batch."""

    @property
    @abstractmethod
    def _has_buffered(self) -> bool:
        """Whether columns are buffered."""

    @abstractmethod
    def _clear_buffer(self) -> None:
        """Drop the buffered columns."""

    @abstractmethod
    def _write_to_tables(self) -> None:
        """Write the buffered columns to the tables."""

    @abstractmethod
    def _fire_buffered(self, watermark: int) -> None:
        """Fire the due windows of buffered columns, and windows of tables in between."""

    def bind(self, outputs: Outputs) -> Push:
        self._outputs = outputs
        return super().bind(outputs)

    def restore(self, state: Any | None) -> None:
        """Start a task run, and drop the columns of a failed one."""
        super().restore(state)
        self._deferred_watermark = None
        self._clear_buffer()

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        self._apply_deferred_watermark()
        self._write_to_tables()
        super().process(keys, values, timestamps)

    def complete(self) -> None:
        """Fire all due windows, and write the columns of open windows to the tables."""
        self._apply_deferred_watermark()
        self._write_to_tables()

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        """Defer a watermark while columns are buffered, so that all due windows fire at once.

        Records after it, of windows that it ends, are late all the same.
        """
        self._signal = push_watermark
        if self._has_buffered and not idle and watermark < MAX_WATERMARK:
            self._deferred_watermark = watermark
        else:
            self._deferred_watermark = None  # replaced by this later one
            super().watermark(watermark, idle, push_watermark)

    def _apply_deferred_watermark(self) -> None:
        """Fire the windows that the deferred watermark ends, and pass it on."""
        if self._deferred_watermark is not None:
            deferred, self._deferred_watermark = self._deferred_watermark, None
            super().watermark(deferred, False, self._signal)

    def _advance(self, watermark: int) -> None:
        """Fire due windows in order of time, from columns and tables."""
        self._fire_buffered(watermark)
        super()._advance(watermark)

    def _fire_tables(self, start: int) -> None:
        """Fire a window of the tables, and all windows before it."""
        end_ms = start + self._grid.size_ms - 1
        super()._advance(end_ms)
        self._last_watermark = max(self._last_watermark, end_ms)


class ColumnWindowOperator(BufferedColumnsOperator):
    """Merges partial aggregates in columns; their second phase. ``fold``: the aggregates."""

    def __init__(self, windowing: Windowing, grid: Grid, fold: Fold) -> None:
        super().__init__(windowing, grid)
        self._fold_function = fold
        self._buffer: list[Any] = []
        """Record batches of partial aggregates whose windows have not fired."""
        self._aggregator: PartialAggregator | None = None

    @property
    def _has_buffered(self) -> bool:
        return bool(self._buffer)

    def _clear_buffer(self) -> None:
        self._buffer = []

    # Records

    def process_columns(self, keys: ColumnKeys, columns: Columns) -> None:
        """Buffer partial aggregates; records that were not pre-aggregated are aggregated first."""
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
        """Emit late records to the side output, and return the records that are not late."""
        panes = panes_of(columns.times, self._grid.pane_ms, self._grid.offset_ms)
        if panes is None:
            return columns  # they are checked record by record
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
        """Merge the buffer into one batch, sorted by pane; None if there is nothing to merge.

        Sums that may exceed 64 bits are written to the tables instead.
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
        """Fire the windows of a batch that is sorted by pane, and windows of tables in between."""
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
        """Emit the results of windows that have nothing in the tables."""
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

    starts: np.ndarray[Any, Any] = batch.column(PANE).to_numpy()
    return starts


def _filter_rows(batch: Any, mask: np.ndarray[Any, Any]) -> Any:
    import numpy as np
    import pyarrow as pa

    return batch.take(pa.array(np.flatnonzero(mask)))

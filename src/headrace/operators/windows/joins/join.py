"""The window join of two inputs, over records and over columns.

Columns are buffered until their windows end, and joined with array operations, all due windows at
once. Windows that have records of earlier micro-batches in the tables are joined record by record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from headrace.common.watermark_strategy import MIN_WATERMARK
from headrace.operators.joins.base import JOIN_TRAITS
from headrace.operators.joins.fields import JoinedField
from headrace.operators.windows.aligned.columns import BufferedColumnsOperator
from headrace.operators.windows.aligned.grid import Grid, grid_of, panes_of
from headrace.operators.windows.contents import SLOT
from headrace.operators.windows.spec import WindowSpec
from headrace.runtime.columns.exactness import have_exact_keys
from headrace.runtime.columns.shapes import NAMED_ROWS, Dicts, NamedRows
from headrace.runtime.operator import Combiner, Operator, ProcessBlock, ProcessColumns, Traits
from headrace.runtime.user_function import UserFunction

if TYPE_CHECKING:
    from headrace.operators.windows.joins.columns import BufferedSide
    from headrace.runtime.columns.batch import Columns
    from headrace.runtime.columns.keys import ColumnKeys

PAIRS_AT_ONCE = 1 << 19
"""About this many pairs are emitted as one batch."""


@dataclass(frozen=True)
class WindowJoinSpec(WindowSpec):
    """Joins the records of each key and window, one of each input.

    ``contents`` are all records, tagged with their side by ``tags``; the window function joins
    them. ``fields``: the fields of a result, from which columns are joined.
    """

    fields: tuple[JoinedField, ...] = ()
    tags: tuple[Callable[[Any], Any], ...] = field(default=(), compare=False)

    @cached_property
    def kind(self) -> str:  # type: ignore[override]
        """As that of other windows: it includes the size of the windows."""
        return f"join-in-{super().kind}"

    @cached_property
    def traits(self) -> Traits:  # type: ignore[override]
        """Both inputs may have columns."""
        return replace(JOIN_TRAITS, takes_columns=True, gives_rows=True)

    label = "WindowJoin"

    def combiner(self, selector: UserFunction, key_type: Any, by_time: bool) -> Combiner | None:
        """Return None: every record must be sent."""
        return None

    def build(self) -> Operator:
        grid = grid_of(self)
        assert grid is not None, "such windows are joined by a union of both inputs"
        return WindowJoinOperator(self, grid)


def can_join(spec: WindowSpec) -> bool:
    """Return whether this operator can join windows: no overlap, no late records accepted."""
    grid = grid_of(spec)
    if grid is None or grid.size_ms != grid.slide_ms:
        return False
    return not spec.allowed_lateness_ms and spec.late_tag is None


class WindowJoinOperator(BufferedColumnsOperator):
    """Buffers the records of both inputs, and emits the pairs of a window when it ends."""

    def __init__(self, spec: WindowJoinSpec, grid: Grid) -> None:
        super().__init__(spec, grid)
        self._spec = spec
        self._buffer: list[list[BufferedSide]] = [[], []]

    # Records

    def processors(self) -> tuple[ProcessBlock, ...]:
        return partial(self._process_side, 0), partial(self._process_side, 1)

    def _process_side(
        self,
        side: int,
        keys: list[Any],
        values: list[Any],
        timestamps: list[int | None] | None,
    ) -> None:
        """Process records of one side (0: left, 1: right), tagged with that side."""
        self.process(keys, [*map(self._spec.tags[side], values)], timestamps)

    def column_processors(self) -> tuple[ProcessColumns, ...]:
        return partial(self._process_columns_of_side, 0), partial(self._process_columns_of_side, 1)

    def _process_columns_of_side(self, side: int, keys: ColumnKeys, columns: Columns) -> None:
        panes = self._pane_starts(side, keys, columns)
        if panes is None:
            times = columns.timestamps
            self._process_side(side, [*keys], columns.rows(), None if times is None else [*times])
            return
        from headrace.operators.windows.joins.columns import BufferedSide

        buffered = BufferedSide.of(columns, keys.names, panes)
        late_count = buffered.count_before(self.key_context.watermark - self._grid.size_ms + 2)
        if late_count:
            self._late_counter.inc(late_count)
            buffered = buffered.slice(late_count, len(buffered.rows))
        waiting = self._buffer[side]
        if waiting and not waiting[0].is_like(buffered):
            self._apply_deferred_watermark()
            self._write_to_tables()
        if len(buffered.rows):
            self._buffer[side].append(buffered)

    def _pane_starts(self, side: int, keys: ColumnKeys, columns: Columns) -> Any | None:
        """Return the start of each row's window; None if records must be processed one by one."""
        schema, grid = columns.batch.schema, self._grid
        if type(columns.shape) not in (Dicts, NamedRows) or columns.kinds is not None:
            return None
        fields = [each.field for each in self._spec.fields if each.side == side]
        if any(schema.names.count(name) != 1 for name in fields):
            return None
        if not have_exact_keys(schema, keys.names):
            return None
        return panes_of(columns.times, grid.pane_ms, grid.offset_ms)

    # Buffered columns

    @property
    def _has_buffered(self) -> bool:
        return any(self._buffer)

    def _clear_buffer(self) -> None:
        self._buffer = [[], []]

    def _write_to_tables(self) -> None:
        waiting = self._buffer
        self._clear_buffer()
        for side, sides in enumerate(waiting):
            for each in sides:
                self._write_side(side, each)

    def _write_side(self, side: int, buffered: BufferedSide) -> None:
        """Write rows to the tables, regardless of the watermark: they were in time."""
        from headrace.runtime.columns.keys import ColumnKeys

        node = self.node  # noqa: F841  for ``annotate``
        self._tables.attach(self.key_context.backend)
        columns = buffered.columns.take(buffered.rows)
        keys, tag = ColumnKeys(columns, buffered.keys), self._spec.tags[side]
        current_pane = enter = changed = None
        for key, pane, value in zip(keys, buffered.panes.tolist(), columns.rows(), strict=True):
            if pane != current_pane:
                current_pane = pane
                self._current_schedule().add_window(pane, self._last_watermark)
                enter, changed = self._table_target(pane)
            enter(key).setdefault(SLOT, []).append(tag(value))  # type: ignore[misc]
            changed(key)  # type: ignore[misc]

    # Firing

    def _fire_buffered(self, watermark: int) -> None:
        if not self._has_buffered:
            return
        from headrace.operators.windows.joins.columns import concat_sides

        end = watermark - self._grid.size_ms + 2  # windows that start before this one have ended
        due: list[BufferedSide | None] = []
        for waiting in self._buffer:
            combined = concat_sides(waiting)
            due_count = 0 if combined is None else combined.count_before(end)
            waiting.clear()
            if combined is not None and due_count < len(combined.rows):
                waiting.append(combined.slice(due_count, len(combined.rows)))
            due.append(None if combined is None or not due_count else combined.slice(0, due_count))
        self._tables.attach(self.key_context.backend)
        done = MIN_WATERMARK
        for start in sorted(start for start in self._tables.starts() if start < end):
            self._join_windows(due, done, start)
            for side, rows in enumerate(due):
                in_window = _slice_windows(rows, start, start + 1)
                if in_window is not None:
                    self._write_side(side, in_window)
            self._fire_tables(start)
            done = start + 1
        self._join_windows(due, done, end)

    def _join_windows(self, due: list[BufferedSide | None], first: int, end: int) -> None:
        """Emit the pairs of windows that start in ``[first, end)`` and are not in the tables."""
        left, right = (_slice_windows(rows, first, end) for rows in due)
        if left is None or right is None:
            return
        from headrace.operators.windows.joins.columns import group_numbers, matching_pairs

        groups = group_numbers(left, right)
        if groups is None:
            self._write_side(0, left)
            self._write_side(1, right)
            self._fire_tables(int(max(left.panes[-1], right.panes[-1])))
            return
        for left_places, right_places in matching_pairs(*groups, PAIRS_AT_ONCE):
            self._emit(left.take(left_places), right.take(right_places))

    def _emit(self, *sides: BufferedSide) -> None:
        import pyarrow as pa

        from headrace.runtime.columns.batch import Columns

        node = self.node  # noqa: F841  for ``annotate``
        rows = [pa.array(side.rows) for side in sides]
        arrays = [
            sides[side].columns.batch.column(name).take(rows[side])
            for _, side, name in self._spec.fields
        ]
        batch = pa.RecordBatch.from_arrays(arrays, names=[each.name for each in self._spec.fields])
        times = pa.array(sides[0].panes + (self._grid.size_ms - 1))
        self._outputs.columns(Columns(batch, NAMED_ROWS, times))


def _slice_windows(buffered: BufferedSide | None, first: int, end: int) -> BufferedSide | None:
    """Return the rows of the windows that start in ``[first, end)``; None if there are none."""
    if buffered is None:
        return None
    start, stop = buffered.count_before(first), buffered.count_before(end)
    return buffered.slice(start, stop) if stop > start else None

"""Aggregation by key and window: TUMBLE, HOP and CUMULATE.

Rows are aggregated by key and slice. When the watermark (or the clock) passes the end of a window,
its slices are merged and it gives its result, once. There are no timers: which windows are due
follows from the slices that exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headrace.common.changelog_mode import ChangelogMode
from headrace.common.watermark_strategy import MAX_WATERMARK, MIN_WATERMARK
from headrace.operators.columns.accumulator import Aggregated
from headrace.operators.columns.aggregate_spec import AggregatesSpec
from headrace.operators.columns.gathering import KeyedColumnOperator, retracted
from headrace.operators.columns.partials import rows_behind
from headrace.operators.columns.vectors import VectorAggregates
from headrace.operators.columns.window_contents import (
    Border,
    WindowContents,
    WindowResults,
    WindowShape,
    border_arrays,
)
from headrace.operators.columns.window_local import LocalWindowAggregateSpec
from headrace.operators.columns.window_rows import RowContents
from headrace.operators.columns.window_slices import SlicedWindows
from headrace.operators.columns.window_time import event_times, kind_of_windows, traits_of_windows
from headrace.operators.columns.window_vectors import SLICE, VectorContents, sliced_schema
from headrace.operators.windows.general.operator import LATE_COUNTER
from headrace.runtime.columns.exactness import compares_like_python
from headrace.runtime.context import TaskContext
from headrace.runtime.operator import (
    Combiner,
    NodeProgram,
    Operator,
    PushWatermark,
    Traits,
)
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.user_function import UserFunction

if TYPE_CHECKING:
    import numpy as np

    from headrace.runtime.columns.batch import Columns
    from headrace.runtime.columns.keys import ColumnKeys


@dataclass(frozen=True)
class WindowAggregateSpec(AggregatesSpec):
    """``schema``: of the input; ``result``: of keys, results and ``borders``.

    ``retracts``: whether the input may have retractions. ``gets_partials``: senders pre-aggregate
    rows. ``processing_time``: the time of a row is that of the micro-batch in which it comes.
    """

    keys: tuple[str, ...]
    windows: SlicedWindows
    aggregates: tuple[Aggregated, ...]
    schema: Any
    result: Any
    borders: tuple[Border, ...]
    retracts: bool = False
    gets_partials: bool = False
    processing_time: bool = False
    label = "WindowAggregate"

    @cached_property
    def traits(self) -> Traits:  # type: ignore[override]
        """With processing time it needs no watermarks, and is called when time passes."""
        return traits_of_windows(self.processing_time, timers=False)

    @cached_property
    def kind(self) -> str:  # type: ignore[override]
        """The operator's kind in checkpoints, with how its state is cut."""
        return kind_of_windows(f"window-aggregate-of-{self.windows.layout}", self.processing_time)

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """Return inserts."""
        return ChangelogMode.insert_only()

    @property
    def vectors(self) -> VectorAggregates | None:
        """The aggregates over arrays; None if rows must be added one by one."""
        if not all(_is_exact(self.schema.field(key).type) for key in self.keys):
            return None
        return VectorAggregates.of(self.aggregates, self.schema, self.retracts)

    def combiner(self, selector: UserFunction, key_type: Any, by_time: bool) -> Combiner | None:
        """Return the first of two phases, for aggregates over arrays of rows that stay."""
        if self.retracts or self.vectors is None:
            return None
        local = LocalWindowAggregateSpec(
            self.keys, self.windows, self.aggregates, self.schema, self.processing_time
        )
        return Combiner(local, replace(self, gets_partials=True), sends_partials=False)

    def build(self) -> Operator:
        return (
            ProcessingTimeWindowOperator(self)
            if self.processing_time
            else WindowAggregateOperator(self)
        )


class WindowAggregateOperator(KeyedColumnOperator):
    """Fires windows. A watermark waits while partial results are buffered, so that all windows that
    are due fire at once, at the latest at the end of the micro-batch."""

    def __init__(self, spec: WindowAggregateSpec) -> None:
        vectors, schema = spec.vectors, spec.schema
        if spec.gets_partials:
            assert vectors is not None, "there are partial results of such aggregates only"
            schema = sliced_schema(vectors, spec.schema, spec.keys)
        super().__init__(schema)
        self._spec, self._windows = spec, spec.windows
        shape = WindowShape(spec.keys, spec.windows, spec.aggregates, spec.result)
        self._needs_keys = vectors is None
        self._contents: WindowContents = (
            RowContents(shape)
            if vectors is None
            else VectorContents(shape, vectors, spec.gets_partials)
        )
        self._reached = 0
        self._deferred: int | None = None
        self._slices: set[int] | None = None
        self._next_end: int | None = None

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        super().open(node, context, key_context)
        self._late = context.get_metrics_group().counter(LATE_COUNTER)

    def restore(self, state: Any | None) -> None:
        """Start a task run. ``_reached``: windows up to this time have fired."""
        super().restore(state)
        self._reached = self._reached_before(state)
        self._deferred = self._slices = None
        self._contents.forget()

    def _reached_before(self, state: Any | None) -> int:
        return self._windows.reached(self.key_context.watermark)

    def process_columns(self, keys: ColumnKeys, columns: Columns) -> None:
        self._add(columns, (keys.codes, keys.distinct) if self._needs_keys else None)

    def take(self, columns: Columns, codes: np.ndarray[Any, Any], distinct: list[Any]) -> None:
        """Add rows."""
        self._add(columns, (codes, distinct))

    def _add(self, columns: Columns, keys: tuple[Any, Any] | None) -> None:
        import numpy as np

        if not len(columns):
            return
        slices = self._slices_of(columns)
        last = self._windows.last_ends_of(slices)
        late = self._are_late(last)
        kept = ~late & (last > slices)
        if not kept.all():
            self._count_late(columns, late & (last > slices))
            rows = np.flatnonzero(kept)
            if not len(rows):
                return
            columns, slices = columns.take(rows), slices[rows]
            keys = None if keys is None else (keys[0][rows], keys[1])
        known, found = self._known_slices(), np.unique(slices).tolist()
        if self._has_missed(found[0]):
            self._fire_deferred()  # a window of these rows has ended without them
        self._contents.add(columns, slices, retracted(columns), keys)
        for start in found:
            if start not in known:
                known.add(start)
                self._note_end(start)

    def _are_late(self, last_ends: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return which rows have no open window; ``last_ends``: the end of each row's last
        window."""
        late: np.ndarray[Any, Any] = last_ends - 1 <= self._windows.reached(
            self.key_context.watermark
        )
        return late

    def _has_missed(self, start: int) -> bool:
        """Return whether a window of a slice may end by the watermark that waits."""
        if self._deferred is None:
            return False
        return start + self._windows.slice_ms - 1 <= self._windows.reached(self._deferred)

    def _slices_of(self, columns: Columns) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any]
        if self._spec.gets_partials:
            found = columns.batch.column(SLICE).to_numpy()
            return found
        return self._windows.slices_of(event_times(columns))

    def _count_late(self, columns: Columns, late: np.ndarray[Any, Any]) -> None:
        """Count late rows; of partial results those that they are of."""
        if self._spec.gets_partials:
            self._late.inc(int(rows_behind(columns.batch)[late].sum()))
        else:
            self._late.inc(int(late.sum()))

    # Firing

    def _known_slices(self) -> set[int]:
        """Return the slices that exist; at the start of a task run, those of the tables."""
        if self._slices is None:
            contents = self._contents
            contents.tables.attach(self.key_context.backend)
            self._slices = {*contents.tables.starts()}
            self._next_end = None
            for start in self._slices:
                self._note_end(start)
        return self._slices

    def _note_end(self, start: int) -> None:
        end = self._windows.next_end(start, self._reached + 1)
        if end is not None and (self._next_end is None or end < self._next_end):
            self._next_end = end

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        """Fire the windows that are due; later, if partial results are buffered."""
        self._push_watermark = push_watermark
        if self._contents.holds and not idle and watermark < MAX_WATERMARK:
            self._deferred = watermark
            return
        self._deferred = None  # this later one is in its place
        self._advance(watermark)
        push_watermark(watermark, idle)

    def _fire_deferred(self) -> None:
        if self._deferred is not None:
            deferred, self._deferred = self._deferred, None
            self._advance(deferred)
            self._push_watermark(deferred, False)

    def complete(self) -> None:
        """Fire the windows that are due, and write the partial results of the others."""
        self._fire_deferred()
        self._contents.write()

    def _advance(self, watermark: int) -> None:
        """Fire all windows up to a watermark, and remove the slices that no later one has."""
        reached = self._windows.reached(watermark)
        if reached <= self._reached:
            return
        slices = self._known_slices()
        windows, contents = self._windows, self._contents
        after, self._reached = self._reached, reached
        if self._next_end is None or self._next_end - 1 > reached:
            return
        for found in contents.windows(windows.ends_between(slices, after + 1, reached + 1)):
            self._emit(found)
        ended = [start for start in slices if windows.ends_of(start)[-1] - 1 <= reached]
        contents.drop(ended)
        slices.difference_update(ended)
        self._next_end = None
        for start in slices:
            self._note_end(start)

    def _emit(self, found: WindowResults) -> None:
        import pyarrow as pa

        from headrace.runtime.columns.batch import Columns
        from headrace.runtime.columns.shapes import NAMED_ROWS

        if not len(found.ends):
            return
        windows, schema = self._windows, self._spec.result
        times = self._times_of_results(found.ends)
        arrays = [*found.keys, *found.results]
        arrays += border_arrays(
            self._spec.borders,
            windows.starts_of(found.ends),
            found.ends,
            times,
            [*schema][len(arrays) :],
        )
        made = pa.RecordBatch.from_arrays(arrays, schema=schema)
        stamps = None if self._spec.processing_time else pa.array(times)
        self.outputs.columns(Columns(made, NAMED_ROWS, stamps))

    def _times_of_results(self, ends: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return self._windows.last_moments(ends)


class ProcessingTimeWindowOperator(WindowAggregateOperator):
    """Windows by processing time: the time of a row is the time of its micro-batch, so no row is
    late.

    A window ends when the clock reaches its end: later rows belong to later windows. Windows that
    are open at the end of the input give no result, as in Flink.
    """

    def _reached_before(self, state: Any | None) -> int:
        return MIN_WATERMARK if state is None else state[1]

    def snapshot(self) -> tuple[str, int] | None:
        """Return the time up to which windows have fired; None: no window is open."""
        return ("fired", self._reached) if self._known_slices() else None

    @property
    def uses_clock(self) -> bool:
        """Whether windows are open, or have fired in this task run."""
        return bool(self._known_slices()) or self._has_fired

    def restore(self, state: Any | None) -> None:
        super().restore(state)
        self._has_fired = False

    def _add(self, columns: Columns, keys: tuple[Any, Any] | None) -> None:
        self._advance(self.key_context.now_ms - 1)
        if self._spec.gets_partials and len(columns):
            columns = self._with_current_slice(columns)
        super()._add(columns, keys)

    def _with_current_slice(self, columns: Columns) -> Columns:
        """Return partial results with the slice of the current time."""
        import pyarrow as pa

        from headrace.runtime.columns.batch import Columns

        batch = columns.batch
        arrays = [*batch.columns]
        arrays[batch.schema.get_field_index(SLICE)] = pa.array(self._slices_of(columns))
        made = pa.RecordBatch.from_arrays(arrays, schema=batch.schema)
        return Columns(made, columns.shape, columns.times, columns.kinds)

    def _slices_of(self, columns: Columns) -> np.ndarray[Any, Any]:
        import numpy as np

        now = self._windows.slices_of(np.array([self.key_context.now_ms], np.int64))
        return np.repeat(now, len(columns))

    def _are_late(self, last_ends: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        import numpy as np

        return np.zeros(len(last_ends), bool)

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        """Fire the windows that have ended, then forward the watermark."""
        self._advance(self.key_context.now_ms - 1)
        push_watermark(watermark, idle)

    def complete(self) -> None:
        """Fire the windows that are due, and write the partial results of the others."""
        self._advance(self.key_context.now_ms - 1)
        super().complete()

    def _emit(self, found: WindowResults) -> None:
        self._has_fired = True
        super()._emit(found)

    def _times_of_results(self, ends: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        import numpy as np

        return np.full(len(ends), self.key_context.now_ms, np.int64)


def _is_exact(kind: Any) -> bool:
    """Return whether Arrow groups keys of a type as Python does."""
    from pyarrow import types

    return (
        compares_like_python(kind)
        or types.is_decimal128(kind)
        or types.is_time32(kind)
        or (types.is_timestamp(kind) and kind.unit != "ns")
    )

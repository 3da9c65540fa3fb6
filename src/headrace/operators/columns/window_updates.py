"""Aggregation by key and window, with results before the end, and again for late rows.

The state of a key has all its windows as one value. Rows are added one by one, because each row may
give a result. A result that was emitted before is emitted as an update.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict

from headrace.common._types.data import type_data
from headrace.common.changelog_mode import ChangelogMode
from headrace.operators.columns.accumulator import Aggregated
from headrace.operators.columns.aggregate_spec import AggregatesSpec
from headrace.operators.columns.changes import Changes
from headrace.operators.columns.emit_strategy import EmitStrategy
from headrace.operators.columns.gathering import KeyedColumnOperator, retracted
from headrace.operators.columns.group_rows import argument_rows, change_states
from headrace.operators.columns.window_contents import Border, key_arrays
from headrace.operators.columns.window_slices import SlicedWindows
from headrace.operators.columns.window_time import WindowTime, kind_of_windows, traits_of_windows
from headrace.operators.windows.general.operator import LATE_COUNTER
from headrace.runtime.context import TaskContext
from headrace.runtime.operator import NodeProgram, Operator, PushWatermark, Traits
from headrace.runtime.state.backend import Timer
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.kinds import RESERVED_NAMES, VALUE

if TYPE_CHECKING:
    import numpy as np

    from headrace.runtime.columns.batch import Columns

    Array = np.ndarray[Any, Any]

SLOT = RESERVED_NAMES + "window-updates"
"""The state of a key: its windows, by their ends."""


class OpenWindow(TypedDict):
    """A window of a key; in the state it is a plain dictionary.

    ``state``: the number of its rows, and the state of each accumulator. ``given``: the results
    that were emitted last; None: none. ``ended``: whether the result at its end was emitted.
    ``due_ms``: when the next result is due, by processing time.
    """

    state: list[Any]
    given: list[Any] | None
    ended: bool
    due_ms: int | None


@dataclass(frozen=True)
class WindowUpdatesSpec(AggregatesSpec):
    """``schema``: of the input; ``result``: of keys, results and ``borders``. ``processing_time``:
    the time of a row is that of the micro-batch in which it comes."""

    keys: tuple[str, ...]
    windows: SlicedWindows
    aggregates: tuple[Aggregated, ...]
    schema: Any
    result: Any
    borders: tuple[Border, ...]
    emit: EmitStrategy
    processing_time: bool = False
    updates_before: bool = True
    retracts: bool = False
    label = "WindowAggregate"

    @cached_property
    def traits(self) -> Traits:  # type: ignore[override]
        """Results at an interval need processing time, also in windows of event time."""
        return traits_of_windows(
            self.processing_time,
            timers=True,
            at_intervals=bool(self.emit.early_ms or self.emit.late_ms),
        )

    @cached_property
    def kind(self) -> str:  # type: ignore[override]
        """The operator's kind in checkpoints."""
        return kind_of_windows("window-updates", self.processing_time)

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """Return updates; also deletions, where rows may be retracted."""
        return ChangelogMode.all() if self.retracts else ChangelogMode.updates()

    def build(self) -> Operator:
        return WindowUpdatesOperator(self)


class WindowUpdatesOperator(KeyedColumnOperator):
    """Emits the changes of the results of windows."""

    def __init__(self, spec: WindowUpdatesSpec) -> None:
        super().__init__(spec.schema)
        self._spec, self._windows, self._strategy = spec, spec.windows, spec.emit
        self._time = WindowTime(spec.processing_time, spec.windows.local)
        self._accumulators = [each.accumulator for each in spec.aggregates]
        self._keys: list[Any] = []
        self._changes = Changes(spec.updates_before)

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        super().open(node, context, key_context)
        assert context.states is not None, "windows are keyed"
        context.states.declare(SLOT, VALUE, type_data("PICKLED_BYTE_ARRAY"))
        self._late = context.get_metrics_group().counter(LATE_COUNTER)

    def restore(self, state: Any | None) -> None:
        """Clear what a failed task run has left."""
        super().restore(state)
        self._forget()

    def _forget(self) -> None:
        self._keys, self._changes = [], Changes(self._spec.updates_before)

    # Rows

    def take(self, columns: Columns, codes: Array, distinct: list[Any]) -> None:
        """Add rows to their windows, or retract them."""
        if not len(columns):
            return
        slices = self._windows.slices_of(self._time.of_rows(columns, self.key_context))
        values_of = argument_rows(columns.batch, self._spec.aggregates)
        minus = retracted(columns)
        for row, (code, start) in enumerate(zip(codes.tolist(), slices.tolist(), strict=True)):
            sign = -1 if minus is not None and minus[row] else 1
            self._add(distinct[code], self._windows.ends_of(start), values_of(row), sign)
        self._emit()

    def _add(
        self, key: Any, ends: Iterable[int], values: Sequence[tuple[Any, ...] | None], sign: int
    ) -> None:
        reached = self._time.reached(self.key_context)
        backend, lateness_ms = self.key_context.backend, self._strategy.lateness_ms
        windows: dict[int, OpenWindow] = backend.enter(key).setdefault(SLOT, {})
        is_late = False
        for end in ends:
            if end - 1 + lateness_ms <= reached:
                is_late = True
                continue
            window = windows.get(end)
            if window is None:
                state = [0, *(each.zero() for each in self._accumulators)]
                window = OpenWindow(state=state, given=None, ended=False, due_ms=None)
                windows[end] = window
                for last in (end - 1, end - 1 + lateness_ms):
                    self._time.set_timer(self._time.due(last), key, self.key_context)
            window["state"][0] += sign
            change_states(window["state"], self._accumulators, values, retracts=sign < 0)
            if not window["ended"] and end - 1 <= reached:
                # A window whose first rows are late has no end.
                self._buffer_change(key, end, window)
                continue
            delay_ms = self._strategy.late_ms if window["ended"] else self._strategy.early_ms
            if delay_ms == 0:
                self._buffer_change(key, end, window)
            elif delay_ms is not None and window["due_ms"] is None:
                self._set_due(key, window, self.key_context.now_ms + delay_ms)
        if not windows:
            del backend.enter(key)[SLOT]
        if is_late and not any(end - 1 + lateness_ms > reached for end in ends):
            self._late.inc()
        backend.changed(key)

    # Time

    def _set_due(self, key: Any, window: OpenWindow, due_ms: int) -> None:
        window["due_ms"] = due_ms
        self.key_context.backend.processing_timers.register(Timer(due_ms, key))

    def fire_user_timer(self, timer: Timer, is_event_time: bool) -> None:
        """Emit the results of a key that are due, and remove the windows that have ended."""
        key, backend = timer.key, self.key_context.backend
        entry = backend.enter(key)
        windows: dict[int, OpenWindow] = entry.get(SLOT, {})
        reached = self._time.reached(self.key_context)
        for end in sorted(windows):
            window = windows[end]
            if not is_event_time and window["due_ms"] is not None:
                self._emit_if_due(key, end, window)
            if end - 1 <= reached and not window["ended"]:
                window["ended"], window["due_ms"] = True, None
                self._buffer_change(key, end, window)
            if end - 1 + self._strategy.lateness_ms <= reached:
                del windows[end]
        if not windows:
            entry.pop(SLOT, None)
        backend.changed(key)

    def _emit_if_due(self, key: Any, end: int, window: OpenWindow) -> None:
        now_ms, due_ms = self.key_context.now_ms, window["due_ms"]
        delay_ms = self._strategy.late_ms if window["ended"] else self._strategy.early_ms
        if due_ms is None or due_ms > now_ms or not delay_ms:
            return
        self._buffer_change(key, end, window)
        self._set_due(key, window, due_ms + ((now_ms - due_ms) // delay_ms + 1) * delay_ms)

    # Results

    def _buffer_change(self, key: Any, end: int, window: OpenWindow) -> None:
        """Buffer the change since the last results of a window were emitted."""
        after = self._results(end, window["state"]) if window["state"][0] > 0 else None
        before, window["given"] = window["given"], after
        if after is not None and before is not None and self._same(before, after):
            window["given"] = before
            return
        self._changes.add(len(self._keys), before, after)
        self._keys.append(key)

    def _same(self, one: list[Any], other: list[Any]) -> bool:
        """Return whether aggregates are equal; the times of results are not compared."""
        count = len(self._accumulators)
        return one[:count] == other[:count]

    def _results(self, end: int, state: list[Any]) -> list[Any]:
        parts = zip(self._accumulators, state[1:], strict=True)
        return [
            *(each.result(part) for each, part in parts),
            *(self._border(each, end) for each in self._spec.borders),
        ]

    def _border(self, border: Border, end: int) -> int:
        import numpy as np

        if border == "end":
            return end
        if border == "time" and self._spec.processing_time:
            return self.key_context.now_ms
        find = self._windows.starts_of if border == "start" else self._windows.last_moments
        return int(find(np.array([end], np.int64))[0])

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        """Emit the changes that timers have buffered, then the watermark."""
        self._emit()
        push_watermark(watermark, idle)

    def complete(self) -> None:
        """Emit the changes that are left."""
        self._emit()

    def _emit(self) -> None:
        import pyarrow as pa

        if not self._keys:
            return
        fields = [*self._spec.result][: len(self._spec.keys)]
        arrays = key_arrays(self._keys, len(fields), self._spec.result)
        keys = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
        changes = self._changes
        self._forget()
        if changes.rows:
            self.outputs.columns(changes.columns(keys, self._spec))

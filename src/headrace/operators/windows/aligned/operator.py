"""Aligned windows: all keys of a window are fired and removed together, without timers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.common._watermark_generators import MAX_WATERMARK
from headrace.common._windows import TimeWindow, namespace_of
from headrace.operators.emission import side_output_sender
from headrace.operators.keyed import StatefulOperator
from headrace.operators.windows.aligned.grid import Grid
from headrace.operators.windows.aligned.schedule import Schedule
from headrace.operators.windows.aligned.tables import WindowTables
from headrace.operators.windows.contents import SLOT
from headrace.operators.windows.contexts import FunctionContext
from headrace.operators.windows.firing import WindowFiring
from headrace.operators.windows.folding import Folding, folding_of, merges_in_any_order
from headrace.operators.windows.general.operator import LATE_COUNTER
from headrace.operators.windows.partial_aggregates import (
    PartialAggregates,
    decode_partials,
    partial_runs,
)
from headrace.operators.windows.windowing import (
    Windowing,
    missing_timestamp_error,
    window_out_of_range_error,
)
from headrace.runtime.context import TaskContext
from headrace.runtime.loops import Push
from headrace.runtime.operator import NodeProgram, Outputs, PushWatermark
from headrace.runtime.record_copies import copy_record
from headrace.runtime.state.backend import MISSING, KeyedTable, Timer
from headrace.runtime.state.handles import KeyContext, NamespacedStates

TableTarget = tuple[Any, Callable[[Any], None]]
"""The values of a table by key, and the function that marks a key as changed."""


class _PaneTargets:
    """The tables for a pane's records, and the windows that each of the records fires again.

    ``fired_windows``: windows that have fired already, and still take late records. Without
    ``targets`` all windows of the pane have ended.
    """

    __slots__ = ("fired_windows", "targets")

    def __init__(self, targets: tuple[TableTarget, ...], fired_windows: tuple[int, ...]) -> None:
        self.targets = targets
        self.fired_windows = fired_windows


class AlignedWindowOperator(StatefulOperator):
    """Keeps a table by key for each window or pane; windows fire when the watermark ends them.

    There are no timers: what is due follows from the tables that exist.
    """

    def __init__(self, windowing: Windowing, grid: Grid) -> None:
        self._windowing, self._grid = windowing, grid
        self._lateness_ms = windowing.allowed_lateness_ms
        self._folding = folding_of(windowing.contents)
        by_pane = merges_in_any_order(windowing.contents)
        self._tables = WindowTables(grid, by_pane, windowing.contents.stored_kind)
        self._last_watermark = 0
        self._schedule: Schedule | None = None

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        super().open(node, context, key_context)
        assert context.states is not None, "windows are keyed"
        self._states: NamespacedStates = context.states.in_namespaces()
        self._late_counter = context.get_metrics_group().counter(LATE_COUNTER)
        function_context = _Context(key_context, context, self._states)
        contents = self._windowing.contents
        # The function may change its input, and a late record fires the window again.
        keeps = self._lateness_ms > 0 and not self._tables.by_pane
        self._firing = WindowFiring(contents, self._folding, key_context, function_context, keeps)

    def bind(self, outputs: Outputs) -> Push:
        self._firing.bind(outputs)
        self._to_side = side_output_sender(outputs)
        return self.reject_record

    def restore(self, state: Any | None) -> None:
        """Start a task run: windows up to the current watermark have fired."""
        self._last_watermark = self.key_context.watermark
        self._schedule = None

    # Records

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        self._tables.attach(self.key_context.backend)
        times = timestamps or [None] * len(values)
        folding = self._folding
        if folding is None:
            self._collect(keys, values, times)
        elif self._windowing.combined:
            self._merge(keys, values, times, folding)
        else:
            self._fold(keys, values, times, folding.initial, folding.add)

    def _fold(
        self,
        keys: list[Any],
        values: list[Any],
        times: list[int | None],
        initial: Callable[[Any], Any],
        add: Callable[[Any, Any], Any],
    ) -> None:
        """Add records to the accumulators of their windows or panes.

        ``initial(value)`` makes an accumulator, ``add(accumulator, value)`` adds to it.
        """
        node, missing = self.node, MISSING  # noqa: F841
        offset, pane_ms = self._grid.offset_ms, self._grid.pane_ms
        targets_by_pane: dict[int, _PaneTargets] = {}
        current_pane = pane_targets = table = changed = None
        for key, value, time in zip(keys, values, times, strict=True):
            if time is None:
                raise missing_timestamp_error()
            start = time - (time - offset) % pane_ms
            if start != current_pane:
                current_pane, pane_targets = start, targets_by_pane.get(start)
                if pane_targets is None:
                    pane_targets = targets_by_pane[start] = self._pane_targets(start)
                table = None
                if len(pane_targets.targets) == 1 and not pane_targets.fired_windows:
                    ((table, changed),) = pane_targets.targets
            if table is not None:
                accumulator = table[key]
                table[key] = (
                    initial(value)
                    if accumulator is missing or accumulator is None
                    else add(accumulator, value)
                )
                changed(key)  # type: ignore[misc]
            elif pane_targets.targets:  # type: ignore[union-attr]
                self._fold_into(pane_targets, key, value, initial, add)
            else:
                self._handle_late(value, time)

    def _fold_into(
        self,
        pane_targets: Any,
        key: Any,
        value: Any,
        initial: Callable[[Any], Any],
        add: Callable[[Any, Any], Any],
    ) -> None:
        """Add a record to all tables of its pane, and fire again windows that have fired before."""
        is_shared = False
        for table, changed in pane_targets.targets:
            # Functions may change their input, so no two windows share a record.
            own_value = copy_record(value) if is_shared else value
            is_shared = True
            accumulator = table[key]
            table[key] = (
                initial(own_value)
                if accumulator is MISSING or accumulator is None
                else add(accumulator, own_value)
            )
            changed(key)
        for window in pane_targets.fired_windows:
            self._fire_key(window, key)

    def _merge(
        self, keys: list[Any], values: list[Any], times: list[int | None], folding: Folding
    ) -> None:
        """Take partial aggregates and single records in their order."""
        for run, are_partial in partial_runs(values):
            if are_partial:
                self._merge_run(keys[run], values[run], folding.merge)
            else:
                self._fold(keys[run], values[run], times[run], folding.initial, folding.add)

    def _merge_run(
        self, keys: list[Any], partials: list[PartialAggregates], merge: Callable[[Any, Any], Any]
    ) -> None:
        node, missing = self.node, MISSING  # noqa: F841
        for first_key, partial in zip(keys, partials, strict=True):
            targets = self._pane_targets(partial.start_ms).targets
            if not targets:
                self._late_counter.inc(partial.count)
                continue
            ((table, changed),) = targets
            for key, accumulator in decode_partials(first_key, partial):
                stored = table[key]
                table[key] = (
                    accumulator
                    if stored is missing or stored is None
                    else merge(stored, accumulator)
                )
                changed(key)

    def _collect(self, keys: list[Any], values: list[Any], times: list[int | None]) -> None:
        node = self.node  # noqa: F841
        offset, pane_ms = self._grid.offset_ms, self._grid.pane_ms
        targets_by_pane: dict[int, _PaneTargets] = {}
        current_pane = pane_targets = enter = changed = None
        for key, value, time in zip(keys, values, times, strict=True):
            if time is None:
                raise missing_timestamp_error()
            start = time - (time - offset) % pane_ms
            if start != current_pane:
                current_pane, pane_targets, enter = start, targets_by_pane.get(start), None
                if pane_targets is None:
                    pane_targets = targets_by_pane[start] = self._pane_targets(start)
                if len(pane_targets.targets) == 1 and not pane_targets.fired_windows:
                    ((enter, changed),) = pane_targets.targets
            if enter is not None:  # fast path
                entry = enter(key)
                records = entry.get(SLOT)
                if records is None:
                    entry[SLOT] = [value]
                else:
                    records.append(value)
                changed(key)  # type: ignore[misc]
            elif pane_targets.targets:  # type: ignore[union-attr]
                self._collect_into(pane_targets, key, value)
            else:
                self._handle_late(value, time)

    def _collect_into(self, pane_targets: Any, key: Any, value: Any) -> None:
        is_shared = False
        for enter, changed in pane_targets.targets:
            own_value = copy_record(value) if is_shared else value
            is_shared = True
            entry = enter(key)
            records = entry.get(SLOT)
            if records is None:
                entry[SLOT] = [own_value]
            else:
                records.append(own_value)
            changed(key)
        for window in pane_targets.fired_windows:
            self._fire_key(window, key)

    def _pane_targets(self, pane: int) -> _PaneTargets:
        """Return the targets of a pane's records at the current watermark."""
        watermark, size_ms, schedule = (
            self.key_context.watermark,
            self._grid.size_ms,
            self._current_schedule(),
        )
        windows = [
            start for start in self._grid.windows_of(pane) if schedule.cleanup_ms(start) > watermark
        ]
        if not windows:
            return _PaneTargets((), ())
        if windows[-1] + size_ms - 1 > MAX_WATERMARK:
            raise window_out_of_range_error(TimeWindow(windows[-1], windows[-1] + size_ms))
        for start in windows:
            schedule.add_window(start, self._last_watermark)
        fired = tuple(start for start in windows if start + size_ms - 1 <= watermark)
        return _PaneTargets(
            tuple(map(self._table_target, self._tables.table_starts(pane, windows))), fired
        )

    def _table_target(self, start: int) -> TableTarget:
        table = self._tables.table_at(start)
        if self._folding is None:
            return table.enter, table.changed
        view = table.single_slot_view(SLOT)
        assert view is not None, "a table has one slot"
        return view, table.changed

    def _handle_late(self, value: Any, time: int) -> None:
        if time + self._lateness_ms > self.key_context.watermark:
            return  # it is in a gap between windows
        tag = self._windowing.late_tag
        if tag is None:
            self._late_counter.inc()
        else:
            self._to_side((tag, value), time)

    # Firing

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        """Fire and remove the windows that are due, in order of time."""
        if watermark > self._last_watermark:
            self._advance(watermark)
            self._last_watermark = watermark
        push_watermark(watermark, idle)

    def _advance(self, watermark: int) -> None:
        self._tables.attach(self.key_context.backend)
        schedule = self._current_schedule()
        while (pop_due := schedule.pop_due(watermark)) is not None:
            start, ends = pop_due
            if ends:
                self._clear_window(start)
            else:
                self._fire(start)

    def _current_schedule(self) -> Schedule:
        """Return the schedule, rebuilt from the tables at the start of a task run.

        Another program may have left tables that no window of the current program needs; they are
        dropped.
        """
        schedule, reached_ms = self._schedule, self._last_watermark
        if schedule is None:
            schedule = self._schedule = Schedule(self._grid.size_ms, self._lateness_ms)
            windows = self._tables.windows()
            ended = [start for start in windows if schedule.cleanup_ms(start) <= reached_ms]
            if ended:
                self._tables.drop_before(max(ended))
            for start in {*windows}.difference(ended):
                schedule.add_window(start, reached_ms)
        return schedule

    def _fire(self, start: int) -> None:
        window = TimeWindow(start, start + self._grid.size_ms)
        self._emit_results(window, self._window_items(start))

    def _fire_key(self, start: int, key: Any) -> None:
        """Fire a window again for one key, after a late record."""
        accumulators = [self._stored_value(table, key) for table in self._tables.tables_of(start)]
        accumulators = [accumulator for accumulator in accumulators if accumulator is not None]
        if accumulators:
            accumulator = self._merge_panes(accumulators)
            self._emit_results(TimeWindow(start, start + self._grid.size_ms), [(key, accumulator)])

    def _window_items(self, start: int) -> Iterable[tuple[Any, Any]]:
        """Return the pairs of key and accumulator (or records) of a window."""
        tables = self._tables.tables_of(start)
        if not self._tables.by_pane:
            return tables[0].single_slot_items(SLOT)
        if len(tables) == 1:
            return (
                (key, copy_record(accumulator))
                for key, accumulator in tables[0].single_slot_items(SLOT)
            )
        assert self._folding is not None, "lists are kept by window"
        merge, merged = self._folding.merge, dict[Any, Any]()
        for table in tables:
            for key, accumulator in table.single_slot_items(SLOT):
                if accumulator is None:
                    continue
                own_value = copy_record(accumulator)  # the next window needs it, too
                merged_so_far = merged.get(key)
                merged[key] = (
                    own_value if merged_so_far is None else merge(merged_so_far, own_value)
                )
        return merged.items()

    def _stored_value(self, table: KeyedTable, key: Any) -> Any:
        """Return the value of a key in a table, or None."""
        if self._folding is None:
            return table.enter(key).get(SLOT)
        view = table.single_slot_view(SLOT)
        assert view is not None, "a table has one slot"
        return None if view[key] is MISSING else view[key]

    def _merge_panes(self, accumulators: list[Any]) -> Any:
        if not self._tables.by_pane:
            return accumulators[0]
        assert self._folding is not None, "lists are kept by window"
        merged, *others = map(copy_record, accumulators)
        for other in others:
            merged = self._folding.merge(merged, other)
        return merged

    def _emit_results(self, window: TimeWindow, items: Iterable[tuple[Any, Any]]) -> None:
        self._firing.fire_all(self.node, window, items)

    # The end of windows

    def _clear_window(self, start: int) -> None:
        """Remove all state of a window."""
        if self._needs_cleanup:
            keys = [key for key, _ in self._window_items(start)]
            self._clear_keys(TimeWindow(start, start + self._grid.size_ms), keys)
        self._tables.drop(start)

    @property
    def _needs_cleanup(self) -> bool:
        """Whether the window function may have state per window, or a ``clear`` method."""
        return self._firing.has_clear or bool(self.key_context.backend.in_namespaces.kinds())

    def _clear_keys(self, window: TimeWindow, keys: list[Any]) -> None:
        for key in keys:
            self.key_context.enter(key)
            self._firing.clear_window(window)
            self._states.enter(namespace_of(window))
            self._states.clear()

    def fire_user_timer(self, timer: Timer, is_event_time: bool) -> None:
        """Do nothing, because aligned windows have no timers."""


class _Context(FunctionContext):
    """Sets the namespace only when the state of key and window is asked for."""

    def __init__(
        self, key_context: KeyContext, context: TaskContext, states: NamespacedStates
    ) -> None:
        super().__init__(key_context, context, states)
        self._namespaced = states

    def window_state(self) -> Any:
        """Return the state of this key and window."""
        self._namespaced.enter(namespace_of(self.current_window))
        return super().window_state()

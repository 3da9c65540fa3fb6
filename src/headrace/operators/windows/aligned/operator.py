"""Windows that all keys share: they fire and go as a whole, and cost nothing while they wait."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.common._watermark_generators import MAX_WATERMARK
from headrace.common._windows import TimeWindow, namespace_of
from headrace.operators.emission import side_sender
from headrace.operators.keyed import StatefulOperator
from headrace.operators.windows.aligned.grid import Grid
from headrace.operators.windows.aligned.schedule import Schedule
from headrace.operators.windows.aligned.tables import WindowTables
from headrace.operators.windows.contents import SLOT
from headrace.operators.windows.contexts import FunctionContext
from headrace.operators.windows.firing import Firing
from headrace.operators.windows.folding import Folding, folding_of, merges_in_any_order
from headrace.operators.windows.general.operator import LATE
from headrace.operators.windows.partial_aggregates import (
    PartialAggregates,
    held_in,
    runs_of_combined,
)
from headrace.operators.windows.windowing import Windowing, beyond_time, no_time
from headrace.runtime.context import TaskContext
from headrace.runtime.detached import copied
from headrace.runtime.loops import Push
from headrace.runtime.operator import NodeProgram, Outputs, Signal
from headrace.runtime.state.backend import MISSING, KeyedTable, Timer
from headrace.runtime.state.handles import KeyContext, NamespacedStates

Target = tuple[Any, Callable[[Any], None]]
"""The values of a table by key, and what takes note that one was changed."""


class _Place:
    """Where the records of a pane go: to ``targets``, and ``fired`` windows fire at each of them.

    Without targets all of its windows have ended.
    """

    __slots__ = ("fired", "targets")

    def __init__(self, targets: tuple[Target, ...], fired: tuple[int, ...]) -> None:
        self.targets = targets
        self.fired = fired


class AlignedWindowOperator(StatefulOperator):
    """Keeps a table by key for each window (or pane), and fires when the watermark passes its end.

    There are no timers: what is due follows from the tables that there are.
    """

    def __init__(self, windowing: Windowing, grid: Grid) -> None:
        self._windowing, self._grid = windowing, grid
        self._lateness_ms = windowing.allowed_lateness_ms
        self._folding = folding_of(windowing.contents)
        by_pane = merges_in_any_order(windowing.contents)
        self._tables = WindowTables(grid, by_pane, windowing.contents.stored_kind)
        self._reached = 0
        self._schedule: Schedule | None = None

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        """Open the user's functions."""
        super().open(node, context, key_context)
        assert context.states is not None, "windows are keyed"
        self._states: NamespacedStates = context.states.in_namespaces()
        self._late = context.get_metrics_group().counter(LATE)
        function_context = _Context(key_context, context, self._states)
        contents = self._windowing.contents
        # The function may change what it is given, and a late record fires the window again.
        keeps = self._lateness_ms > 0 and not self._tables.by_pane
        self._firing = Firing(contents, self._folding, key_context, function_context, keeps)

    def bind(self, outputs: Outputs) -> Push:
        """Keyed operators take blocks; see ``process``."""
        self._firing.bind(outputs)
        self._to_side = side_sender(outputs)
        return self.push_keyed

    def restore(self, state: Any | None) -> None:
        """A call begins: the windows up to the watermark have fired."""
        self._reached = self.key_context.watermark
        self._schedule = None

    # Records

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        """Put each record of a block into its windows."""
        self._tables.attach(self.key_context.backend)
        times = timestamps or [None] * len(values)
        folding = self._folding
        if folding is None:
            self._collect(keys, values, times)
        elif self._windowing.combined:
            self._merge(keys, values, times, folding)
        else:
            self._fold(keys, values, times, folding.first, folding.add)

    def _fold(
        self,
        keys: list[Any],
        values: list[Any],
        times: list[int | None],
        first: Callable[[Any], Any],
        add: Callable[[Any, Any], Any],
    ) -> None:
        node, missing = self.node, MISSING  # noqa: F841
        offset, pane_ms = self._grid.offset_ms, self._grid.pane_ms
        places: dict[int, _Place] = {}
        at = place = table = changed = None
        for key, value, time in zip(keys, values, times, strict=True):
            if time is None:
                raise no_time()
            start = time - (time - offset) % pane_ms
            if start != at:
                at, place = start, places.get(start)
                if place is None:
                    place = places[start] = self._place(start)
                table = None
                if len(place.targets) == 1 and not place.fired:
                    ((table, changed),) = place.targets
            if table is not None:
                held = table[key]
                table[key] = first(value) if held is missing or held is None else add(held, value)
                changed(key)  # type: ignore[misc]
            elif place.targets:  # type: ignore[union-attr]
                self._fold_into(place, key, value, first, add)
            else:
                self._dropped(value, time)

    def _fold_into(
        self,
        place: Any,
        key: Any,
        value: Any,
        first: Callable[[Any], Any],
        add: Callable[[Any, Any], Any],
    ) -> None:
        seen = False
        for table, changed in place.targets:
            # Others may change what they are given: no two windows share a record.
            mine = copied(value) if seen else value
            seen = True
            held = table[key]
            table[key] = first(mine) if held is MISSING or held is None else add(held, mine)
            changed(key)
        for window in place.fired:
            self._fire_key(window, key)

    def _merge(
        self, keys: list[Any], values: list[Any], times: list[int | None], folding: Folding
    ) -> None:
        """Take what was combined, and the records among it, in their order."""
        for part, are_combined in runs_of_combined(values):
            if are_combined:
                self._merge_run(keys[part], values[part], folding.merge)
            else:
                self._fold(keys[part], values[part], times[part], folding.first, folding.add)

    def _merge_run(
        self, keys: list[Any], found: list[PartialAggregates], merge: Callable[[Any, Any], Any]
    ) -> None:
        node, missing = self.node, MISSING  # noqa: F841
        for first, combined in zip(keys, found, strict=True):
            targets = self._place(combined.at).targets
            if not targets:
                self._late.inc(combined.count)
                continue
            ((table, changed),) = targets
            for key, held in held_in(first, combined):
                before = table[key]
                table[key] = held if before is missing or before is None else merge(before, held)
                changed(key)

    def _collect(self, keys: list[Any], values: list[Any], times: list[int | None]) -> None:
        node = self.node  # noqa: F841
        offset, pane_ms = self._grid.offset_ms, self._grid.pane_ms
        places: dict[int, _Place] = {}
        at = place = enter = changed = None
        for key, value, time in zip(keys, values, times, strict=True):
            if time is None:
                raise no_time()
            start = time - (time - offset) % pane_ms
            if start != at:
                at, place, enter = start, places.get(start), None
                if place is None:
                    place = places[start] = self._place(start)
                if len(place.targets) == 1 and not place.fired:
                    ((enter, changed),) = place.targets
            if enter is not None:  # the usual case, written out
                entry = enter(key)
                held = entry.get(SLOT)
                if held is None:
                    entry[SLOT] = [value]
                else:
                    held.append(value)
                changed(key)  # type: ignore[misc]
            elif place.targets:  # type: ignore[union-attr]
                self._collect_into(place, key, value)
            else:
                self._dropped(value, time)

    def _collect_into(self, place: Any, key: Any, value: Any) -> None:
        seen = False
        for enter, changed in place.targets:
            mine = copied(value) if seen else value
            seen = True
            entry = enter(key)
            held = entry.get(SLOT)
            if held is None:
                entry[SLOT] = [mine]
            else:
                held.append(mine)
            changed(key)
        for window in place.fired:
            self._fire_key(window, key)

    def _place(self, pane: int) -> _Place:
        """Where records of a pane go now."""
        watermark, size_ms, schedule = (
            self.key_context.watermark,
            self._grid.size_ms,
            self._scheduled(),
        )
        windows = [
            start for start in self._grid.windows_of(pane) if schedule.cleanup_ms(start) > watermark
        ]
        if not windows:
            return _Place((), ())
        if windows[-1] + size_ms - 1 > MAX_WATERMARK:
            raise beyond_time(TimeWindow(windows[-1], windows[-1] + size_ms))
        for start in windows:
            schedule.expect(start, self._reached)
        fired = tuple(start for start in windows if start + size_ms - 1 <= watermark)
        return _Place(tuple(map(self._target, self._tables.places(pane, windows))), fired)

    def _target(self, start: int) -> Target:
        table = self._tables.of(start)
        if self._folding is None:
            return table.enter, table.changed
        view = table.single_slot_view(SLOT)
        assert view is not None, "a table has one slot"
        return view, table.changed

    def _dropped(self, value: Any, time: int) -> None:
        if time + self._lateness_ms > self.key_context.watermark:
            return  # it is between windows
        tag = self._windowing.late_tag
        if tag is None:
            self._late.inc()
        else:
            self._to_side((tag, value), time)

    # Firing

    def watermark(self, watermark: int, idle: bool, signal: Signal) -> None:
        """Fire and forget the windows that are due, in the order of time."""
        if watermark > self._reached:
            self._advance(watermark)
            self._reached = watermark
        signal(watermark, idle)

    def _advance(self, watermark: int) -> None:
        self._tables.attach(self.key_context.backend)
        schedule = self._scheduled()
        while (due := schedule.due(watermark)) is not None:
            start, ends = due
            if ends:
                self._end(start)
            else:
                self._fire(start)

    def _scheduled(self) -> Schedule:
        """What is due when; at first what the windows that hold anything ask for.

        Another program may have left what no window of this one needs: it is dropped.
        """
        schedule, reached_ms = self._schedule, self._reached
        if schedule is None:
            schedule = self._schedule = Schedule(self._grid.size_ms, self._lateness_ms)
            windows = self._tables.windows()
            ended = [start for start in windows if schedule.cleanup_ms(start) <= reached_ms]
            if ended:
                self._tables.drop_before(max(ended))
            for start in {*windows}.difference(ended):
                schedule.expect(start, reached_ms)
        return schedule

    def _fire(self, start: int) -> None:
        window = TimeWindow(start, start + self._grid.size_ms)
        self._results(window, self._held(start))

    def _fire_key(self, start: int, key: Any) -> None:
        """Fire a window of one key again, for a record that came after its end."""
        found = [self._value(table, key) for table in self._tables.parts(start)]
        found = [held for held in found if held is not None]
        if found:
            held = self._merged(found)
            self._results(TimeWindow(start, start + self._grid.size_ms), [(key, held)])

    def _held(self, start: int) -> Iterable[tuple[Any, Any]]:
        """What each key has in a window."""
        parts = self._tables.parts(start)
        if not self._tables.by_pane:
            return parts[0].single_slot_items(SLOT)
        if len(parts) == 1:
            return ((key, copied(held)) for key, held in parts[0].single_slot_items(SLOT))
        assert self._folding is not None, "lists are kept by window"
        merge, merged = self._folding.merge, dict[Any, Any]()
        for part in parts:
            for key, held in part.single_slot_items(SLOT):
                if held is None:
                    continue
                mine = copied(held)  # the next window needs it, too
                before = merged.get(key)
                merged[key] = mine if before is None else merge(before, mine)
        return merged.items()

    def _value(self, table: KeyedTable, key: Any) -> Any:
        """What a key has in a table, or None."""
        if self._folding is None:
            return table.enter(key).get(SLOT)
        view = table.single_slot_view(SLOT)
        assert view is not None, "a table has one slot"
        return None if view[key] is MISSING else view[key]

    def _merged(self, found: list[Any]) -> Any:
        if not self._tables.by_pane:
            return found[0]
        assert self._folding is not None, "lists are kept by window"
        held, *others = map(copied, found)
        for other in others:
            held = self._folding.merge(held, other)
        return held

    def _results(self, window: TimeWindow, found: Iterable[tuple[Any, Any]]) -> None:
        self._firing.fire_all(self.node, window, found)

    # The end of windows

    def _end(self, start: int) -> None:
        """Forget all that is kept for a window."""
        if self._clears:
            keys = [key for key, _ in self._held(start)]
            self._clear(TimeWindow(start, start + self._grid.size_ms), keys)
        self._tables.drop(start)

    @property
    def _clears(self) -> bool:
        """Whether the function may have kept something for a window."""
        return self._firing.clears or bool(self.key_context.backend.in_namespaces.kinds())

    def _clear(self, window: TimeWindow, keys: list[Any]) -> None:
        for key in keys:
            self.key_context.enter(key)
            self._firing.end(window)
            self._states.enter(namespace_of(window))
            self._states.clear()

    def fire_user_timer(self, timer: Timer, event_time: bool) -> None:
        """There are none."""


class _Context(FunctionContext):
    """Goes to the state of key and window when that is asked for."""

    def __init__(
        self, key_context: KeyContext, context: TaskContext, states: NamespacedStates
    ) -> None:
        super().__init__(key_context, context, states)
        self._namespaced = states

    def window_state(self) -> Any:
        """State of this key and window."""
        self._namespaced.enter(namespace_of(self.at))
        return super().window_state()

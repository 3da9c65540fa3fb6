"""Windows of any kind: each pair of key and window has state, and timers of its own."""

from __future__ import annotations

from typing import Any

from headrace.common._windows import TriggerResult, namespace_of, window_of
from headrace.common.watermark_strategy import MAX_WATERMARK, MIN_WATERMARK
from headrace.errors import PlanError, WrongFunctionError
from headrace.operators.emission import side_sender
from headrace.operators.keyed import StatefulOperator
from headrace.operators.windows.contents import Contents
from headrace.operators.windows.contexts import AssignerContext, FunctionContext, TriggerContext
from headrace.operators.windows.firing import Firing
from headrace.operators.windows.general.merging import Mapping, add_window
from headrace.operators.windows.states import (
    RefusedWindowStates,
    merge_namespaces,
)
from headrace.operators.windows.windowing import Windowing, beyond_time
from headrace.runtime.context import TaskContext
from headrace.runtime.detached import copied
from headrace.runtime.loops import Push
from headrace.runtime.operator import NodeProgram, Outputs
from headrace.runtime.state.backend import Timer, TimerStore
from headrace.runtime.state.handles import KeyContext, NamespacedStates
from headrace.runtime.state.kinds import RESERVED_NAMES

MERGING = RESERVED_NAMES + "merging-window-set"
"""The state of a key that says where its windows in flight keep their records."""

LATE = "numLateRecordsDropped"
"""What counts the records that came too late, and went nowhere."""

CONTINUE = TriggerResult.CONTINUE


class WindowOperator(StatefulOperator):
    """Assigns, keeps and fires as Flink's ``WindowOperator`` does.

    A window is entered in state by its ``namespace_of``: what it keeps of its records, and the
    trigger's and the function's state. Windows that merge keep the records in the namespace of one
    of the windows that they were made of; the trigger's state is in that of the window itself.
    """

    def __init__(self, spec: Windowing) -> None:
        self._spec = spec
        self._event_time = spec.event_time
        self._lateness_ms = spec.allowed_lateness_ms

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        """Open the user's functions, and say what is kept."""
        super().open(node, context, key_context)
        spec = self._spec
        assert context.states is not None, "windows are keyed"
        self._states: NamespacedStates = context.states.in_namespaces()
        self._kept = self._what_is_kept()
        self._contents = self._kept.state(self._states)
        self._assigner = spec.assigner.target
        self._trigger = spec.trigger.target
        self._late = context.get_metrics_group().counter(LATE)
        self._assigner_context = AssignerContext(key_context, context)
        self._trigger_context = TriggerContext(key_context, context, self._states)
        of_function = FunctionContext(
            key_context, context, RefusedWindowStates() if spec.merging else self._states
        )
        self._firing = Firing(spec.contents, None, key_context, of_function)
        if spec.merging:
            context.states.declare(MERGING)

    def _what_is_kept(self) -> Contents:
        """What windows keep of their records."""
        return self._spec.contents

    def bind(self, outputs: Outputs) -> Push:
        """Keyed operators take blocks; see ``process``."""
        self._firing.bind(outputs)
        self._to_side = side_sender(outputs)
        return self.push_keyed

    def restore(self, state: Any | None) -> None:
        """A call begins, on the state of another key group."""
        self._stored_states: bool | None = None

    # Records

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        """Put each record of a block into its windows."""
        key_context, node = self.key_context, self.node  # noqa: F841
        assign, context = self._assigner.assign_windows, self._assigner_context
        put = self._put_merging if self._spec.merging else self._put
        for key, value, timestamp in zip(
            keys, values, timestamps or [None] * len(values), strict=True
        ):
            key_context.enter(key)
            key_context.event_ms = timestamp
            moment = MIN_WATERMARK if timestamp is None else timestamp
            windows = assign(value, moment, context)
            if not put(value, timestamp, moment, windows) and self._is_late(moment):
                self._dropped(value, timestamp)

    def _put(self, value: Any, timestamp: int | None, moment: int, windows: Any) -> bool:
        """Put a record into its windows; False where it is in none, as all of them have ended."""
        trigger, seen, key_context = self._trigger_context, False, self.key_context
        for window in windows:
            end_ms = self._cleanup_ms(window)
            if self._event_time and end_ms <= key_context.watermark:
                continue
            # Others may change what they are given: no two windows share a record.
            mine = copied(value) if seen else value
            seen = True
            trigger.namespace = namespace = namespace_of(window)
            self._states.enter(namespace)
            self._add(mine, timestamp)
            result = self._trigger.on_element(value, moment, window, trigger)
            if result is not CONTINUE:
                self._act(result, window, namespace)
            if end_ms < MAX_WATERMARK:  # a window without an end is never forgotten
                self._cleanup_timers().register(Timer(end_ms, key_context.key, namespace))
        return seen

    def _put_merging(self, value: Any, timestamp: int | None, moment: int, windows: Any) -> bool:
        trigger, seen, key_context = self._trigger_context, False, self.key_context
        mapping = self._mapping()
        for window in windows:
            window = add_window(mapping, self._assigner, window, self._merge)
            namespace = namespace_of(window)
            end_ms = self._cleanup_ms(window)
            if self._event_time and end_ms <= key_context.watermark:
                del mapping[namespace]
                continue
            mine = copied(value) if seen else value
            seen = True
            trigger.namespace, of_records = namespace, mapping[namespace]
            self._states.enter(of_records)
            self._add(mine, timestamp)
            result = self._trigger.on_element(value, moment, window, trigger)
            if result is not CONTINUE:
                self._act(result, window, of_records)
            if end_ms < MAX_WATERMARK:
                self._cleanup_timers().register(Timer(end_ms, key_context.key, namespace))
        self._keep(mapping)
        return seen

    def _add(self, value: Any, timestamp: int | None) -> None:
        """Keep a record in the window that was entered last."""
        self._contents.add(value)

    def _dropped(self, value: Any, timestamp: int | None) -> None:
        tag = self._spec.late_tag
        if tag is None:
            self._late.inc()
        else:
            self._to_side((tag, value), timestamp)

    # Firing

    def fire_user_timer(self, timer: Timer, event_time: bool) -> None:
        """Ask the trigger; at the end of the window's time, forget it."""
        node, key, timestamp = self.node, timer.key, timer.time_ms  # noqa: F841
        self.key_context.enter_timer(timer, event_time)
        namespace = timer.namespace
        window = window_of(namespace)
        mapping = self._mapping() if self._spec.merging else None
        of_records = namespace if mapping is None else mapping.get(namespace)
        if of_records is None:
            return  # a trigger left the timer of a window that has ended since
        trigger = self._trigger_context
        trigger.namespace = namespace
        ask = self._trigger.on_event_time if event_time else self._trigger.on_processing_time
        result = ask(timestamp, window, trigger)
        ends = event_time is self._event_time and timestamp == self._cleanup_ms(window)
        if result is not CONTINUE:
            self._act(result, window, of_records, ends)
        if ends:
            self._end(window, namespace, of_records)
            if mapping is not None:
                del mapping[namespace]
                self._keep(mapping)

    def _act(self, result: TriggerResult, window: Any, of_records: Any, ends: bool = False) -> None:
        """Do what the trigger has decided; ``of_records``: the namespace of the records.

        ``ends``: the window is forgotten afterwards.
        """
        if not isinstance(result, TriggerResult):
            raise self._no_result(result)
        fires, purges = result.value
        self._states.enter(of_records)
        if fires:
            self._fire(window, keeps=not (ends or purges) and self._firing.calls)
        if purges:
            self._contents.clear()

    def _no_result(self, given: Any) -> WrongFunctionError:
        return WrongFunctionError(
            f"the trigger {type(self._trigger).__name__} returned {given!r}, not a TriggerResult",
            hint="on_element, on_event_time and on_processing_time must always return one:"
            " TriggerResult.CONTINUE, for example",
        )

    def _fire(self, window: Any, keeps: bool) -> None:
        """Call the window function, unless there is nothing to give it, and emit its results.

        ``keeps``: the window's records are needed afterwards, as they are.
        """
        inputs = self._kept.inputs(self._contents, keeps)
        if inputs:
            self._emit_results(window, inputs)

    def _emit_results(self, window: Any, inputs: Any) -> None:
        moment = window.max_timestamp()
        if moment >= MAX_WATERMARK:  # as PyFlink: that of the record or timer
            moment = self.key_context.event_ms
        self._firing.emit(window, inputs, moment)

    # The end of windows

    def _cleanup_ms(self, window: Any) -> int:
        """When the window is forgotten (ms)."""
        end: int = window.max_timestamp()
        if end > MAX_WATERMARK:
            raise beyond_time(window)
        return min(end + self._lateness_ms, MAX_WATERMARK) if self._event_time else end

    def _is_late(self, moment: int) -> bool:
        return self._event_time and moment + self._lateness_ms <= self.key_context.watermark

    def _cleanup_timers(self) -> TimerStore:
        backend = self.key_context.backend
        return backend.event_timers if self._event_time else backend.processing_timers

    def _end(self, window: Any, namespace: Any, of_records: Any) -> None:
        """Forget all that is kept for a window."""
        states = self._states
        states.enter(of_records)
        self._contents.clear()
        self._trigger.clear(window, self._trigger_context)
        self._firing.end(window)
        if states.asked_for or self._has_stored_states():
            states.enter(namespace)
            states.clear()

    def _has_stored_states(self) -> bool:
        """Whether a run before this one may have left state of windows beside their records."""
        if self._stored_states is None:
            self._stored_states = len(self.key_context.backend.in_namespaces.kinds()) > 1
        return self._stored_states

    # Windows that merge

    def _mapping(self) -> Mapping:
        mapping: Mapping = self.key_context.entry.get(MERGING)
        return {} if mapping is None else mapping

    def _keep(self, mapping: Mapping) -> None:
        """Store where the windows in flight of the current key have their records."""
        key_context = self.key_context
        if mapping:
            key_context.entry[MERGING] = mapping
        else:
            key_context.entry.pop(MERGING, None)
        key_context.entries.changed(key_context.key)

    def _merge(self, result: Any, windows: list[Any], target: Any, sources: list[Any]) -> None:
        """Windows became one: move what they have kept, and set its timers in place of theirs."""
        self._require_future(result)
        trigger = self._trigger_context
        trigger.namespace, trigger.merged = namespace_of(result), [*map(namespace_of, windows)]
        self._trigger.on_merge(result, trigger)
        for window in windows:
            trigger.namespace = namespace = namespace_of(window)
            self._trigger.clear(window, trigger)
            end_ms = self._cleanup_ms(window)
            self._cleanup_timers().delete(Timer(end_ms, self.key_context.key, namespace))
        merge_namespaces(self._states, self._contents, self._kept.merged, target, sources)

    def _require_future(self, window: Any) -> None:
        end, key_context = self._cleanup_ms(window), self.key_context
        now_ms = key_context.watermark if self._event_time else key_context.now_ms
        if end <= now_ms:
            raise PlanError(
                f"windows were merged into {window!r}, which has ended already",
                where={
                    "time": f"{now_ms} ms, {'event' if self._event_time else 'processing'} time"
                },
                hint="merge_windows() must return windows that contain all windows they replace",
            )

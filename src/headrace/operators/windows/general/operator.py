"""The general window operator: state and timers for each key and window."""

from __future__ import annotations

from typing import Any

from headrace.common._windows import TriggerResult, namespace_of, window_of
from headrace.common.watermark_strategy import MAX_WATERMARK, MIN_WATERMARK
from headrace.errors import PlanError, WrongFunctionError
from headrace.operators.emission import side_output_sender
from headrace.operators.keyed import StatefulOperator
from headrace.operators.windows.contents import Contents
from headrace.operators.windows.contexts import AssignerContext, FunctionContext, TriggerContext
from headrace.operators.windows.firing import WindowFiring
from headrace.operators.windows.general.merging import WindowMapping, add_window
from headrace.operators.windows.states import (
    NoWindowStates,
    merge_namespaces,
)
from headrace.operators.windows.windowing import Windowing, window_out_of_range_error
from headrace.runtime.context import TaskContext
from headrace.runtime.loops import Push
from headrace.runtime.operator import NodeProgram, Outputs
from headrace.runtime.record_copies import copy_record
from headrace.runtime.state.backend import Timer, TimerStore
from headrace.runtime.state.handles import KeyContext, NamespacedStates
from headrace.runtime.state.kinds import RESERVED_NAMES

MERGING_SLOT = RESERVED_NAMES + "merging-window-set"
"""The state with the ``WindowMapping`` of a key."""

LATE_COUNTER = "numLateRecordsDropped"
"""The metric that counts dropped late records."""

CONTINUE = TriggerResult.CONTINUE


class WindowOperator(StatefulOperator):
    """Assigns records to windows, stores and fires them, as Flink's ``WindowOperator`` does.

    The state of a window is in the namespace ``namespace_of(window)``: contents, the trigger's
    state and the window function's state. The contents of merging windows are in the namespace of
    one of the windows that were merged; the trigger's state is in that of the window itself.
    """

    def __init__(self, spec: Windowing) -> None:
        self._spec = spec
        self._event_time = spec.event_time
        self._lateness_ms = spec.allowed_lateness_ms

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        super().open(node, context, key_context)
        spec = self._spec
        assert context.states is not None, "windows are keyed"
        self._states: NamespacedStates = context.states.in_namespaces()
        self._stored_contents = self._stored_contents_spec()
        self._contents = self._stored_contents.state(self._states)
        self._assigner = spec.assigner.target
        self._trigger = spec.trigger.target
        self._late_counter = context.get_metrics_group().counter(LATE_COUNTER)
        self._assigner_context = AssignerContext(key_context, context)
        self._trigger_context = TriggerContext(key_context, context, self._states)
        function_context = FunctionContext(
            key_context, context, NoWindowStates() if spec.merging else self._states
        )
        self._firing = WindowFiring(spec.contents, None, key_context, function_context)
        if spec.merging:
            context.states.declare(MERGING_SLOT)

    def _stored_contents_spec(self) -> Contents:
        """Return the spec of the contents that are stored for a window."""
        return self._spec.contents

    def bind(self, outputs: Outputs) -> Push:
        self._firing.bind(outputs)
        self._to_side = side_output_sender(outputs)
        return self.reject_record

    def restore(self, state: Any | None) -> None:
        """Start a task run, on the state of another key group."""
        self._stored_states: bool | None = None

    # Records

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        key_context, node = self.key_context, self.node  # noqa: F841
        assign, context = self._assigner.assign_windows, self._assigner_context
        put = self._add_to_merging_windows if self._spec.merging else self._add_to_windows
        for key, value, timestamp in zip(
            keys, values, timestamps or [None] * len(values), strict=True
        ):
            key_context.enter(key)
            key_context.event_ms = timestamp
            moment = MIN_WATERMARK if timestamp is None else timestamp
            windows = assign(value, moment, context)
            if not put(value, timestamp, moment, windows) and self._is_late(moment):
                self._handle_late(value, timestamp)

    def _add_to_windows(self, value: Any, timestamp: int | None, moment: int, windows: Any) -> bool:
        """Add a record to its windows.

        Return False if all of them have ended, or there are none.
        """
        trigger, was_added, key_context = self._trigger_context, False, self.key_context
        for window in windows:
            end_ms = self._cleanup_ms(window)
            if self._event_time and end_ms <= key_context.watermark:
                continue
            # Functions may change their input, so no two windows share a record.
            own_value = copy_record(value) if was_added else value
            was_added = True
            trigger.namespace = namespace = namespace_of(window)
            self._states.enter(namespace)
            self._add(own_value, timestamp)
            result = self._trigger.on_element(value, moment, window, trigger)
            if result is not CONTINUE:
                self._apply_trigger_result(result, window, namespace)
            if end_ms < MAX_WATERMARK:  # a window without an end is never removed
                self._cleanup_timer_store().register(Timer(end_ms, key_context.key, namespace))
        return was_added

    def _add_to_merging_windows(
        self, value: Any, timestamp: int | None, moment: int, windows: Any
    ) -> bool:
        """Add a record to its merging windows. Return False if all of them have ended."""
        trigger, was_added, key_context = self._trigger_context, False, self.key_context
        mapping = self._read_mapping()
        for window in windows:
            window = add_window(mapping, self._assigner, window, self._merge)
            namespace = namespace_of(window)
            end_ms = self._cleanup_ms(window)
            if self._event_time and end_ms <= key_context.watermark:
                del mapping[namespace]
                continue
            own_value = copy_record(value) if was_added else value
            was_added = True
            trigger.namespace, records_namespace = namespace, mapping[namespace]
            self._states.enter(records_namespace)
            self._add(own_value, timestamp)
            result = self._trigger.on_element(value, moment, window, trigger)
            if result is not CONTINUE:
                self._apply_trigger_result(result, window, records_namespace)
            if end_ms < MAX_WATERMARK:
                self._cleanup_timer_store().register(Timer(end_ms, key_context.key, namespace))
        self._store_mapping(mapping)
        return was_added

    def _add(self, value: Any, timestamp: int | None) -> None:
        """Add a record to the contents of the current namespace."""
        self._contents.add(value)

    def _handle_late(self, value: Any, timestamp: int | None) -> None:
        tag = self._spec.late_tag
        if tag is None:
            self._late_counter.inc()
        else:
            self._to_side((tag, value), timestamp)

    # Firing

    def fire_user_timer(self, timer: Timer, is_event_time: bool) -> None:
        """Call the trigger; at the window's cleanup time, remove the window."""
        node, key, timestamp = self.node, timer.key, timer.time_ms  # noqa: F841
        self.key_context.enter_timer(timer, is_event_time)
        namespace = timer.namespace
        window = window_of(namespace)
        mapping = self._read_mapping() if self._spec.merging else None
        records_namespace = namespace if mapping is None else mapping.get(namespace)
        if records_namespace is None:
            return  # the trigger left a timer of a window that was removed
        trigger = self._trigger_context
        trigger.namespace = namespace
        ask = self._trigger.on_event_time if is_event_time else self._trigger.on_processing_time
        result = ask(timestamp, window, trigger)
        is_last = is_event_time is self._event_time and timestamp == self._cleanup_ms(window)
        if result is not CONTINUE:
            self._apply_trigger_result(result, window, records_namespace, is_last)
        if is_last:
            self._clear_window(window, namespace, records_namespace)
            if mapping is not None:
                del mapping[namespace]
                self._store_mapping(mapping)

    def _apply_trigger_result(
        self, result: TriggerResult, window: Any, records_namespace: Any, is_last: bool = False
    ) -> None:
        """Fire or purge the window, as the trigger decided.

        ``records_namespace``: the namespace of the contents. ``is_last``: the window is removed
        afterwards.
        """
        if not isinstance(result, TriggerResult):
            raise self._invalid_result_error(result)
        fires, purges = result.value
        self._states.enter(records_namespace)
        if fires:
            self._fire(window, keeps_state=not (is_last or purges) and self._firing.has_function)
        if purges:
            self._contents.clear()

    def _invalid_result_error(self, result: Any) -> WrongFunctionError:
        return WrongFunctionError(
            f"the trigger {type(self._trigger).__name__} returned {result!r}, not a TriggerResult",
            hint="on_element, on_event_time and on_processing_time must always return one:"
            " TriggerResult.CONTINUE, for example",
        )

    def _fire(self, window: Any, keeps_state: bool) -> None:
        """Call the window function, if the contents are not empty, and emit its results.

        ``keeps_state``: the contents are needed unchanged afterwards.
        """
        inputs = self._stored_contents.inputs(self._contents, keeps_state)
        if inputs:
            self._emit_results(window, inputs)

    def _emit_results(self, window: Any, inputs: Any) -> None:
        moment = window.max_timestamp()
        if moment >= MAX_WATERMARK:  # as in PyFlink: the time of the record or timer
            moment = self.key_context.event_ms
        self._firing.emit(window, inputs, moment)

    # The end of windows

    def _cleanup_ms(self, window: Any) -> int:
        """Return the time (ms) when the window is removed."""
        end: int = window.max_timestamp()
        if end > MAX_WATERMARK:
            raise window_out_of_range_error(window)
        return min(end + self._lateness_ms, MAX_WATERMARK) if self._event_time else end

    def _is_late(self, moment: int) -> bool:
        return self._event_time and moment + self._lateness_ms <= self.key_context.watermark

    def _cleanup_timer_store(self) -> TimerStore:
        backend = self.key_context.backend
        return backend.event_timers if self._event_time else backend.processing_timers

    def _clear_window(self, window: Any, namespace: Any, records_namespace: Any) -> None:
        """Remove all state of a window."""
        states = self._states
        states.enter(records_namespace)
        self._contents.clear()
        self._trigger.clear(window, self._trigger_context)
        self._firing.clear_window(window)
        if states.asked_for or self._has_stored_states():
            states.enter(namespace)
            states.clear()

    def _has_stored_states(self) -> bool:
        """Return whether an earlier run may have left window state other than contents."""
        if self._stored_states is None:
            self._stored_states = len(self.key_context.backend.in_namespaces.kinds()) > 1
        return self._stored_states

    # Windows that merge

    def _read_mapping(self) -> WindowMapping:
        mapping: WindowMapping = self.key_context.entry.get(MERGING_SLOT)
        return {} if mapping is None else mapping

    def _store_mapping(self, mapping: WindowMapping) -> None:
        """Store the window mapping of the current key."""
        key_context = self.key_context
        if mapping:
            key_context.entry[MERGING_SLOT] = mapping
        else:
            key_context.entry.pop(MERGING_SLOT, None)
        key_context.entries.changed(key_context.key)

    def _merge(self, result: Any, windows: list[Any], target: Any, sources: list[Any]) -> None:
        """Merge the state of windows that became one, and replace their cleanup timers."""
        self._check_window_not_expired(result)
        trigger = self._trigger_context
        trigger.namespace, trigger.merged = namespace_of(result), [*map(namespace_of, windows)]
        self._trigger.on_merge(result, trigger)
        for window in windows:
            trigger.namespace = namespace = namespace_of(window)
            self._trigger.clear(window, trigger)
            end_ms = self._cleanup_ms(window)
            self._cleanup_timer_store().delete(Timer(end_ms, self.key_context.key, namespace))
        merge_namespaces(self._states, self._contents, self._stored_contents.merge, target, sources)

    def _check_window_not_expired(self, window: Any) -> None:
        """Raise PlanError if the end of a merged window is not after the current time."""
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

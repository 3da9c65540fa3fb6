"""Triggers that count or compare records, and triggers that wrap other triggers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.common._windows import TriggerResult
from headrace.common.time import TimeAmount, milliseconds_of
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import MAX_WATERMARK
from headrace.datastream._windows.trigger import (
    CONTINUE,
    FIRE,
    FIRE_AND_PURGE,
    Context,
    OnMerge,
    Trigger,
)
from headrace.datastream.state import ReducingStateDescriptor, ValueStateDescriptor
from headrace.errors import WrongFunctionError


def check_trigger(trigger: Any) -> Trigger[Any, Any]:
    """Check that an object is a trigger, and return it.

    Raises:
        WrongFunctionError: the object is not a trigger.
    """
    if isinstance(trigger, Trigger):
        return trigger
    raise WrongFunctionError(f"expected a Trigger, not {trigger!r}")


def _sum(first: int, second: int) -> int:
    return first + second


class CountTrigger(Trigger[Any, Any]):
    """Fires after every ``window_size`` records of a window."""

    def __init__(self, window_size: int) -> None:
        self._window_size = window_size
        self._count_state_descriptor = ReducingStateDescriptor("count", _sum, Types.LONG())

    @staticmethod
    def of(window_size: int) -> CountTrigger:
        """Return a trigger that fires after every ``window_size`` records."""
        return CountTrigger(window_size)

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Context) -> TriggerResult:
        """Count the record; at ``window_size`` records, fire and restart from 0."""
        count: Any = ctx.get_partitioned_state(self._count_state_descriptor)
        count.add(1)
        if count.get() < self._window_size:
            return CONTINUE
        count.clear()
        return FIRE

    def on_processing_time(self, time: int, window: Any, ctx: Context) -> TriggerResult:
        """Do nothing: only records are counted."""
        return CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Context) -> TriggerResult:
        """Do nothing: only records are counted."""
        return CONTINUE

    def can_merge(self) -> bool:
        """Return True: counts of merged windows are added."""
        return True

    def on_merge(self, window: Any, ctx: OnMerge) -> None:
        """Add the counts of the merged windows."""
        ctx.merge_partitioned_state(self._count_state_descriptor)

    def clear(self, window: Any, ctx: Context) -> None:
        """Delete the count."""
        ctx.get_partitioned_state(self._count_state_descriptor).clear()

    def __repr__(self) -> str:
        return f"CountTrigger({self._window_size})"


class EndOfStreamTrigger(Trigger[Any, Any]):
    """Fires once, at the end of the input. From Flink's Java API; PyFlink has no such trigger."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Context) -> TriggerResult:
        """Register a timer for the last watermark."""
        ctx.register_event_time_timer(MAX_WATERMARK)
        return CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Context) -> TriggerResult:
        """Do nothing: the trigger uses event time."""
        return CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Context) -> TriggerResult:
        """Fire and purge at the last watermark, which ends the input."""
        return FIRE_AND_PURGE if time == MAX_WATERMARK else CONTINUE

    def can_merge(self) -> bool:
        """Return True: windows can be merged."""
        return True

    def on_merge(self, window: Any, ctx: OnMerge) -> None:
        """Register the timer for the merged window."""
        ctx.register_event_time_timer(MAX_WATERMARK)

    def clear(self, window: Any, ctx: Context) -> None:
        """Delete the timer."""
        ctx.delete_event_time_timer(MAX_WATERMARK)

    def __repr__(self) -> str:
        return "EndOfStreamTrigger()"


class NeverTrigger(Trigger[Any, Any]):
    """Never fires."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Context) -> TriggerResult:
        """Do nothing: the trigger never fires."""
        return CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Context) -> TriggerResult:
        """Do nothing: the trigger never fires."""
        return CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Context) -> TriggerResult:
        """Do nothing: the trigger never fires."""
        return CONTINUE

    def on_merge(self, window: Any, ctx: OnMerge) -> None:
        """Do nothing: the trigger has no state."""

    def clear(self, window: Any, ctx: Context) -> None:
        """Do nothing: the trigger has no state."""

    def __repr__(self) -> str:
        return "NeverTrigger()"


class PurgingTrigger(Trigger[Any, Any]):
    """Fires when the nested trigger fires, and then removes the window's records."""

    def __init__(self, nested_trigger: Trigger[Any, Any]) -> None:
        self.nested_trigger = check_trigger(nested_trigger)

    @staticmethod
    def of(nested_trigger: Trigger[Any, Any]) -> PurgingTrigger:
        """Return a trigger that wraps ``nested_trigger``."""
        return PurgingTrigger(nested_trigger)

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Context) -> TriggerResult:
        """Call the nested trigger; if it fires, also purge."""
        return _add_purge(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_event_time(self, time: int, window: Any, ctx: Context) -> TriggerResult:
        """Call the nested trigger; if it fires, also purge."""
        return _add_purge(self.nested_trigger.on_event_time(time, window, ctx))

    def on_processing_time(self, time: int, window: Any, ctx: Context) -> TriggerResult:
        """Call the nested trigger; if it fires, also purge."""
        return _add_purge(self.nested_trigger.on_processing_time(time, window, ctx))

    def can_merge(self) -> bool:
        """Return whether the nested trigger can merge."""
        return self.nested_trigger.can_merge()

    def on_merge(self, window: Any, ctx: OnMerge) -> None:
        """Call the nested trigger."""
        self.nested_trigger.on_merge(window, ctx)

    def clear(self, window: Any, ctx: Context) -> None:
        """Call the nested trigger."""
        self.nested_trigger.clear(window, ctx)

    def __repr__(self) -> str:
        return f"PurgingTrigger({self.nested_trigger!r})"


def _add_purge(result: TriggerResult) -> TriggerResult:
    """Return FIRE_AND_PURGE if the result fires; otherwise the result itself."""
    return FIRE_AND_PURGE if result.is_fire() else result


class DeltaTrigger(Trigger[Any, Any]):
    """Fires when a record's distance from the record of the last firing exceeds a threshold."""

    def __init__(self, threshold: float, delta_function: Callable[[Any, Any], float]) -> None:
        self._threshold = threshold
        self._delta = delta_function
        self._last = ValueStateDescriptor("last-element")

    @staticmethod
    def of(threshold: float, delta_function: Callable[[Any, Any], float]) -> DeltaTrigger:
        """Return the trigger; ``delta_function(old, new)`` returns the distance of two records."""
        return DeltaTrigger(threshold, delta_function)

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Context) -> TriggerResult:
        """Fire if the distance exceeds the threshold."""
        last: Any = ctx.get_partitioned_state(self._last)
        before = last.value()
        if before is None:
            last.update(element)
            return CONTINUE
        if self._delta(before, element) <= self._threshold:
            return CONTINUE
        last.update(element)
        return FIRE

    def on_processing_time(self, time: int, window: Any, ctx: Context) -> TriggerResult:
        """Do nothing: the trigger does not use time."""
        return CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Context) -> TriggerResult:
        """Do nothing: the trigger does not use time."""
        return CONTINUE

    def on_merge(self, window: Any, ctx: OnMerge) -> None:
        """Never called, because the trigger cannot merge."""

    def clear(self, window: Any, ctx: Context) -> None:
        """Delete the stored record."""
        ctx.get_partitioned_state(self._last).clear()

    def __repr__(self) -> str:
        return f"DeltaTrigger({self._delta}, {self._threshold})"


class ProcessingTimeoutTrigger(Trigger[Any, Any]):
    """Fires when the nested trigger fires, and after a timeout in processing time."""

    def __init__(
        self,
        nested_trigger: Trigger[Any, Any],
        interval: int,
        reset_timer_on_new_record: bool,
        should_clear_on_timeout: bool,
    ) -> None:
        self.nested_trigger = check_trigger(nested_trigger)
        self._interval = interval
        self._resets = reset_timer_on_new_record
        self._clears = should_clear_on_timeout
        self._timeout = ValueStateDescriptor("timeout", Types.LONG())

    @staticmethod
    def of(
        nested_trigger: Trigger[Any, Any],
        timeout: TimeAmount,
        reset_timer_on_new_record: bool = False,
        should_clear_on_timeout: bool = True,
    ) -> ProcessingTimeoutTrigger:
        """Return a trigger that wraps ``nested_trigger``.

        ``reset_timer_on_new_record``: start the timeout at the last record instead of the first.
        ``should_clear_on_timeout``: a timeout clears the state of the nested trigger.
        """
        return ProcessingTimeoutTrigger(
            nested_trigger,
            milliseconds_of(timeout, "a trigger's timeout", at_least=1),
            reset_timer_on_new_record,
            should_clear_on_timeout,
        )

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Context) -> TriggerResult:
        """Call the nested trigger; if it does not fire, register a timer for the timeout."""
        result = self.nested_trigger.on_element(element, timestamp, window, ctx)
        if result.is_fire():
            self.clear(window, ctx)
            return result
        timeout: Any = ctx.get_partitioned_state(self._timeout)
        waiting_for = timeout.value()
        if waiting_for is not None and self._resets:
            ctx.delete_processing_time_timer(waiting_for)
            waiting_for = None
        if waiting_for is None:
            waiting_for = ctx.get_current_processing_time() + self._interval
            timeout.update(waiting_for)
            ctx.register_processing_time_timer(waiting_for)
        return result

    def on_processing_time(self, time: int, window: Any, ctx: Context) -> TriggerResult:
        """Fire at the timeout or at a nested timer; also purge if the nested trigger does."""
        return self._finish_fire(
            self.nested_trigger.on_processing_time(time, window, ctx), window, ctx
        )

    def on_event_time(self, time: int, window: Any, ctx: Context) -> TriggerResult:
        """Fire at a timer of the nested trigger; also purge if the nested trigger does."""
        return self._finish_fire(self.nested_trigger.on_event_time(time, window, ctx), window, ctx)

    def _finish_fire(self, result: TriggerResult, window: Any, ctx: Context) -> TriggerResult:
        """Return FIRE, or FIRE_AND_PURGE if ``result`` purges; clear the state if configured."""
        if self._clears:
            self.clear(window, ctx)
        return FIRE_AND_PURGE if result.is_purge() else FIRE

    def can_merge(self) -> bool:
        """Return False, as in Flink: a merged window would have several timeouts."""
        return False

    def on_merge(self, window: Any, ctx: OnMerge) -> None:
        """Never called, because the trigger cannot merge."""

    def clear(self, window: Any, ctx: Context) -> None:
        """Delete the timer, and clear the nested trigger."""
        timeout: Any = ctx.get_partitioned_state(self._timeout)
        waiting_for = timeout.value()
        if waiting_for is not None:
            ctx.delete_processing_time_timer(waiting_for)
            timeout.clear()
        self.nested_trigger.clear(window, ctx)

    def __repr__(self) -> str:
        return f"TimeoutTrigger({self.nested_trigger!r})"

"""Triggers by event time and by processing time."""

from __future__ import annotations

from typing import Any

from headrace.common._arguments import require_positive
from headrace.common._windows import TimeWindow, TriggerResult
from headrace.common.time import TimeAmount, milliseconds_of
from headrace.common.typeinfo import Types
from headrace.datastream._windows.trigger import CONTINUE, FIRE, Context, OnMerge, Trigger
from headrace.datastream.functions import ReduceFunction
from headrace.datastream.state import ReducingStateDescriptor


class EventTimeTrigger(Trigger[Any, TimeWindow]):
    """Fires when the watermark passes the window's end, and then for each late record."""

    at_end_of_window = True
    """True: the trigger has no state, and fires only at the window's end and for late records."""

    @staticmethod
    def create() -> EventTimeTrigger:
        """Return the trigger."""
        return EventTimeTrigger()

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Context
    ) -> TriggerResult:
        """Fire if the watermark has passed the window's end; otherwise register a timer for it."""
        if window.max_timestamp() <= ctx.get_current_watermark():
            return FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        return CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Context) -> TriggerResult:
        """Do nothing: the trigger uses event time."""
        return CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Context) -> TriggerResult:
        """Fire at the window's end."""
        return FIRE if time == window.max_timestamp() else CONTINUE

    def can_merge(self) -> bool:
        """Return True: windows can be merged."""
        return True

    def on_merge(self, window: TimeWindow, ctx: OnMerge) -> None:
        """Register a timer for the end of the merged window."""
        if window.max_timestamp() > ctx.get_current_watermark():
            ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Context) -> None:
        """Delete the timer at the window's end."""
        ctx.delete_event_time_timer(window.max_timestamp())

    def __repr__(self) -> str:
        return "EventTimeTrigger()"


class ProcessingTimeTrigger(Trigger[Any, TimeWindow]):
    """Fires when processing time passes the end of the window."""

    @staticmethod
    def create() -> ProcessingTimeTrigger:
        """Return the trigger."""
        return ProcessingTimeTrigger()

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Context
    ) -> TriggerResult:
        """Register a timer for the window's end."""
        ctx.register_processing_time_timer(window.max_timestamp())
        return CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Context) -> TriggerResult:
        """Fire, because the window has ended."""
        return FIRE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Context) -> TriggerResult:
        """Do nothing: the trigger uses processing time."""
        return CONTINUE

    def can_merge(self) -> bool:
        """Return True: windows can be merged."""
        return True

    def on_merge(self, window: TimeWindow, ctx: OnMerge) -> None:
        """Register a timer for the end of the merged window."""
        if window.max_timestamp() > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Context) -> None:
        """Delete the timer at the window's end."""
        ctx.delete_processing_time_timer(window.max_timestamp())

    def __repr__(self) -> str:
        return "ProcessingTimeTrigger()"


class Min(ReduceFunction):
    """Keeps the smaller of two values."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        """Return the smaller value."""
        return min(value1, value2)


class ContinuousEventTimeTrigger(Trigger[Any, TimeWindow]):
    """Fires each time the watermark passes a multiple of an interval, and at the window's end."""

    def __init__(self, interval: int) -> None:
        self.interval = require_positive(interval, "the interval of a trigger (ms)")
        self.state_desc = ReducingStateDescriptor("fire-time", Min(), Types.LONG())

    @staticmethod
    def of(interval: TimeAmount) -> ContinuousEventTimeTrigger:
        """Return a trigger with this interval."""
        return ContinuousEventTimeTrigger(milliseconds_of(interval, "the interval of a trigger"))

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Context
    ) -> TriggerResult:
        """Fire if the watermark has passed the window's end.

        Otherwise register timers for the window's end and for the end of the interval.
        """
        if window.max_timestamp() <= ctx.get_current_watermark():
            return FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        state: Any = ctx.get_partitioned_state(self.state_desc)
        if state.get() is None:
            start = timestamp - timestamp % self.interval
            self.register_next_fire_timestamp(start, window, ctx, state)
        return CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Context) -> TriggerResult:
        """Do nothing: the trigger uses event time."""
        return CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Context) -> TriggerResult:
        """Fire at the window's end and at the end of each interval; register the next timer."""
        if time == window.max_timestamp():
            return FIRE
        state: Any = ctx.get_partitioned_state(self.state_desc)
        if state.get() != time:
            return CONTINUE
        state.clear()
        self.register_next_fire_timestamp(time, window, ctx, state)
        return FIRE

    def can_merge(self) -> bool:
        """Return True: windows can be merged."""
        return True

    def on_merge(self, window: TimeWindow, ctx: OnMerge) -> None:
        """Register a timer for the earliest firing time of the merged windows."""
        ctx.merge_partitioned_state(self.state_desc)
        state: Any = ctx.get_partitioned_state(self.state_desc)
        next_ms = state.get()
        if next_ms is not None:
            ctx.register_event_time_timer(next_ms)

    def clear(self, window: TimeWindow, ctx: Context) -> None:
        """Delete the timer of the next fire, and the state that holds its time."""
        state: Any = ctx.get_partitioned_state(self.state_desc)
        next_ms = state.get()
        if next_ms is not None:
            ctx.delete_event_time_timer(next_ms)
            state.clear()

    def register_next_fire_timestamp(
        self, time: int, window: TimeWindow, ctx: Context, fire_timestamp_state: Any
    ) -> None:
        """Register a timer for one interval after ``time`` (ms), at the latest the window's end."""
        next_ms = min(time + self.interval, window.max_timestamp())
        fire_timestamp_state.add(next_ms)
        ctx.register_event_time_timer(next_ms)

    def __repr__(self) -> str:
        return f"ContinuousEventTimeTrigger({self.interval})"


class ContinuousProcessingTimeTrigger(Trigger[Any, TimeWindow]):
    """Fires each time processing time passes a multiple of an interval, and at the window's end."""

    def __init__(self, interval: int) -> None:
        self.interval = require_positive(interval, "the interval of a trigger (ms)")
        self.state_desc = ReducingStateDescriptor("fire-time", Min(), Types.LONG())

    @staticmethod
    def of(interval: TimeAmount) -> ContinuousProcessingTimeTrigger:
        """Return a trigger with this interval."""
        interval_ms = milliseconds_of(interval, "the interval of a trigger")
        return ContinuousProcessingTimeTrigger(interval_ms)

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Context
    ) -> TriggerResult:
        """Register a timer for the end of the interval."""
        state: Any = ctx.get_partitioned_state(self.state_desc)
        now_ms = ctx.get_current_processing_time()
        if state.get() is None:
            start = now_ms - now_ms % self.interval
            self.register_next_fire_timestamp(start, window, ctx, state)
        return CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Context) -> TriggerResult:
        """Fire at the end of an interval; register a timer for the next one."""
        state: Any = ctx.get_partitioned_state(self.state_desc)
        if state.get() != time:
            return CONTINUE
        state.clear()
        self.register_next_fire_timestamp(time, window, ctx, state)
        return FIRE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Context) -> TriggerResult:
        """Do nothing: the trigger uses processing time."""
        return CONTINUE

    def can_merge(self) -> bool:
        """Return True: windows can be merged."""
        return True

    def on_merge(self, window: TimeWindow, ctx: OnMerge) -> None:
        """Register a timer for the earliest firing time of the merged windows."""
        ctx.merge_partitioned_state(self.state_desc)
        state: Any = ctx.get_partitioned_state(self.state_desc)
        next_ms = state.get()
        if next_ms is not None:
            ctx.register_processing_time_timer(next_ms)

    def clear(self, window: TimeWindow, ctx: Context) -> None:
        """Delete the timer of the next fire, and the state that holds its time."""
        state: Any = ctx.get_partitioned_state(self.state_desc)
        next_ms = state.get()
        if next_ms is not None:
            ctx.delete_processing_time_timer(next_ms)
            state.clear()

    def register_next_fire_timestamp(
        self, time: int, window: TimeWindow, ctx: Context, fire_timestamp_state: Any
    ) -> None:
        """Register a timer for one interval after ``time`` (ms), at the latest the window's end."""
        next_ms = min(time + self.interval, window.max_timestamp())
        fire_timestamp_state.add(next_ms)
        ctx.register_processing_time_timer(next_ms)

    def __repr__(self) -> str:
        return f"ContinuousProcessingTimeTrigger({self.interval})"

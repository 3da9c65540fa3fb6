"""Tumbling and sliding windows of time."""

from __future__ import annotations

import math
from collections.abc import Collection
from enum import Enum
from typing import Any

from headrace.common._windows import TimeWindow
from headrace.common.serializer import TypeSerializer
from headrace.common.time import TimeAmount, milliseconds_of
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import MIN_WATERMARK
from headrace.datastream._windows.assigner import WindowAssigner
from headrace.datastream._windows.serializers import TimeWindowSerializer
from headrace.datastream._windows.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from headrace.datastream._windows.trigger import Trigger
from headrace.datastream.state import ValueStateDescriptor
from headrace.errors import PlanError
from headrace.operators.windows.windowing import missing_timestamp_error
from headrace.runtime.keys.key_groups import stable_hash
from headrace.runtime.keys.serialized_key import to_internal_key

Context = WindowAssigner.WindowAssignerContext


def with_timestamp(timestamp: int) -> int:
    """Return the timestamp (ms), if the record has one.

    Raises:
        MissingWatermarksError: the record has no timestamp.
    """
    if timestamp > MIN_WATERMARK:
        return timestamp
    raise missing_timestamp_error()


class WindowStagger(Enum):
    """When the windows of different keys start: at the same time, or staggered.

    ``ALIGNED``: all at the same time. ``RANDOM``: each key's windows are shifted by a part of their
    size, which is computed from the key. ``NATURAL``: each key's windows are shifted by the time
    from the start of a window to the key's first record, by the clock.
    """

    ALIGNED = "aligned"
    RANDOM = "random"
    NATURAL = "natural"


class TimeWindows(WindowAssigner[Any, TimeWindow]):
    """The base of assigners of ``TimeWindow``."""

    def get_window_serializer(self) -> TypeSerializer[TimeWindow]:
        """Return a serializer that writes start and end."""
        return TimeWindowSerializer()


class EventTimeWindows(TimeWindows):
    """The base of assigners by event time."""

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        """Return a trigger that fires when the watermark passes the window's end."""
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        """Return True, because the windows use event time."""
        return True


class ProcessingTimeWindows(TimeWindows):
    """The base of assigners by processing time."""

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        """Return a trigger that fires when processing time passes the window's end."""
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        """Return False, because the windows use processing time."""
        return False


def _offset_ms(offset: TimeAmount | None) -> int:
    return 0 if offset is None else milliseconds_of(offset, "the offset of windows")


def _size_ms(size: TimeAmount) -> int:
    return milliseconds_of(size, "the size of a window")


class _Tumbling(TimeWindows):
    def __init__(self, size: int, offset: int) -> None:
        if abs(offset) >= size:
            raise PlanError(
                f"{type(self).__name__}: the offset is {offset} ms and the size {size} ms, but"
                " abs(offset) < size must hold",
                hint="the offset moves the start of all windows by less than one window",
            )
        self._size = size
        self._offset = offset

    def _assign_window(self, timestamp: int) -> list[TimeWindow]:
        start = timestamp - (timestamp - self._offset) % self._size
        return [TimeWindow(start, start + self._size)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size}, {self._offset})"


class TumblingEventTimeWindows(_Tumbling, EventTimeWindows):
    """Tumbling windows in event time: all of the same size, without overlap."""

    @property
    def grid(self) -> tuple[int, int, int]:
        """Size, slide and offset (ms)."""
        return self._size, self._size, self._offset

    @staticmethod
    def of(
        size: TimeAmount,
        offset: TimeAmount | None = None,
        window_stagger: WindowStagger = WindowStagger.ALIGNED,
    ) -> TumblingEventTimeWindows:
        """Return the assigner; ``offset`` and ``window_stagger`` shift the start of each window."""
        how = _size_ms(size), _offset_ms(offset)
        if window_stagger is WindowStagger.ALIGNED:
            return TumblingEventTimeWindows(*how)
        return StaggeredEventTimeWindows(*how, window_stagger)

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[TimeWindow]:
        """Return the window that contains the timestamp."""
        return self._assign_window(with_timestamp(timestamp))


class TumblingProcessingTimeWindows(_Tumbling, ProcessingTimeWindows):
    """Tumbling windows in processing time: all of the same size, without overlap."""

    @staticmethod
    def of(
        size: TimeAmount,
        offset: TimeAmount | None = None,
        window_stagger: WindowStagger = WindowStagger.ALIGNED,
    ) -> TumblingProcessingTimeWindows:
        """Return the assigner; ``offset`` and ``window_stagger`` shift the start of each window."""
        how = _size_ms(size), _offset_ms(offset)
        if window_stagger is WindowStagger.ALIGNED:
            return TumblingProcessingTimeWindows(*how)
        return StaggeredProcessingTimeWindows(*how, window_stagger)

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[TimeWindow]:
        """Return the window that contains the current processing time."""
        return self._assign_window(context.get_current_processing_time())


class _Staggered(_Tumbling):
    """Tumbling windows that start at different times for different keys.

    Flink has an offset per subtask; here each key has one. So it does not depend on the task that
    processes the key, and is the same after a restart.
    """

    def __init__(self, size: int, offset: int, window_stagger: WindowStagger) -> None:
        super().__init__(size, offset)
        self._stagger = window_stagger
        self._natural = ValueStateDescriptor("window-stagger", Types.LONG())

    def _assign_staggered_window(self, timestamp: int, context: Any) -> list[TimeWindow]:
        offset = (self._offset + self._stagger_ms(context)) % self._size
        start = timestamp - (timestamp - offset) % self._size
        return [TimeWindow(start, start + self._size)]

    def _stagger_ms(self, context: Any) -> int:
        if self._stagger is WindowStagger.RANDOM:
            return stable_hash(to_internal_key(context.get_current_key())) % self._size
        state = context.get_runtime_context().get_state(self._natural)
        lag: int | None = state.value()
        if lag is None:
            lag = context.get_current_processing_time() % self._size
            state.update(lag)
        return lag


class StaggeredEventTimeWindows(_Staggered, TumblingEventTimeWindows):
    """Staggered windows of event time."""

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[TimeWindow]:
        """Return the window that contains the timestamp."""
        return self._assign_staggered_window(with_timestamp(timestamp), context)


class StaggeredProcessingTimeWindows(_Staggered, TumblingProcessingTimeWindows):
    """Staggered windows of processing time."""

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[TimeWindow]:
        """Return the window that contains the current processing time."""
        return self._assign_staggered_window(context.get_current_processing_time(), context)


class _Sliding(TimeWindows):
    def __init__(self, size: int, slide: int, offset: int) -> None:
        if abs(offset) >= slide or size <= 0:
            raise PlanError(
                f"{type(self).__name__}: the offset is {offset} ms, the slide {slide} ms and the"
                f" size {size} ms, but abs(offset) < slide and size > 0 must hold",
            )
        self._size = size
        self._slide = slide
        self._offset = offset
        self._pane_size = math.gcd(size, slide)

    def _assign_windows(self, timestamp: int) -> list[TimeWindow]:
        size, slide = self._size, self._slide
        last = timestamp - (timestamp - self._offset) % slide
        return [TimeWindow(start, start + size) for start in range(last, timestamp - size, -slide)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size}, {self._slide}, {self._offset})"


class SlidingEventTimeWindows(_Sliding, EventTimeWindows):
    """Sliding windows in event time: all of the same size, one starts at each slide."""

    @property
    def grid(self) -> tuple[int, int, int]:
        """Size, slide and offset (ms)."""
        return self._size, self._slide, self._offset

    @staticmethod
    def of(
        size: TimeAmount, slide: TimeAmount, offset: TimeAmount | None = None
    ) -> SlidingEventTimeWindows:
        """Return the assigner; ``offset`` shifts the start of each window."""
        return SlidingEventTimeWindows(_size_ms(size), _size_ms(slide), _offset_ms(offset))

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[TimeWindow]:
        """Return the windows that contain the timestamp, the last one first."""
        return self._assign_windows(with_timestamp(timestamp))


class SlidingProcessingTimeWindows(_Sliding, ProcessingTimeWindows):
    """Sliding windows in processing time: all of the same size, one starts at each slide."""

    @staticmethod
    def of(
        size: TimeAmount, slide: TimeAmount, offset: TimeAmount | None = None
    ) -> SlidingProcessingTimeWindows:
        """Return the assigner; ``offset`` shifts the start of each window."""
        return SlidingProcessingTimeWindows(_size_ms(size), _size_ms(slide), _offset_ms(offset))

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[TimeWindow]:
        """Return the windows that contain the current processing time, the last one first."""
        return self._assign_windows(context.get_current_processing_time())

"""Tumbling, sliding and global windows, and windows that count records."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from headrace.common.arguments import positive
from headrace.common.serializer import TypeSerializer
from headrace.common.time import TimeAmount, milliseconds_of
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import MIN_WATERMARK
from headrace.common.windows import CountWindow, GlobalWindow, TimeWindow
from headrace.datastream._windows.assigner import WindowAssigner
from headrace.datastream._windows.record_triggers import CountTrigger, NeverTrigger
from headrace.datastream._windows.serializers import (
    CountWindowSerializer,
    GlobalWindowSerializer,
    TimeWindowSerializer,
)
from headrace.datastream._windows.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from headrace.datastream._windows.trigger import Trigger
from headrace.datastream.state import ValueStateDescriptor
from headrace.errors import MissingWatermarksError, PlanError

Context = WindowAssigner.WindowAssignerContext


def with_timestamp(timestamp: int) -> int:
    """The timestamp (ms) itself.

    Raises:
        MissingWatermarksError: it says that the record has none.
    """
    if timestamp > MIN_WATERMARK:
        return timestamp
    raise MissingWatermarksError(
        "a record without a timestamp came to windows of event time",
        hint="its source gives none: the watermark strategy needs"
        " .with_timestamp_assigner(lambda record: <ms>)",
    )


class TimeWindows(WindowAssigner[Any, TimeWindow]):
    """What assigners of ``TimeWindow`` have in common."""

    def get_window_serializer(self) -> TypeSerializer[TimeWindow]:
        """Writes start and end."""
        return TimeWindowSerializer()


class EventTimeWindows(TimeWindows):
    """Those that follow event time."""

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        """Fires at the end of a window by the watermark."""
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        """True."""
        return True


class ProcessingTimeWindows(TimeWindows):
    """Those that follow the clock."""

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        """Fires at the end of a window by the clock."""
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        """False."""
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

    def _window(self, timestamp: int) -> list[TimeWindow]:
        start = timestamp - (timestamp - self._offset) % self._size
        return [TimeWindow(start, start + self._size)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size}, {self._offset})"


class TumblingEventTimeWindows(_Tumbling, EventTimeWindows):
    """Windows of one size, one after the other, by the records' timestamps."""

    @staticmethod
    def of(size: TimeAmount, offset: TimeAmount | None = None) -> TumblingEventTimeWindows:
        """The assigner; ``offset`` moves the start of each window."""
        return TumblingEventTimeWindows(_size_ms(size), _offset_ms(offset))

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[TimeWindow]:
        """The one window of the timestamp."""
        return self._window(with_timestamp(timestamp))


class TumblingProcessingTimeWindows(_Tumbling, ProcessingTimeWindows):
    """Windows of one size, one after the other, by the clock."""

    @staticmethod
    def of(size: TimeAmount, offset: TimeAmount | None = None) -> TumblingProcessingTimeWindows:
        """The assigner; ``offset`` moves the start of each window."""
        return TumblingProcessingTimeWindows(_size_ms(size), _offset_ms(offset))

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[TimeWindow]:
        """The one window of this moment."""
        return self._window(context.get_current_processing_time())


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

    def _windows(self, timestamp: int) -> list[TimeWindow]:
        size, slide = self._size, self._slide
        last = timestamp - (timestamp - self._offset) % slide
        return [TimeWindow(start, start + size) for start in range(last, timestamp - size, -slide)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size}, {self._slide}, {self._offset})"


class SlidingEventTimeWindows(_Sliding, EventTimeWindows):
    """Windows of one size that begin at every slide, by the records' timestamps."""

    @staticmethod
    def of(
        size: TimeAmount, slide: TimeAmount, offset: TimeAmount | None = None
    ) -> SlidingEventTimeWindows:
        """The assigner; ``offset`` moves the start of each window."""
        return SlidingEventTimeWindows(_size_ms(size), _size_ms(slide), _offset_ms(offset))

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[TimeWindow]:
        """The windows that hold the timestamp, the last first."""
        return self._windows(with_timestamp(timestamp))


class SlidingProcessingTimeWindows(_Sliding, ProcessingTimeWindows):
    """Windows of one size that begin at every slide, by the clock."""

    @staticmethod
    def of(
        size: TimeAmount, slide: TimeAmount, offset: TimeAmount | None = None
    ) -> SlidingProcessingTimeWindows:
        """The assigner; ``offset`` moves the start of each window."""
        return SlidingProcessingTimeWindows(_size_ms(size), _size_ms(slide), _offset_ms(offset))

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[TimeWindow]:
        """The windows that hold this moment, the last first."""
        return self._windows(context.get_current_processing_time())


class GlobalWindows(WindowAssigner[Any, GlobalWindow]):
    """One window for all records of a key. It fires by a trigger that the program names."""

    endless = True
    """No window ends by a clock."""

    @staticmethod
    def create() -> GlobalWindows:
        """The assigner."""
        return GlobalWindows()

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[GlobalWindow]:
        """The window."""
        return [GlobalWindow.get()]

    def get_default_trigger(self, env: Any) -> Trigger[Any, GlobalWindow]:
        """Never fires."""
        return NeverTrigger()

    def get_window_serializer(self) -> TypeSerializer[GlobalWindow]:
        """Writes a byte."""
        return GlobalWindowSerializer()

    def is_event_time(self) -> bool:
        """False."""
        return False

    def __repr__(self) -> str:
        return "GlobalWindows()"


class _CountWindows(WindowAssigner[Any, CountWindow]):
    """Windows by the number of a record among those of its key."""

    endless = True
    """No window ends by a clock."""
    _window_size: int
    _count_descriptor: ValueStateDescriptor

    def _number(self, context: Context) -> int:
        """The number of the record at hand, from 0; the next will have the next."""
        count = context.get_runtime_context().get_state(self._count_descriptor)
        number: int = count.value() or 0
        count.update(number + 1)
        return number

    def get_default_trigger(self, env: Any) -> Trigger[Any, CountWindow]:
        """Fires when a window is full."""
        return CountTrigger(self._window_size)

    def get_window_serializer(self) -> TypeSerializer[CountWindow]:
        """Writes the id."""
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        """False."""
        return False


class CountTumblingWindowAssigner(_CountWindows):
    """Windows of so many records, one after the other."""

    def __init__(self, window_size: int) -> None:
        self._window_size = positive(window_size, "the size of a count window")
        self._count_descriptor = ValueStateDescriptor("tumble-count-assigner", Types.LONG())

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner:
        """The assigner."""
        return CountTumblingWindowAssigner(window_size)

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[CountWindow]:
        """The window at hand."""
        return [CountWindow(self._number(context) // self._window_size)]

    def __repr__(self) -> str:
        return f"CountTumblingWindowAssigner({self._window_size})"


class CountSlidingWindowAssigner(_CountWindows):
    """Windows of so many records, which begin at every so many records."""

    def __init__(self, window_size: int, window_slide: int) -> None:
        self._window_size = positive(window_size, "the size of a count window")
        self._window_slide = positive(window_slide, "the slide of a count window")
        self._count_descriptor = ValueStateDescriptor("slide-count-assigner", Types.LONG())

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner:
        """The assigner."""
        return CountSlidingWindowAssigner(window_size, window_slide)

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[CountWindow]:
        """The windows that hold the record, the last first; those before the first do not count."""
        number, size, slide = self._number(context), self._window_size, self._window_slide
        last = number // slide
        first = max(-((size - 1 - number) // slide), 0)
        return [CountWindow(window) for window in range(last, first - 1, -1)]

    def __repr__(self) -> str:
        return f"CountSlidingWindowAssigner({self._window_size}, {self._window_slide})"

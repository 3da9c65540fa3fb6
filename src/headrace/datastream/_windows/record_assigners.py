"""Windows that do not end by time: global windows and count windows."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from headrace.common._arguments import require_positive
from headrace.common._windows import CountWindow, GlobalWindow
from headrace.common.serializer import TypeSerializer
from headrace.common.typeinfo import Types
from headrace.datastream._windows.assigner import WindowAssigner
from headrace.datastream._windows.record_triggers import (
    CountTrigger,
    EndOfStreamTrigger,
    NeverTrigger,
)
from headrace.datastream._windows.serializers import (
    CountWindowSerializer,
    GlobalWindowSerializer,
)
from headrace.datastream._windows.trigger import Trigger
from headrace.datastream.state import ValueStateDescriptor

Context = WindowAssigner.WindowAssignerContext


class GlobalWindows(WindowAssigner[Any, GlobalWindow]):
    """Assigns all records of a key to one window, which fires only with a suitable trigger."""

    endless = True
    """True: these windows have no end in time."""

    def __init__(self, at_end: bool = False) -> None:
        self._at_end = at_end

    @staticmethod
    def create() -> GlobalWindows:
        """Return an assigner whose default trigger never fires."""
        return GlobalWindows()

    @staticmethod
    def create_with_end_of_stream_trigger() -> GlobalWindows:
        """Return an assigner whose default trigger fires at the end of the input."""
        return GlobalWindows(at_end=True)

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[GlobalWindow]:
        """Return the global window."""
        return [GlobalWindow.get()]

    def get_default_trigger(self, env: Any) -> Trigger[Any, GlobalWindow]:
        """Return a trigger that never fires, or one that fires at the end of the input."""
        return EndOfStreamTrigger() if self._at_end else NeverTrigger()

    def get_window_serializer(self) -> TypeSerializer[GlobalWindow]:
        """Return the serializer of the global window."""
        return GlobalWindowSerializer()

    def is_event_time(self) -> bool:
        """Return False, because the window does not depend on time."""
        return False

    def __repr__(self) -> str:
        return "GlobalWindows()"


class _CountWindows(WindowAssigner[Any, CountWindow]):
    """The base of count windows: a record's number within its key decides its windows."""

    endless = True
    """True: these windows have no end in time."""
    _window_size: int
    _count_descriptor: ValueStateDescriptor

    def _count_record(self, context: Context) -> int:
        """Return the number of the current record of the key, from 0.

        Each call counts one record.
        """
        count = context.get_runtime_context().get_state(self._count_descriptor)
        number: int = count.value() or 0
        count.update(number + 1)
        return number

    def get_default_trigger(self, env: Any) -> Trigger[Any, CountWindow]:
        """Return a trigger that fires when a window is full."""
        return CountTrigger(self._window_size)

    def get_window_serializer(self) -> TypeSerializer[CountWindow]:
        """Return a serializer that writes the window's id."""
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        """Return False, because the windows do not depend on time."""
        return False


class CountTumblingWindowAssigner(_CountWindows):
    """Tumbling windows of ``window_size`` records."""

    def __init__(self, window_size: int) -> None:
        self._window_size = require_positive(window_size, "the size of a count window")
        self._count_descriptor = ValueStateDescriptor("tumble-count-assigner", Types.LONG())

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner:
        """Return an assigner of windows with ``window_size`` records."""
        return CountTumblingWindowAssigner(window_size)

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[CountWindow]:
        """Return the current window of the key."""
        return [CountWindow(self._count_record(context) // self._window_size)]

    @property
    def state_layout(self) -> str:
        """The window size as text; state of windows with another size cannot be used."""
        return f"windows-of-{self._window_size}-records"

    def __repr__(self) -> str:
        return f"CountTumblingWindowAssigner({self._window_size})"


class CountSlidingWindowAssigner(_CountWindows):
    """Windows of ``window_size`` records; a new one begins every ``window_slide`` records."""

    def __init__(self, window_size: int, window_slide: int) -> None:
        self._window_size = require_positive(window_size, "the size of a count window")
        self._window_slide = require_positive(window_slide, "the slide of a count window")
        self._count_descriptor = ValueStateDescriptor("slide-count-assigner", Types.LONG())

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner:
        """Return an assigner of windows that begin every ``window_slide`` records."""
        return CountSlidingWindowAssigner(window_size, window_slide)

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[CountWindow]:
        """Return the windows with this record, the last one first; none begins before record 0."""
        number, size, slide = self._count_record(context), self._window_size, self._window_slide
        last = number // slide
        first = max(-((size - 1 - number) // slide), 0)
        return [CountWindow(window) for window in range(last, first - 1, -1)]

    @property
    def state_layout(self) -> str:
        """Window size and slide as text; state of windows with other numbers cannot be used."""
        return f"windows-of-{self._window_size}-records-every-{self._window_slide}"

    def __repr__(self) -> str:
        return f"CountSlidingWindowAssigner({self._window_size}, {self._window_slide})"

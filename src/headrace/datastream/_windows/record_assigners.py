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
    """One window for all records of a key. It needs a trigger to fire."""

    endless = True
    """No window ends by a clock."""

    def __init__(self, at_end: bool = False) -> None:
        self._at_end = at_end

    @staticmethod
    def create() -> GlobalWindows:
        """The assigner."""
        return GlobalWindows()

    @staticmethod
    def create_with_end_of_stream_trigger() -> GlobalWindows:
        """The assigner with a trigger that fires at the end of the input."""
        return GlobalWindows(at_end=True)

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[GlobalWindow]:
        """The window."""
        return [GlobalWindow.get()]

    def get_default_trigger(self, env: Any) -> Trigger[Any, GlobalWindow]:
        """A trigger that never fires, or one that fires at the end of the input."""
        return EndOfStreamTrigger() if self._at_end else NeverTrigger()

    def get_window_serializer(self) -> TypeSerializer[GlobalWindow]:
        """The serializer of the one window."""
        return GlobalWindowSerializer()

    def is_event_time(self) -> bool:
        """Return False: these windows do not depend on time."""
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
        """A trigger that fires when a window is full."""
        return CountTrigger(self._window_size)

    def get_window_serializer(self) -> TypeSerializer[CountWindow]:
        """Writes the id."""
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        """Return False: these windows do not depend on time."""
        return False


class CountTumblingWindowAssigner(_CountWindows):
    """Tumbling windows of ``window_size`` records."""

    def __init__(self, window_size: int) -> None:
        self._window_size = require_positive(window_size, "the size of a count window")
        self._count_descriptor = ValueStateDescriptor("tumble-count-assigner", Types.LONG())

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner:
        """The assigner."""
        return CountTumblingWindowAssigner(window_size)

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[CountWindow]:
        """The current window."""
        return [CountWindow(self._number(context) // self._window_size)]

    @property
    def state_layout(self) -> str:
        """Which windows these are: the number of a window means nothing with another size."""
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

    @property
    def state_layout(self) -> str:
        """Which windows these are: the number of a window means nothing with another size."""
        return f"windows-of-{self._window_size}-records-every-{self._window_slide}"

    def __repr__(self) -> str:
        return f"CountSlidingWindowAssigner({self._window_size}, {self._window_slide})"

"""Windows, the results of triggers, and the form of windows in stored state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from headrace.common.watermark_strategy import MAX_WATERMARK, MIN_WATERMARK
from headrace.errors import TypeMismatchError


class Window(ABC):
    """A group of records; ``max_timestamp`` is the end of the window."""

    @abstractmethod
    def max_timestamp(self) -> int:
        """Return the greatest timestamp (ms) in the window."""


class TimeWindow(Window):
    """The records from ``start`` (ms, inclusive) to ``end`` (ms, exclusive)."""

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end

    def max_timestamp(self) -> int:
        """Return ``end - 1``: the greatest timestamp (ms) in the window."""
        return self.end - 1

    def intersects(self, other: TimeWindow) -> bool:
        """Return whether the windows overlap or touch."""
        return self.start <= other.end and self.end >= other.start

    def cover(self, other: TimeWindow) -> TimeWindow:
        """Return the smallest window that contains both."""
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """Return the start of the window that contains a timestamp; all times are in ms."""
        return timestamp - (timestamp - offset) % window_size

    @staticmethod
    def merge_windows(windows: Iterable[TimeWindow], callback: Any) -> None:
        """Call ``callback.merge(windows, merged)`` for each group that overlaps or touches."""
        groups: list[tuple[TimeWindow, set[TimeWindow]]] = []
        for window in sorted(windows):
            if groups and groups[-1][0].intersects(window):
                covered, members = groups[-1]
                members.add(window)
                groups[-1] = covered.cover(window), members
            else:
                groups.append((window, {window}))
        for covered, members in groups:
            if len(members) > 1:
                callback.merge(members, covered)

    def __hash__(self) -> int:
        return hash((self.start, self.end))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.start == self.start and other.end == self.end

    def __lt__(self, other: TimeWindow) -> bool:
        if not isinstance(other, TimeWindow):
            raise TypeMismatchError(f"a TimeWindow cannot be compared with {other!r}")
        return (self.start, self.end) < (other.start, other.end)

    def __le__(self, other: TimeWindow) -> bool:
        return self == other or self < other

    def __repr__(self) -> str:
        return f"TimeWindow(start={self.start}, end={self.end})"


class CountWindow(Window):
    """A window of a number of records; ``id`` numbers the windows of a key."""

    def __init__(self, id: int) -> None:
        self.id = id

    def max_timestamp(self) -> int:
        """Return 2**63 - 1: the window has no end in time."""
        return MAX_WATERMARK

    def __hash__(self) -> int:
        return hash(("CountWindow", self.id))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.id == self.id

    def __repr__(self) -> str:
        return f"CountWindow(id={self.id})"


class GlobalWindow(Window):
    """The single window with all records of a key."""

    @staticmethod
    def get() -> GlobalWindow:
        """Return the global window; all instances are equal."""
        return GlobalWindow()

    def max_timestamp(self) -> int:
        """Return 2**63 - 1: the window has no end in time."""
        return MAX_WATERMARK

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "GlobalWindow"


class TriggerResult(Enum):
    """The result of a trigger: whether the window function is called (fire), and whether the
    window's records are dropped (purge).
    """

    CONTINUE = (False, False)
    FIRE_AND_PURGE = (True, True)
    FIRE = (True, False)
    PURGE = (False, True)

    def is_fire(self) -> bool:
        """Return whether the window function is called."""
        return self.value[0]

    def is_purge(self) -> bool:
        """Return whether the window's records are dropped."""
        return self.value[1]


_GLOBAL = "global"
_GLOBAL_WINDOW = GlobalWindow()


def namespace_of(window: Any) -> Any:
    """Return a window as the namespace of state: a tuple, an int or a str, without a class of
    Headrace.

    A window of a user's class is its own namespace.
    """
    kind = type(window)
    if kind is TimeWindow:
        return window.start, window.end
    if kind is CountWindow:
        return window.id
    return _GLOBAL if kind is GlobalWindow else window


def window_of(namespace: Any) -> Any:
    """Return the window of a namespace; the inverse of ``namespace_of``."""
    decode = _WINDOWS.get(type(namespace))
    return namespace if decode is None else decode(namespace)


_WINDOWS: dict[type, Callable[[Any], Window]] = {
    tuple: lambda namespace: TimeWindow(*namespace),
    int: CountWindow,
    str: lambda namespace: _GLOBAL_WINDOW,
}


class TimestampedValue:
    """A record and its timestamp (ms), for evictors."""

    __slots__ = ("_timestamp", "_value")

    def __init__(self, value: Any, timestamp: int | None = None) -> None:
        self._value = value
        self._timestamp = timestamp

    def get_value(self) -> Any:
        """Return the record."""
        return self._value

    def get_timestamp(self) -> int:
        """Return the timestamp (ms); -2**63 if there is none."""
        return MIN_WATERMARK if self._timestamp is None else self._timestamp

    def has_timestamp(self) -> bool:
        """Return whether the record has a timestamp."""
        return self._timestamp is not None

    def as_pair(self) -> tuple[Any, int | None]:
        """Return the value, and its timestamp (ms) or None, as stored in state."""
        return self._value, self._timestamp

    def __repr__(self) -> str:
        return f"TimestampedValue({self._value!r}, {self._timestamp})"

"""Window classes, and the decisions of triggers.

They are in ``common`` because operators keep their state by window.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from headrace.common.watermark_strategy import MAX_WATERMARK, MIN_WATERMARK
from headrace.errors import TypeMismatchError


class Window(ABC):
    """A finite group of records, with a greatest timestamp."""

    @abstractmethod
    def max_timestamp(self) -> int:
        """The last timestamp (ms) that belongs to the window."""


class TimeWindow(Window):
    """The records from ``start`` (ms, inclusive) to ``end`` (ms, exclusive)."""

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end

    def max_timestamp(self) -> int:
        """``end - 1``."""
        return self.end - 1

    def intersects(self, other: TimeWindow) -> bool:
        """True when the two overlap, or one begins where the other ends."""
        return self.start <= other.end and self.end >= other.start

    def cover(self, other: TimeWindow) -> TimeWindow:
        """The smallest window that holds both."""
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """Where the window of a timestamp starts; all in ms. Negative timestamps are allowed."""
        return timestamp - (timestamp - offset) % window_size

    @staticmethod
    def merge_windows(windows: Iterable[TimeWindow], callback: Any) -> None:
        """Call ``callback.merge`` for each group of windows that overlap or touch."""
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
    """A window that ends by the number of its records; ``id`` counts the windows of a key."""

    def __init__(self, id: int) -> None:
        self.id = id

    def max_timestamp(self) -> int:
        """The greatest possible timestamp."""
        return MAX_WATERMARK

    def __hash__(self) -> int:
        return hash(("CountWindow", self.id))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.id == self.id

    def __repr__(self) -> str:
        return f"CountWindow(id={self.id})"


class GlobalWindow(Window):
    """The one window that holds all records of a key."""

    @staticmethod
    def get() -> GlobalWindow:
        """The window."""
        return GlobalWindow()

    def max_timestamp(self) -> int:
        """The greatest possible timestamp."""
        return MAX_WATERMARK

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "GlobalWindow"


class TriggerResult(Enum):
    """A trigger's decision: whether the window fires, and whether its records are removed."""

    CONTINUE = (False, False)
    FIRE_AND_PURGE = (True, True)
    FIRE = (True, False)
    PURGE = (False, True)

    def is_fire(self) -> bool:
        """True when the window function is called."""
        return self.value[0]

    def is_purge(self) -> bool:
        """True when the window's records are dropped."""
        return self.value[1]


_GLOBAL = "global"
_GLOBAL_WINDOW = GlobalWindow()


def namespace_of(window: Any) -> Any:
    """The form of a window in stored state: plain data, without a class of Headrace.

    A window of a user-defined class is stored as it is.
    """
    kind = type(window)
    if kind is TimeWindow:
        return window.start, window.end
    if kind is CountWindow:
        return window.id
    return _GLOBAL if kind is GlobalWindow else window


def window_of(namespace: Any) -> Any:
    """The window that ``namespace_of`` was given."""
    decode = _WINDOWS.get(type(namespace))
    return namespace if decode is None else decode(namespace)


_WINDOWS: dict[type, Callable[[Any], Window]] = {
    tuple: lambda namespace: TimeWindow(*namespace),
    int: CountWindow,
    str: lambda namespace: _GLOBAL_WINDOW,
}


class TimestampedValue:
    """A record and its timestamp (ms), as an evictor sees it."""

    __slots__ = ("_timestamp", "_value")

    def __init__(self, value: Any, timestamp: int | None = None) -> None:
        self._value = value
        self._timestamp = timestamp

    def get_value(self) -> Any:
        """The record."""
        return self._value

    def get_timestamp(self) -> int:
        """The timestamp (ms); -2**63 where there is none."""
        return MIN_WATERMARK if self._timestamp is None else self._timestamp

    def has_timestamp(self) -> bool:
        """True where there is one."""
        return self._timestamp is not None

    def as_pair(self) -> tuple[Any, int | None]:
        """The value, and its timestamp or None."""
        return self._value, self._timestamp

    def __repr__(self) -> str:
        return f"TimestampedValue({self._value!r}, {self._timestamp})"

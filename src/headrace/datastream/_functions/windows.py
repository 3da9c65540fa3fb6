"""Window functions: they get the records of a window, or the one result of a reduction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from headrace.datastream._functions.function import Function, KeyedStateStore

IN = TypeVar("IN")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")
W = TypeVar("W")
W2 = TypeVar("W2")


class WindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Computes results from a window of a key."""

    @abstractmethod
    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[OUT] | None:
        """The results: an iterable, or None; ``tag, value`` goes to a side output."""


class AllWindowFunction(Function, Generic[IN, OUT, W]):
    """Computes results from a window of a stream without keys."""

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[OUT] | None:
        """The results: an iterable, or None; ``tag, value`` goes to a side output."""


class ProcessWindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Computes results from a window of a key, with a context: clocks and state."""

    class Context(ABC, Generic[W2]):
        """The context of the window that fires."""

        @abstractmethod
        def window(self) -> W2:
            """The window."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The processing time (ms)."""

        @abstractmethod
        def current_watermark(self) -> int:
            """The watermark (ms)."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """State of this key and window. Clear it in ``clear``."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """State of this key, for all of its windows."""

    @abstractmethod
    def process(
        self, key: KEY, context: ProcessWindowFunction.Context[W], elements: Iterable[IN]
    ) -> Iterable[OUT] | None:
        """The results: an iterable, or None; ``tag, value`` goes to a side output."""

    def clear(self, context: ProcessWindowFunction.Context[W]) -> None:
        """Called when the window ends: clear its ``window_state``."""


class ProcessAllWindowFunction(Function, Generic[IN, OUT, W]):
    """Computes results from a window of a stream without keys, with a context."""

    class Context(ABC, Generic[W2]):
        """The context of the window that fires."""

        @abstractmethod
        def window(self) -> W2:
            """The window."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """State of this window. Clear it in ``clear``."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """State for all windows."""

    @abstractmethod
    def process(
        self, context: ProcessAllWindowFunction.Context[W], elements: Iterable[IN]
    ) -> Iterable[OUT] | None:
        """The results: an iterable, or None; ``tag, value`` goes to a side output."""

    def clear(self, context: ProcessAllWindowFunction.Context[W]) -> None:
        """Called when the window ends: clear its ``window_state``."""


class PassThroughWindowFunction(WindowFunction[Any, Any, Any, Any]):
    """Gives what it gets."""

    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        """What it gets."""
        yield from inputs


class PassThroughAllWindowFunction(AllWindowFunction[Any, Any, Any]):
    """Gives what it gets."""

    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        """What it gets."""
        yield from inputs

"""Window functions, which receive the records of a window, or the result of their reduction."""

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
    """Computes results from the records of a window of one key."""

    @abstractmethod
    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[OUT] | None:
        """Return the results: an iterable, or None; ``tag, value`` goes to a side output."""


class AllWindowFunction(Function, Generic[IN, OUT, W]):
    """Computes results from the records of a window of a stream without keys."""

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[OUT] | None:
        """Return the results: an iterable, or None; ``tag, value`` goes to a side output."""


class ProcessWindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Computes results from a window of one key, with a context: clocks and state."""

    class Context(ABC, Generic[W2]):
        """The context of the window that fires."""

        @abstractmethod
        def window(self) -> W2:
            """Return the window that fires."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the processing time (ms)."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Return the watermark (ms)."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """Return state of this key and window; clear it in ``clear``."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """Return state of this key, shared by all of its windows."""

    @abstractmethod
    def process(
        self, key: KEY, context: ProcessWindowFunction.Context[W], elements: Iterable[IN]
    ) -> Iterable[OUT] | None:
        """Return the results: an iterable, or None; ``tag, value`` goes to a side output."""

    def clear(self, context: ProcessWindowFunction.Context[W]) -> None:
        """Clear ``window_state``; called when the window ends."""


class ProcessAllWindowFunction(Function, Generic[IN, OUT, W]):
    """Computes results from a window of a stream without keys, with a context."""

    class Context(ABC, Generic[W2]):
        """The context of the window that fires."""

        @abstractmethod
        def window(self) -> W2:
            """Return the window that fires."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """Return state of this window; clear it in ``clear``."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """Return state that all windows share."""

    @abstractmethod
    def process(
        self, context: ProcessAllWindowFunction.Context[W], elements: Iterable[IN]
    ) -> Iterable[OUT] | None:
        """Return the results: an iterable, or None; ``tag, value`` goes to a side output."""

    def clear(self, context: ProcessAllWindowFunction.Context[W]) -> None:
        """Clear ``window_state``; called when the window ends."""


class PassThroughWindowFunction(WindowFunction[Any, Any, Any, Any]):
    """Emits the records of each window unchanged."""

    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        """Yield all records unchanged."""
        yield from inputs


class PassThroughAllWindowFunction(AllWindowFunction[Any, Any, Any]):
    """Emits the records of each window unchanged."""

    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        """Yield all records unchanged."""
        yield from inputs

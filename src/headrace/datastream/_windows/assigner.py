"""How records are assigned to windows: what an assigner is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from typing import Any, Generic, TypeVar

from headrace.common.serializer import TypeSerializer
from headrace.datastream._functions.function import RuntimeContext
from headrace.datastream._windows.trigger import Trigger

T = TypeVar("T")
W = TypeVar("W")
W2 = TypeVar("W2")


class WindowAssigner(ABC, Generic[T, W]):
    """Assigns each record to zero or more windows."""

    class WindowAssignerContext(ABC):
        """What an assigner may ask."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The processing time (ms)."""

        @abstractmethod
        def get_runtime_context(self) -> RuntimeContext:
            """The operator's runtime context; its state is that of the record's key."""

    @abstractmethod
    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[W]:
        """The windows of a record with a timestamp (ms; -2**63 where it has none)."""

    @abstractmethod
    def get_default_trigger(self, env: Any) -> Trigger[T, W]:
        """The trigger of windows for which the program names none."""

    @abstractmethod
    def get_window_serializer(self) -> TypeSerializer[W]:
        """Writes and reads the windows."""

    @abstractmethod
    def is_event_time(self) -> bool:
        """True when windows follow event time, and so are late and end by the watermark."""


class MergingWindowAssigner(WindowAssigner[T, W]):
    """Assigns records to windows that may grow together, as sessions do."""

    class MergeCallback(ABC, Generic[W2]):
        """Takes what shall be merged."""

        @abstractmethod
        def merge(self, to_be_merged: Iterable[W2], merge_result: W2) -> None:
            """Merge some windows into one."""

    @abstractmethod
    def merge_windows(
        self, windows: Iterable[W], callback: MergingWindowAssigner.MergeCallback[W]
    ) -> None:
        """Call ``callback.merge`` for each group of windows that shall be one."""


class SessionWindowTimeGapExtractor(ABC):
    """Says how long after a record its session is still open."""

    @abstractmethod
    def extract(self, element: Any) -> int:
        """The gap (ms) after a record; more than 0."""

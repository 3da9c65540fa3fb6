"""Assigners: they decide to which windows a record belongs."""

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
        """The clock and the runtime context of an assigner."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the processing time (ms)."""

        @abstractmethod
        def get_runtime_context(self) -> RuntimeContext:
            """Return the operator's runtime context; keyed state belongs to the record's key."""

    @abstractmethod
    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[W]:
        """Return the windows of a record with this timestamp (ms; -2**63 if it has none)."""

    @abstractmethod
    def get_default_trigger(self, env: Any) -> Trigger[T, W]:
        """Return the trigger that is used if the program does not set one."""

    @abstractmethod
    def get_window_serializer(self) -> TypeSerializer[W]:
        """Return the serializer of the windows."""

    @abstractmethod
    def is_event_time(self) -> bool:
        """Return True if the watermark decides when windows end and which records are late."""


class MergingWindowAssigner(WindowAssigner[T, W]):
    """Assigns records to windows that may merge, as sessions do."""

    class MergeCallback(ABC, Generic[W2]):
        """Receives the groups of windows to merge."""

        @abstractmethod
        def merge(self, to_be_merged: Iterable[W2], merge_result: W2) -> None:
            """Merge the windows ``to_be_merged`` into ``merge_result``."""

    @abstractmethod
    def merge_windows(
        self, windows: Iterable[W], callback: MergingWindowAssigner.MergeCallback[W]
    ) -> None:
        """Call ``callback.merge`` for each group of windows that must become one."""


class SessionWindowTimeGapExtractor(ABC):
    """Computes the session gap of a record."""

    @abstractmethod
    def extract(self, element: Any) -> int:
        """Return the gap (ms) after a record, which must be greater than 0."""

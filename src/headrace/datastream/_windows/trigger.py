"""Triggers: they decide when windows fire."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from headrace.common._windows import TriggerResult
from headrace.datastream.state import State, StateDescriptor
from headrace.metrics import MetricGroup

T = TypeVar("T")
W = TypeVar("W")


class Trigger(ABC, Generic[T, W]):
    """Decides when the window function is called for a window of a key.

    One object serves all keys and windows of a task, so it must keep its values in the state of its
    context. If windows can merge, the trigger must implement ``can_merge`` and ``on_merge``.
    """

    class TriggerContext(ABC):
        """The clocks, timers and state of one window of one key."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the processing time (ms)."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """Return the operator's metric group."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """Return the watermark (ms)."""

        @abstractmethod
        def register_processing_time_timer(self, time: int) -> None:
            """Register a call of ``on_processing_time`` when the clock reaches ``time`` (ms)."""

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None:
            """Register a call of ``on_event_time`` when the watermark reaches ``time`` (ms)."""

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None:
            """Delete a processing-time timer; a missing timer is no error."""

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None:
            """Delete an event-time timer; a missing timer is no error."""

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor) -> State:
            """Return the state of a descriptor for this key and window."""

    class OnMergeContext(TriggerContext):
        """The context while windows are merged."""

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Merge the states of the merged windows into the state of the new window."""

    @abstractmethod
    def on_element(
        self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Return whether the window fires after one more record; ``timestamp`` is in ms."""

    @abstractmethod
    def on_processing_time(
        self, time: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Return whether the window fires at a processing-time timer for ``time`` (ms)."""

    @abstractmethod
    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Return whether the window fires at an event-time timer for ``time`` (ms)."""

    def can_merge(self) -> bool:
        """Return True if ``on_merge`` is implemented (default False)."""
        return False

    @abstractmethod
    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        """Merge the states of windows that were merged into ``window``, and set new timers."""

    @abstractmethod
    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """Delete the timers and the state of a window that has ended."""


Context = Trigger.TriggerContext
"""For signatures inside this package."""

OnMerge = Trigger.OnMergeContext

CONTINUE, FIRE = TriggerResult.CONTINUE, TriggerResult.FIRE
FIRE_AND_PURGE = TriggerResult.FIRE_AND_PURGE

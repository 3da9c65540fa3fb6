"""The clocks and timers of a process function."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["TimerService"]


class TimerService(ABC):
    """The two clocks (milliseconds since the epoch), and timers for the current key.

    A timer that is registered twice for the same time fires once.
    """

    @abstractmethod
    def current_processing_time(self) -> int:
        """Return the processing time (ms) of the current micro-batch."""

    @abstractmethod
    def current_watermark(self) -> int:
        """Return the watermark (ms) of this operator."""

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Call ``on_timer`` when processing time reaches ``timestamp`` (ms)."""

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Call ``on_timer`` when the watermark reaches ``timestamp`` (ms)."""

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Delete a processing-time timer; a missing timer is no error."""

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Delete an event-time timer; a missing timer is no error."""

"""Time, as a process function sees it."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["TimerService"]


class TimerService(ABC):
    """The two clocks (milliseconds since the epoch), and timers on them for the current key.

    A timer registered twice for one moment fires once.
    """

    @abstractmethod
    def current_processing_time(self) -> int:
        """The processing time of the micro-batch at hand."""

    @abstractmethod
    def current_watermark(self) -> int:
        """The watermark of this operator."""

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Ask for ``on_timer`` once processing time reaches ``timestamp``."""

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Ask for ``on_timer`` once the watermark reaches ``timestamp``."""

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Withdraw a processing-time timer; one that is not there is no error."""

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Withdraw an event-time timer; one that is not there is no error."""

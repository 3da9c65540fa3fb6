"""Functions of two connected streams: one method for the records of each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from headrace.common._time_domain import TimeDomain
from headrace.datastream._functions.function import Function
from headrace.datastream.timerservice import TimerService

__all__ = ["CoFlatMapFunction", "CoMapFunction", "CoProcessFunction", "KeyedCoProcessFunction"]


class CoMapFunction(Function):
    """Emits one record for each record of either stream, or none if it returns None."""

    @abstractmethod
    def map1(self, value: Any) -> Any:
        """Return the result for a record of the first stream."""

    @abstractmethod
    def map2(self, value: Any) -> Any:
        """Return the result for a record of the second stream."""


class CoFlatMapFunction(Function):
    """Emits any number of records for each record of either stream."""

    @abstractmethod
    def flat_map1(self, value: Any) -> Iterable[Any] | None:
        """Return the results for a record of the first stream: an iterable, or None."""

    @abstractmethod
    def flat_map2(self, value: Any) -> Iterable[Any] | None:
        """Return the results for a record of the second stream: an iterable, or None."""


class CoProcessFunction(Function):
    """A process function of two streams, with timestamps and side outputs."""

    class Context(ABC):
        """The context while a record is processed."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Return the clocks. Timers need keyed streams."""

        @abstractmethod
        def timestamp(self) -> int:
            """Return the record's timestamp (ms); -2**63 if it has none, as in PyFlink."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any] | None:
        """Return the results for a record of stream 1; ``tag, value`` goes to a side output."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any] | None:
        """Return the results for a record of stream 2; ``tag, value`` goes to a side output."""


class KeyedCoProcessFunction(Function):
    """A process function of two keyed streams: both share the state and the timers of a key."""

    class Context(ABC):
        """The context while a record is processed."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Return the key of the record or timer."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Return the clocks, and timers for the current key."""

        @abstractmethod
        def timestamp(self) -> int:
            """Return the timestamp (ms) of the record or timer; -2**63 if there is none."""

    class OnTimerContext(Context):
        """The context while a timer fires."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return the timer's clock: event time or processing time."""

    @abstractmethod
    def process_element1(
        self, value: Any, ctx: KeyedCoProcessFunction.Context
    ) -> Iterable[Any] | None:
        """Return the results for a record of stream 1; ``tag, value`` goes to a side output."""

    @abstractmethod
    def process_element2(
        self, value: Any, ctx: KeyedCoProcessFunction.Context
    ) -> Iterable[Any] | None:
        """Return the results for a record of stream 2; ``tag, value`` goes to a side output."""

    def on_timer(
        self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext
    ) -> Iterable[Any] | None:
        """Return the results for a timer that fires; by default none."""
        return None

"""Functions of a stream that is connected with a broadcast stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.common._time_domain import TimeDomain
from headrace.datastream._functions.function import Function
from headrace.datastream.timerservice import TimerService

if TYPE_CHECKING:
    # Contexts return states, and some state descriptors contain functions.
    from headrace.datastream.state import (
        BroadcastState,
        MapStateDescriptor,
        ReadOnlyBroadcastState,
        StateDescriptor,
    )

__all__ = [
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "KeyedBroadcastProcessFunction",
]

KEY = TypeVar("KEY")
IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")


class BaseBroadcastProcessFunction(Function):
    """The base of both kinds of broadcast process functions; it has their contexts."""

    class BaseContext(ABC):
        """The context while a record of either stream is processed."""

        @abstractmethod
        def timestamp(self) -> int:
            """Return the timestamp (ms) of the record or timer; -2**63 if there is none."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the processing time (ms) of the current micro-batch."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Return the watermark (ms) of this operator."""

    class Context(BaseContext):
        """The context of the broadcast stream, which may change the broadcast state."""

        @abstractmethod
        def get_broadcast_state(
            self, state_descriptor: MapStateDescriptor
        ) -> BroadcastState[Any, Any]:
            """Return the broadcast state of a descriptor that was passed to ``broadcast()``."""

    class ReadOnlyContext(BaseContext):
        """The context of the stream that is not broadcast; it can only read the broadcast state."""

        @abstractmethod
        def get_broadcast_state(
            self, state_descriptor: MapStateDescriptor
        ) -> ReadOnlyBroadcastState[Any, Any]:
            """Return the broadcast state of a descriptor that was passed to ``broadcast()``."""


class BroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[IN1, IN2, OUT]):
    """A process function of a stream without keys and a broadcast stream."""

    class Context(BaseBroadcastProcessFunction.Context, ABC):
        """The context of the broadcast stream."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext, ABC):
        """The context of the stream that is not broadcast."""

    @abstractmethod
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        """Return the results for a record; ``tag, value`` goes to a side output."""

    @abstractmethod
    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        """Return the results for a broadcast record; called in each task.

        All tasks must change the state in the same way: do not use randomness, clocks or a task's
        own state. ``tag, value`` goes to a side output.
        """


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[KEY, IN1, IN2, OUT]):
    """A process function of a keyed stream, with keyed state and timers, and a broadcast stream."""

    class Context(BaseBroadcastProcessFunction.Context, ABC):
        """The context of the broadcast stream."""

        @abstractmethod
        def apply_to_keyed_state(
            self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], Any]
        ) -> None:
            """Call ``function(key, state)`` for each key of the task whose state is not empty.

            What the method yields after this call, and what ``function`` yields, is emitted once
            per key group of the task. In batch mode there is no keyed state yet.
            """

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext, ABC):
        """The context of the keyed stream."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Return the clocks, and timers for the current key."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Return the key of the record or timer."""

    class OnTimerContext(ReadOnlyContext, ABC):
        """The context while a timer fires."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return the timer's clock: event time or processing time."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Return the key of the timer."""

    @abstractmethod
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        """Return the results for a record of the keyed stream.

        ``tag, value`` goes to a side output.
        """

    @abstractmethod
    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        """Return the results for a broadcast record; called in each task.

        All tasks must change the state in the same way: do not use randomness, clocks or a task's
        own state. ``tag, value`` goes to a side output.
        """

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any] | None:
        """Return the results for a timer that fires; by default none."""
        return None

"""Functions of a stream connected with a broadcast one, whose records change shared state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.common.time_domain import TimeDomain
from headrace.datastream._functions.function import Function
from headrace.datastream.timerservice import TimerService

if TYPE_CHECKING:
    # A context gives out states, and the descriptors that ask for some of them hold functions.
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
    """What process functions of a connected broadcast stream have in common: their contexts."""

    class BaseContext(ABC):
        """What is known while a record of either stream is processed."""

        @abstractmethod
        def timestamp(self) -> int:
            """The timestamp (ms) of the record or timer; -2**63 where there is none."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The processing time (ms) of the micro-batch at hand."""

        @abstractmethod
        def current_watermark(self) -> int:
            """The watermark (ms) of this operator."""

    class Context(BaseContext):
        """What the broadcast side knows: it may change the broadcast state."""

        @abstractmethod
        def get_broadcast_state(
            self, state_descriptor: MapStateDescriptor
        ) -> BroadcastState[Any, Any]:
            """The broadcast state of a descriptor that was given to ``broadcast()``."""

    class ReadOnlyContext(BaseContext):
        """What the other side knows: it may read the broadcast state."""

        @abstractmethod
        def get_broadcast_state(
            self, state_descriptor: MapStateDescriptor
        ) -> ReadOnlyBroadcastState[Any, Any]:
            """The broadcast state of a descriptor that was given to ``broadcast()``."""


class BroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[IN1, IN2, OUT]):
    """A process function of a stream without keys and a broadcast one."""

    class Context(BaseBroadcastProcessFunction.Context, ABC):
        """What the broadcast side knows."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext, ABC):
        """What the other side knows."""

    @abstractmethod
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        """What becomes of a record; ``tag, value`` goes to a side output."""

    @abstractmethod
    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        """What becomes of a broadcast record, in each task; ``tag, value`` as above.

        Each task must change the state in the same way: no randomness, and no state of the task.
        """


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[KEY, IN1, IN2, OUT]):
    """A process function of a keyed stream, with its state and timers, and a broadcast one."""

    class Context(BaseBroadcastProcessFunction.Context, ABC):
        """What the broadcast side knows."""

        @abstractmethod
        def apply_to_keyed_state(
            self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], Any]
        ) -> None:
            """Call ``function(key, state)`` for each key that holds something in a keyed state.

            What the method yields after this call, and what the function yields, is emitted for
            each key group of the task. In a batch there is no keyed state yet.
            """

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext, ABC):
        """What the keyed side knows."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """The clocks, and timers for the current key."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """The key of the record or timer."""

    class OnTimerContext(ReadOnlyContext, ABC):
        """What is known while a timer fires."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Which clock the timer followed."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """The key of the timer."""

    @abstractmethod
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        """What becomes of a record, under its key; ``tag, value`` goes to a side output."""

    @abstractmethod
    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        """What becomes of a broadcast record, in each task; ``tag, value`` as above.

        Each task must change the state in the same way: no randomness, and no state of the task.
        """

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any] | None:
        """What comes of a timer that fires; nothing unless overridden."""
        return None

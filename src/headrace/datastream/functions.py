"""The functions a program is made of, and what they may ask of their surroundings.

A function is an object with one method per record (and ``open`` and ``close`` around a task), or,
wherever there is one method only, a plain callable.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any

from headrace._lazy_exports import lazy_exports
from headrace.common._time_domain import TimeDomain
from headrace.common._unsupported import unsupported
from headrace.datastream._functions.asynchronous import AsyncFunction, AsyncFunctionDescriptor
from headrace.datastream._functions.batches import KeyedMapBatchesFunction, MapBatchesFunction
from headrace.datastream._functions.broadcast import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from headrace.datastream._functions.checkpointed import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from headrace.datastream._functions.connected import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
)
from headrace.datastream._functions.function import Function, KeyedStateStore, RuntimeContext
from headrace.datastream._functions.joins import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFields,
    JoinFunction,
    ProcessJoinFunction,
)
from headrace.datastream._functions.partitions import MapPartitionFunction, Order
from headrace.datastream._functions.retries import AsyncRetryPredicate, AsyncRetryStrategy
from headrace.datastream._functions.windows import (
    AllWindowFunction,
    PassThroughAllWindowFunction,
    PassThroughWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from headrace.datastream.timerservice import TimerService

__all__ = [
    "AggregateFunction",
    "AllWindowFunction",
    "AsyncFunction",
    "AsyncFunctionDescriptor",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "CheckpointedFunction",
    "CoFlatMapFunction",
    "CoGroupFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "FilterFunction",
    "FlatJoinFunction",
    "FlatMapFunction",
    "Function",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
    "FunctionWrapper",
    "JavaFunctionWrapper",
    "JoinFields",
    "JoinFunction",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedMapBatchesFunction",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "MapBatchesFunction",
    "MapFunction",
    "MapPartitionFunction",
    "NullByteKeySelector",
    "Order",
    "Partitioner",
    "PassThroughAllWindowFunction",
    "PassThroughWindowFunction",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessJoinFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "ReduceFunctionWrapper",
    "RuntimeContext",
    "SinkFunction",
    "SourceFunction",
    "TimerService",
    "WindowFunction",
    "associative",
]

if not TYPE_CHECKING:  # a type checker asks for names where they are defined
    __getattr__ = lazy_exports(__name__)


class MapFunction(Function):
    """One record in, one out."""

    @abstractmethod
    def map(self, value: Any) -> Any:
        """What becomes of a record."""


class FlatMapFunction(Function):
    """One record in, any number out."""

    @abstractmethod
    def flat_map(self, value: Any) -> Iterable[Any] | None:
        """What becomes of a record: a generator, any iterable, or None for nothing."""


class FilterFunction(Function):
    """Keeps a record or drops it."""

    @abstractmethod
    def filter(self, value: Any) -> bool:
        """True to keep the record."""


class ReduceFunction(Function):
    """Two values of a kind make one.

    ``associative``: True declares that already reduced values can be reduced further, in any
    grouping that keeps their order (beyond PyFlink). Values are then reduced before they are sent,
    where that gives the same. A plain function declares it by ``associative(function)``.
    """

    associative = False

    @abstractmethod
    def reduce(self, value1: Any, value2: Any) -> Any:
        """One value of two; associative."""


def associative(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A reduce function that calls the given one, declared as associative (``ReduceFunction``)."""
    declared = update_wrapper(partial(function), function)
    declared.associative = True  # type: ignore[attr-defined]
    return declared


class AggregateFunction(Function):
    """Values go into an accumulator, a result comes out."""

    @abstractmethod
    def create_accumulator(self) -> Any:
        """An accumulator that has seen nothing."""

    @abstractmethod
    def add(self, value: Any, accumulator: Any) -> Any:
        """The accumulator after one more value."""

    @abstractmethod
    def get_result(self, accumulator: Any) -> Any:
        """The result so far."""

    @abstractmethod
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """Merge two accumulators and return the result."""


class KeySelector(Function):
    """Says which key a record has."""

    @abstractmethod
    def get_key(self, value: Any) -> Any:
        """The record's key: equal in every interpreter for equal records."""


class NullByteKeySelector(KeySelector):
    """The same key for every record."""

    def get_key(self, value: Any) -> int:
        """Return 0 for every record, so all records have one key."""
        return 0


class Partitioner(Function):
    """Says which subtask gets a record."""

    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int:
        """The index of a partition, from 0 and below ``num_partitions``."""


class FunctionWrapper(Function):
    """A function object around a plain callable."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self._func = func


class ReduceFunctionWrapper(FunctionWrapper):
    """A reduce function around a plain callable."""

    def __init__(self, func: Callable[[Any, Any], Any]) -> None:
        super().__init__(func)

    def reduce(self, value1: Any, value2: Any) -> Any:
        """What the callable makes of the two."""
        return self._func(value1, value2)


class ProcessFunction(Function):
    """One record in, any number out, with a look at the time and access to side outputs."""

    class Context(ABC):
        """The context while a record is processed."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """The clocks. Timers need a keyed stream."""

        @abstractmethod
        def timestamp(self) -> int:
            """The record's timestamp (ms); -2**63 where it has none, as in PyFlink."""

    @abstractmethod
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterable[Any] | None:
        """What becomes of a record: an iterable, or None; ``tag, value`` goes to a side output."""


class KeyedProcessFunction(Function):
    """A process function after ``key_by``: with keyed state and timers."""

    class Context(ABC):
        """The context while a record is processed."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """The key of the record or timer."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """The clocks, and timers for the current key."""

        @abstractmethod
        def timestamp(self) -> int:
            """The timestamp (ms) of the record or timer; -2**63 where there is none."""

    class OnTimerContext(Context):
        """The context while a timer fires."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """The timer's clock: event time or processing time."""

    @abstractmethod
    def process_element(
        self, value: Any, ctx: KeyedProcessFunction.Context
    ) -> Iterable[Any] | None:
        """What becomes of a record: an iterable, or None; ``tag, value`` goes to a side output."""

    def on_timer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
    ) -> Iterable[Any] | None:
        """The results for a timer that fires; none unless overridden."""
        return None


_JVM = "it wraps an object of Flink's JVM, and Headrace has none"

JavaFunctionWrapper = unsupported(f"{__name__}.JavaFunctionWrapper", _JVM)
SourceFunction = unsupported(f"{__name__}.SourceFunction", _JVM)
SinkFunction = unsupported(f"{__name__}.SinkFunction", _JVM)

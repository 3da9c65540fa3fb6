"""The functions of a program, and the contexts that they receive.

A function is an object with a method that is called for each record, and with ``open`` and
``close``. Where there is only one such method, a plain callable can be used instead.
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

if not TYPE_CHECKING:  # type checkers find names in their defining modules
    __getattr__ = lazy_exports(__name__)


class MapFunction(Function):
    """Emits one record for each input record."""

    @abstractmethod
    def map(self, value: Any) -> Any:
        """Return the result for a record."""


class FlatMapFunction(Function):
    """Emits any number of records for each input record."""

    @abstractmethod
    def flat_map(self, value: Any) -> Iterable[Any] | None:
        """Return the results for a record: a generator, another iterable, or None for none."""


class FilterFunction(Function):
    """Decides which records are kept."""

    @abstractmethod
    def filter(self, value: Any) -> bool:
        """Return True to keep the record."""


class ReduceFunction(Function):
    """Combines two values into one of the same type.

    ``associative=True`` declares that already reduced values can be reduced further, in any
    grouping that keeps their order (PyFlink has no such option). Values may then be reduced before
    they are sent over the network. For a plain function, use ``associative(function)``.
    """

    associative = False

    @abstractmethod
    def reduce(self, value1: Any, value2: Any) -> Any:
        """Combine two values into one; the operation must be associative."""


def associative(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a reduce function that calls the given one and is declared as associative.

    See ``ReduceFunction``.
    """
    declared = update_wrapper(partial(function), function)
    declared.associative = True  # type: ignore[attr-defined]
    return declared


class AggregateFunction(Function):
    """Adds values to an accumulator, and computes a result from it."""

    @abstractmethod
    def create_accumulator(self) -> Any:
        """Return a new, empty accumulator."""

    @abstractmethod
    def add(self, value: Any, accumulator: Any) -> Any:
        """Return the accumulator with one more value added."""

    @abstractmethod
    def get_result(self, accumulator: Any) -> Any:
        """Return the result of an accumulator."""

    @abstractmethod
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """Merge two accumulators and return the result."""


class KeySelector(Function):
    """Computes the key of a record."""

    @abstractmethod
    def get_key(self, value: Any) -> Any:
        """Return the record's key; equal records must have equal keys in every interpreter."""


class NullByteKeySelector(KeySelector):
    """Gives all records the same key."""

    def get_key(self, value: Any) -> int:
        """Return 0 for every record, so all records have one key."""
        return 0


class Partitioner(Function):
    """Chooses the subtask of a record."""

    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int:
        """Return the number of a partition: from 0, and less than ``num_partitions``."""


class FunctionWrapper(Function):
    """Wraps a plain callable in a function object."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self._func = func


class ReduceFunctionWrapper(FunctionWrapper):
    """Wraps a plain callable in a reduce function."""

    def __init__(self, func: Callable[[Any, Any], Any]) -> None:
        super().__init__(func)

    def reduce(self, value1: Any, value2: Any) -> Any:
        """Return what the callable returns for the two values."""
        return self._func(value1, value2)


class ProcessFunction(Function):
    """Emits any number of records for each input record, with timestamps and side outputs."""

    class Context(ABC):
        """The context while a record is processed."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Return the clocks. Timers need a keyed stream."""

        @abstractmethod
        def timestamp(self) -> int:
            """Return the record's timestamp (ms); -2**63 if it has none, as in PyFlink."""

    @abstractmethod
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterable[Any] | None:
        """Return the results for a record: an iterable, or None.

        ``tag, value`` goes to a side output.
        """


class KeyedProcessFunction(Function):
    """A process function on a keyed stream, with keyed state and timers."""

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
    def process_element(
        self, value: Any, ctx: KeyedProcessFunction.Context
    ) -> Iterable[Any] | None:
        """Return the results for a record: an iterable, or None.

        ``tag, value`` goes to a side output.
        """

    def on_timer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
    ) -> Iterable[Any] | None:
        """Return the results for a timer that fires; by default none."""
        return None


_JVM = "it wraps an object of Flink's JVM, and Headrace has none"

JavaFunctionWrapper = unsupported(f"{__name__}.JavaFunctionWrapper", _JVM)
SourceFunction = unsupported(f"{__name__}.SourceFunction", _JVM)
SinkFunction = unsupported(f"{__name__}.SinkFunction", _JVM)

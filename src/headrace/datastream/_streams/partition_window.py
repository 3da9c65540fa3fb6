"""All input of a key or a stream as one window, which fires at the end of the input."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Self

from headrace.common._arguments import require_instance
from headrace.common.typeinfo import TypeInformation
from headrace.datastream._build.call_site import call_site
from headrace.datastream._build.keys import to_key_selector
from headrace.datastream._build.user_functions import to_user_function
from headrace.datastream._functions.function import RuntimeContext
from headrace.datastream._functions.partitions import MapPartitionFunction, Order
from headrace.datastream._functions.windows import AllWindowFunction, WindowFunction
from headrace.datastream._streams.windowed import AllWindowedStream, WindowedStream
from headrace.datastream.functions import AggregateFunction, KeySelector, ReduceFunction
from headrace.datastream.window import GlobalWindows
from headrace.runtime.user_function import UserFunction, close_function, open_function

if TYPE_CHECKING:
    from headrace.datastream.data_stream import DataStream, KeyedStream


class PartitionWindowedStream:
    """All records of a key, or of a stream without keys, for functions of all of them.

    Results come at the end of the input, so the input must be bounded. Until then the records are
    kept as state (``reduce`` and ``aggregate`` keep one value).
    """

    def __init__(self, stream: DataStream, windows: WindowedStream | AllWindowedStream) -> None:
        self._stream = stream
        self._windows = windows

    @classmethod
    def _of_all(cls, stream: DataStream) -> Self:
        """Return all records of a stream as one partition."""
        windows = GlobalWindows.create_with_end_of_stream_trigger()
        return cls(stream, AllWindowedStream(stream, windows))

    @classmethod
    def _of_keys(cls, stream: KeyedStream) -> Self:
        """Return a partition for each key of a stream."""
        windows = GlobalWindows.create_with_end_of_stream_trigger()
        return cls(stream, WindowedStream(stream, windows))

    def map_partition(
        self,
        map_partition_function: Callable[[Iterable[Any]], Any] | MapPartitionFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Apply a function to all records of a partition; it returns an iterable, or None."""
        function = to_user_function(
            map_partition_function,
            MapPartitionFunction,
            "map_partition",
            "map_partition",
            self._stream._describe(),
            call_site(),
        )
        return self._apply_function(function, output_type)

    def sort_partition(
        self,
        field: Callable[[Any], Any] | KeySelector | int | str,
        order: Order = Order.ASCENDING,
    ) -> DataStream:
        """Sort the records of a partition by a field, or by the result of a function.

        Records that compare equal keep their order of arrival.
        """
        stream = self._stream._describe()
        selector = to_key_selector(field, "sort_partition", stream, call_site())
        descending = require_instance(Order, order) is Order.DESCENDING
        sorting = _Sorted(selector, descending)
        return self._apply_function(UserFunction(sorting, "map_partition"), self._stream._type())

    def reduce(self, reduce_function: Callable[[Any, Any], Any] | ReduceFunction) -> DataStream:
        """Reduce all records of a partition to one."""
        return self._windows.reduce(reduce_function)

    def aggregate(
        self,
        aggregate_function: AggregateFunction,
        accumulator_type: TypeInformation | list[TypeInformation] | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Aggregate all records of a partition to one result."""
        return self._windows.aggregate(aggregate_function, None, accumulator_type, output_type)

    def _apply_function(
        self, function: UserFunction, output_type: TypeInformation | None
    ) -> DataStream:
        keyed = isinstance(self._windows, WindowedStream)
        return self._windows.apply(
            (_KeyedPartition if keyed else _WholePartition)(function), output_type
        )


class _Sorted(MapPartitionFunction):
    def __init__(self, selector: UserFunction, descending: bool) -> None:
        self._selector = selector
        self._descending = descending

    def open(self, runtime_context: RuntimeContext) -> None:
        open_function(self._selector, runtime_context)

    def close(self) -> None:
        close_function(self._selector)

    def map_partition(self, values: Iterable[Any]) -> Iterable[Any]:
        return sorted(values, key=self._selector.as_callable(), reverse=self._descending)


class _PartitionFunction:
    """Opens and closes the function, which is called with all records."""

    def __init__(self, function: UserFunction) -> None:
        self._user_function = function
        self._function = function.as_callable()

    def open(self, runtime_context: RuntimeContext) -> None:
        open_function(self._user_function, runtime_context)

    def close(self) -> None:
        close_function(self._user_function)


class _KeyedPartition(_PartitionFunction, WindowFunction[Any, Any, Any, Any]):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any] | None:
        results: Iterable[Any] | None = self._function(inputs)
        return results


class _WholePartition(_PartitionFunction, AllWindowFunction[Any, Any, Any]):
    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterable[Any] | None:
        results: Iterable[Any] | None = self._function(inputs)
        return results

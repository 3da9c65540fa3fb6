"""Two streams whose records go to one operator, each to a separate input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.common._arguments import with_article
from headrace.common.typeinfo import TypeInformation, Types
from headrace.datastream._build import nodes as build
from headrace.datastream._build.call_site import call_site
from headrace.datastream._build.user_functions import to_user_function
from headrace.datastream.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    Function,
    KeyedCoProcessFunction,
    KeySelector,
)
from headrace.errors import NotKeyedError, PlanError
from headrace.graph.transformation import ByPartitioner, CallSite, Edge
from headrace.operators.connected.keyed import (
    KeyedCoFlatMapSpec,
    KeyedCoMapSpec,
    KeyedCoProcessSpec,
)
from headrace.operators.connected.plain import CoFlatMapSpec, CoMapSpec, CoProcessSpec
from headrace.runtime.keys.key_groups import stable_hash
from headrace.runtime.keys.serialized_key import to_internal_key
from headrace.runtime.operator import OperatorSpec
from headrace.runtime.user_function import UserFunction

if TYPE_CHECKING:
    from headrace.datastream.data_stream import DataStream

KeyBy = Callable[[Any], Any] | KeySelector | int | str


class ConnectedStreams:
    """Two streams that share one function, which has a method for the records of each.

    If both have keys, records with equal keys share keyed state and timers.
    """

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        self.stream1 = stream1
        self.stream2 = stream2

    def key_by(
        self,
        key_selector1: KeyBy,
        key_selector2: KeyBy,
        key_type: TypeInformation | None = None,
    ) -> ConnectedStreams:
        """Key both streams; existing keys are replaced."""
        return ConnectedStreams(
            self.stream1.key_by(key_selector1, key_type),
            self.stream2.key_by(key_selector2, key_type),
        )

    def map(self, func: CoMapFunction, output_type: TypeInformation | None = None) -> DataStream:
        """Emit one record for each input record, or none if the function returns None."""
        return self._add(func, CoMapFunction, "map1", "map", CoMapSpec, KeyedCoMapSpec, output_type)

    def flat_map(
        self, func: CoFlatMapFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Emit any number of records for each input record."""
        return self._add(
            func,
            CoFlatMapFunction,
            "flat_map1",
            "flat_map",
            CoFlatMapSpec,
            KeyedCoFlatMapSpec,
            output_type,
        )

    def process(
        self,
        func: CoProcessFunction | KeyedCoProcessFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Apply a process function to records and timers; ``tag, value`` goes to a side output."""
        # As in PyFlink, a CoProcessFunction on keyed streams may keep state and set timers.
        plain = isinstance(func, CoProcessFunction) or not (
            self._is_keyed() or isinstance(func, KeyedCoProcessFunction)
        )
        kind: type[Function] = CoProcessFunction if plain else KeyedCoProcessFunction
        return self._add(
            func,
            kind,
            "process_element1",
            "process",
            CoProcessSpec,
            KeyedCoProcessSpec,
            output_type,
        )

    # Internal methods

    def _is_keyed(self) -> bool:
        return self.stream1._by_key is not None and self.stream2._by_key is not None

    def _describe(self) -> str:
        return describe_streams(self.stream1, self.stream2)

    def _add(
        self,
        func: Any,
        function_class: type[Function],
        method: str,
        call: str,
        make_unkeyed_spec: Callable[[UserFunction], OperatorSpec],
        make_keyed_spec: Callable[[UserFunction], OperatorSpec],
        output_type: TypeInformation | list[TypeInformation] | None,
    ) -> DataStream:
        """Add an operator with two inputs.

        ``make_keyed_spec`` is called if both streams are keyed, else ``make_unkeyed_spec``.
        """
        site, streams = call_site(), self._describe()
        function = to_user_function(
            func, function_class, method, call, streams, site, accepts_callable=False
        )
        if self._is_keyed():
            check_key_types(self.stream1, self.stream2, call, site)
            spec = make_keyed_spec(function)
        else:
            if isinstance(func, KeyedCoProcessFunction):
                raise not_all_keyed(func, (self.stream1, self.stream2), call, site)
            build.require_unkeyed(function, call, streams, site)
            spec = make_unkeyed_spec(function)
        edges = two_inputs(self.stream1, self.stream2, keyed=self._is_keyed())
        return self.stream1._add(spec, site, call, row_type(output_type), inputs=edges)


def describe_streams(first: DataStream, second: DataStream) -> str:
    """Describe two streams, for errors."""
    return f"{first._describe()}; connected with {second._describe()}"


def two_inputs(first: DataStream, second: DataStream, *, keyed: bool) -> tuple[Edge, ...]:
    """Return the edges of two streams to one operator.

    Where the operator is not ``keyed``, but one of the streams is, its equal keys go to one
    subtask, as in Flink.
    """
    return tuple(
        replace(edge, input=number)
        for number, stream in enumerate((first, second))
        for edge in (_edges(stream) if keyed else _spread_edges(stream))
    )


def _edges(stream: DataStream) -> tuple[Edge, ...]:
    by_key = stream._by_key
    if by_key is None:
        return stream._edges
    return tuple(Edge(edge.source, edge.tag, by_key) for edge in stream._edges)


def _spread_edges(stream: DataStream) -> tuple[Edge, ...]:
    by_key = stream._by_key
    if by_key is None:
        return stream._edges
    by_hash = ByPartitioner(UserFunction(_subtask_of_key), by_key.selector)
    return tuple(Edge(edge.source, edge.tag, by_hash) for edge in stream._edges)


def _subtask_of_key(key: Any, count: int) -> int:
    return stable_hash(to_internal_key(key)) % count


def row_type(output_type: TypeInformation | list[TypeInformation] | None) -> TypeInformation | None:
    """Return a declared output type; as in PyFlink, a list of types becomes a row type."""
    return Types.ROW(output_type) if isinstance(output_type, list) else output_type


def check_other(
    first: DataStream, other: Any, stream_class: type, site: CallSite, call: str = "connect"
) -> None:
    """Check that ``other`` is a stream that can be connected or joined with ``first``.

    Raises:
        PlanError: ``other`` is not a stream, or belongs to another environment.
    """
    if not isinstance(other, stream_class):
        raise PlanError(
            f"{call}() takes a stream, not {with_article(type(other).__name__)}",
            where={"stream": first._describe(), "called": str(site)},
        )
    same_environment(first, other, site, call)


def same_environment(first: DataStream, second: Any, site: CallSite, call: str = "connect") -> None:
    """Check that two streams can be connected.

    Raises:
        PlanError: the streams belong to different environments.
    """
    if first._env is not second._env:
        raise PlanError(
            f"{call}() takes streams of one environment",
            where={
                "stream": first._describe(),
                "other": second._describe(),
                "called": str(site),
            },
        )


def check_key_types(first: Any, second: Any, call: str, site: CallSite) -> None:
    """Check that the keys of two streams have equal declared types.

    Raises:
        PlanError: the types differ.
    """
    one, other = (stream._by_key.key_type for stream in (first, second))
    if one is not None and other is not None and one != other:
        raise PlanError(
            f"{call}() on streams whose keys have different types: {one} and {other}",
            where={
                "first": first._describe(),
                "second": second._describe(),
                "called": str(site),
            },
            hint="give both key_by() calls the same key_type",
        )


def not_all_keyed(
    function: Function, streams: tuple[DataStream, ...], call: str, site: CallSite
) -> NotKeyedError:
    """Return the error for a function that needs keyed streams and gets a stream without keys."""
    bare = [stream for stream in streams if stream._by_key is None]
    only = "" if len(bare) == len(streams) else " one of"
    return NotKeyedError(
        f"{type(function).__name__} needs keyed streams, but{only} the streams"
        f" {'is' if only else 'are'} not keyed",
        where={
            **{f"without a key {number}": each._describe() for number, each in enumerate(bare, 1)},
            "called": str(site),
        },
        hint=f".key_by(selector1, selector2) after .connect(...) and before .{call}(...)",
    )

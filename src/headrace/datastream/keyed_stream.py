"""Streams with a key for each record: keyed state, timers, rolling aggregations."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any

from headrace.common.typeinfo import TypeInformation
from headrace.common.unsupported import unsupported_method
from headrace.datastream._build import aggregations
from headrace.datastream._build.call_site import call_site
from headrace.datastream._build.user_functions import user_function
from headrace.datastream.data_stream import DataStream
from headrace.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedProcessFunction,
    MapFunction,
    ReduceFunction,
)
from headrace.errors import PlanError
from headrace.graph.transformation import ByKey, CallSite, Edge, Partitioning, Transformation
from headrace.operators.filter import FilterSpec
from headrace.operators.flat_map import FlatMapSpec
from headrace.operators.keyed_function import KeyedFilterSpec, KeyedFlatMapSpec, KeyedMapSpec
from headrace.operators.keyed_process import KeyedProcessSpec
from headrace.operators.map import MapSpec
from headrace.operators.reduce import ReduceSpec
from headrace.runtime.operator import OperatorSpec
from headrace.runtime.user_function import UserFunction

if TYPE_CHECKING:
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = ["KeyedStream"]

_WINDOWS = "windows are not part of this release"


class KeyedStream(DataStream):
    """A stream behind ``key_by``.

    What needs the key moves the records through a key exchange. What does not (plain functions,
    and function objects without an ``open``) runs where the records are: their order within each
    key is kept either way.
    """

    window = unsupported_method(_WINDOWS)
    count_window = unsupported_method(_WINDOWS)

    class AccumulateType(Enum):
        """The rolling aggregations."""

        MIN = 1
        MAX = 2
        MIN_BY = 3
        MAX_BY = 4
        SUM = 5

    def __init__(
        self,
        env: StreamExecutionEnvironment,
        edges: tuple[Edge, ...],
        selector: UserFunction,
        key_type: TypeInformation | None,
    ) -> None:
        super().__init__(env, edges)
        self._by_key = ByKey(selector, key_type)

    def map(
        self, func: Callable[[Any], Any] | MapFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """One record out for each record in; a MapFunction may keep keyed state."""
        site = call_site()
        function = user_function(func, MapFunction, "map", "map", self._described(), site)
        return self._add_either(MapSpec, KeyedMapSpec, function, site, "map", output_type)

    def flat_map(
        self,
        func: Callable[[Any], Any] | FlatMapFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Any number of records out for each; a FlatMapFunction may keep keyed state."""
        site = call_site()
        function = user_function(
            func, FlatMapFunction, "flat_map", "flat_map", self._described(), site
        )
        return self._add_either(
            FlatMapSpec, KeyedFlatMapSpec, function, site, "flat_map", output_type
        )

    def filter(self, func: Callable[[Any], bool] | FilterFunction) -> DataStream:
        """The records for which the function is true; a FilterFunction may keep keyed state."""
        site = call_site()
        function = user_function(func, FilterFunction, "filter", "filter", self._described(), site)
        return self._add_either(
            FilterSpec, KeyedFilterSpec, function, site, "filter", kept_type=self._type()
        )

    def process(  # type: ignore[override]  # as in PyFlink: a keyed stream takes no other kind
        self,
        func: KeyedProcessFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """What the function yields for each record and timer, under its key."""
        site, stream = call_site(), self._described()
        function = user_function(
            func, KeyedProcessFunction, "process_element", "process", stream, site, plain=False
        )
        return self._add(
            KeyedProcessSpec(function), site, "process", output_type, inputs=self._keyed_edges()
        )

    def reduce(self, func: Callable[[Any, Any], Any] | ReduceFunction) -> DataStream:
        """Each key's records reduced into one: after every record, in a batch the last only."""
        site = call_site()
        function = user_function(func, ReduceFunction, "reduce", "reduce", self._described(), site)
        return self._add_reduction(ReduceSpec(function), site, "reduce")

    def sum(self, position_to_sum: int | str = 0) -> DataStream:
        """Each key's first record, with the sum so far in one field (see ``aggregations``)."""
        fold = aggregations.FieldAggregation(position_to_sum, aggregations.add)
        return self._add_reduction(ReduceSpec(UserFunction(fold), "Sum"), call_site(), "sum")

    def min(self, position_to_min: int | str = 0) -> DataStream:
        """Each key's first record, with the least value so far in one field."""
        fold = aggregations.FieldAggregation(position_to_min, aggregations.least)
        return self._add_reduction(ReduceSpec(UserFunction(fold), "Min"), call_site(), "min")

    def max(self, position_to_max: int | str = 0) -> DataStream:
        """Each key's first record, with the greatest value so far in one field."""
        fold = aggregations.FieldAggregation(position_to_max, aggregations.greatest)
        return self._add_reduction(ReduceSpec(UserFunction(fold), "Max"), call_site(), "max")

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream:
        """Each key's record with the least field so far; of equal ones the first."""
        fold = aggregations.RecordSelection(position_to_min_by, aggregations.least)
        return self._add_reduction(ReduceSpec(UserFunction(fold), "MinBy"), call_site(), "min_by")

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream:
        """Each key's record with the greatest field so far; of equal ones the first."""
        fold = aggregations.RecordSelection(position_to_max_by, aggregations.greatest)
        return self._add_reduction(ReduceSpec(UserFunction(fold), "MaxBy"), call_site(), "max_by")

    # Within

    def _operator(self, call: str) -> Transformation:
        raise PlanError(
            f"{call}() cannot act on a keyed stream: key_by() makes no operator",
            where={"stream": self._described()},
            hint=f"call {call}() before key_by(), or on the stream behind the next operator",
        )

    def _repartitioned(self, call: str, partitioning: Partitioning) -> DataStream:
        raise PlanError(
            f"{call}() cannot act on a keyed stream: its keys say where records go",
            where={"stream": self._described()},
            hint=f"call {call}() before key_by(), or on the stream behind the next operator",
        )

    def _described(self) -> str:
        return f"{super()._described()}, keyed by {self._by_key.selector.name}"

    def _keyed_edges(self) -> tuple[Edge, ...]:
        return tuple(Edge(edge.source, edge.tag, self._by_key) for edge in self._edges)

    def _add_either(
        self,
        plain: Callable[[UserFunction], OperatorSpec],
        keyed: Callable[[UserFunction], OperatorSpec],
        function: UserFunction,
        site: CallSite,
        call: str,
        output_type: TypeInformation | None = None,
        *,
        kept_type: TypeInformation | None = None,
    ) -> DataStream:
        # State is asked for in open(). Without it there is nothing to bring together, so the
        # records need not move.
        stateful = isinstance(function.target, Function) and (
            type(function.target).open is not Function.open
        )
        return self._add(
            keyed(function) if stateful else plain(function),
            site,
            call,
            output_type,
            kept_type=kept_type,
            inputs=self._keyed_edges() if stateful else self._edges,
        )

    def _add_reduction(self, spec: ReduceSpec, site: CallSite, call: str) -> DataStream:
        return self._add(spec, site, call, kept_type=self._type(), inputs=self._keyed_edges())

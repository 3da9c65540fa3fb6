"""The operators of a stream with keys: functions with keyed state, and aggregations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from headrace.common.typeinfo import TypeInformation
from headrace.datastream._build import aggregations
from headrace.datastream._build.call_site import call_site
from headrace.datastream._build.known_types import known_type, reduced_type
from headrace.datastream._build.user_functions import is_associative, to_user_function
from headrace.datastream._streams.operators import MakeSpec, StreamOperators
from headrace.datastream.functions import (
    Function,
    KeyedMapBatchesFunction,
    KeyedProcessFunction,
    ReduceFunction,
)
from headrace.errors import PlanError
from headrace.graph.transformation import (
    Broadcast,
    ByKey,
    CallSite,
    Edge,
    Partitioning,
    Transformation,
)
from headrace.operators.aggregates.aggregate import RecordFold
from headrace.operators.keyed_process import KeyedProcessSpec
from headrace.operators.reduce import ReduceSpec
from headrace.runtime.user_function import UserFunction

if TYPE_CHECKING:
    from headrace.datastream.data_stream import DataStream


class KeyedOperators(StreamOperators):
    """The methods of ``KeyedStream`` that ``DataStream`` does not have, or has in another form."""

    _by_key: ByKey

    # Functions

    def process(  # type: ignore[override]  # as in PyFlink: a keyed stream takes no other kind
        self,
        func: KeyedProcessFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Apply a process function to each record and timer, with state of its key."""
        site, stream = call_site(), self._describe()
        function = to_user_function(
            func,
            KeyedProcessFunction,
            "process_element",
            "process",
            stream,
            site,
            accepts_callable=False,
        )
        return self._add(
            KeyedProcessSpec(function), site, "process", output_type, inputs=self._keyed_edges()
        )

    def map_batches(  # type: ignore[override]  # the function is given the key as well
        self,
        func: Callable[[Any, Any], Any] | KeyedMapBatchesFunction,
        output_type: TypeInformation | None = None,
        *,
        batch_size: int = 10_000,
        format: Literal["arrow", "pandas"] = "arrow",
        input_type: TypeInformation | None = None,
        timestamp_column: str | None = None,
    ) -> DataStream:
        """Call ``func(key, batch)``; each batch has records of one key.

        A batch has consecutive records of one key, within one micro-batch and without a watermark
        between them: often only a few. A function object may keep keyed state, to use it for the
        key's later batches. See ``DataStream.map_batches``.
        """
        from headrace.datastream._build.batches import BatchOptions, keyed_map_batches_spec

        site, edges = call_site(), self._keyed_edges()
        options = BatchOptions(output_type, batch_size, format, input_type, timestamp_column)
        spec = keyed_map_batches_spec(func, options, self, edges, site)
        return self._add(spec, site, "map_batches", kept_type=output_type, inputs=edges)

    # Aggregations: each key's, after every record

    def reduce(self, func: Callable[[Any, Any], Any] | ReduceFunction) -> DataStream:
        """Reduce the records of each key; in a stream, each record emits the result so far.

        In a batch only the final result of each key is emitted.
        """
        site = call_site()
        function = to_user_function(
            func, ReduceFunction, "reduce", "reduce", self._describe(), site
        )
        spec = ReduceSpec(function, associative=is_associative(function))
        return self._add_reduction(spec, site, "reduce")

    def sum(self, position_to_sum: int | str = 0) -> DataStream:
        """Emit each key's first record, with one field replaced by its sum so far."""
        fold = aggregations.first_record("sum", position_to_sum)
        return self._add_fold(fold, "Sum", "sum")

    def min(self, position_to_min: int | str = 0) -> DataStream:
        """Emit each key's first record, with one field replaced by its minimum so far."""
        fold = aggregations.first_record("min", position_to_min)
        return self._add_fold(fold, "Min", "min")

    def max(self, position_to_max: int | str = 0) -> DataStream:
        """Emit each key's first record, with one field replaced by its maximum so far."""
        fold = aggregations.first_record("max", position_to_max)
        return self._add_fold(fold, "Max", "max")

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream:
        """Emit each key's record with the minimum of one field so far; of equal ones the first."""
        fold = aggregations.extreme_record("min", position_to_min_by)
        return self._add_fold(fold, "MinBy", "min_by")

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream:
        """Emit each key's record with the maximum of one field so far; of equal ones the first."""
        fold = aggregations.extreme_record("max", position_to_max_by)
        return self._add_fold(fold, "MaxBy", "max_by")

    # Rejected, because the keys determine the tasks of records

    def broadcast(self, *args: Any) -> Any:
        """Raise PlanError: on a keyed stream the key decides where a record goes.

        Raises:
            PlanError: always.
        """
        return self._repartition("broadcast", Broadcast())

    # Internal methods

    def _describe(self) -> str:
        return f"{super()._describe()}, keyed by {self._by_key.selector.name}"

    def _keyed_edges(self) -> tuple[Edge, ...]:
        return tuple(Edge(edge.source, edge.tag, self._by_key) for edge in self._edges)

    def _add_function(
        self,
        make_unkeyed_spec: MakeSpec,
        make_keyed_spec: MakeSpec,
        function: UserFunction,
        site: CallSite,
        call: str,
        output_type: TypeInformation | None = None,
        *,
        kept_type: TypeInformation | None = None,
    ) -> DataStream:
        # State is requested in open(). Without it, keys need not be in the same task, so the
        # records need not move.
        stateful = isinstance(function.target, Function) and (
            type(function.target).open is not Function.open
        )
        return self._add(
            make_keyed_spec(function) if stateful else make_unkeyed_spec(function),
            site,
            call,
            output_type,
            kept_type=kept_type,
            inputs=self._keyed_edges() if stateful else self._edges,
        )

    def _add_fold(self, fold: RecordFold, name: str, call: str) -> DataStream:
        site = call_site()
        aggregations.require_declared(
            fold.field, known_type(self._edges), call, self._describe(), site
        )
        spec = ReduceSpec(UserFunction(fold), name, True)
        return self._add_reduction(spec, site, call)

    def _add_reduction(self, spec: ReduceSpec, site: CallSite, call: str) -> DataStream:
        spec = replace(spec, record_type=reduced_type(self._edges, spec.function))
        return self._add(spec, site, call, kept_type=self._type(), inputs=self._keyed_edges())

    def _get_operator(self, call: str) -> Transformation:
        raise PlanError(
            f"{call}() cannot act on a keyed stream: key_by() makes no operator",
            where={"stream": self._describe()},
            hint=f"call {call}() before key_by(), or on the stream after the next operator",
        )

    def _repartition(self, call: str, partitioning: Partitioning) -> DataStream:
        raise PlanError(
            f"{call}() cannot act on a keyed stream: its keys say where records go",
            where={"stream": self._describe()},
            hint=f"call {call}() before key_by(), or on the stream after the next operator",
        )

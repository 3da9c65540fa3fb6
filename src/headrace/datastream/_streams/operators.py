"""The operators of streams with and without keys: functions, batches, projection, timestamps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from headrace.common._arguments import require_at_least
from headrace.common.typeinfo import TypeInformation
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream._build import nodes as build
from headrace.datastream._build.call_site import call_site
from headrace.datastream._build.stream import Stream
from headrace.datastream._build.user_functions import to_user_function
from headrace.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapBatchesFunction,
    MapFunction,
    ProcessFunction,
)
from headrace.errors import NotKeyedError, PlanError
from headrace.graph.transformation import CallSite, Edge
from headrace.operators.filter import FilterSpec
from headrace.operators.flat_map import FlatMapSpec
from headrace.operators.keyed_function import KeyedFilterSpec, KeyedFlatMapSpec, KeyedMapSpec
from headrace.operators.map import MapSpec
from headrace.operators.process import ProcessSpec
from headrace.operators.project import ProjectSpec
from headrace.runtime.operator import OperatorSpec
from headrace.runtime.user_function import UserFunction

if TYPE_CHECKING:
    from headrace.datastream.data_stream import DataStream

MakeSpec = Callable[[UserFunction], OperatorSpec]


class StreamOperators(Stream):
    """A stream to which operators can be applied."""

    # Functions

    def map(
        self, func: Callable[[Any], Any] | MapFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Emit one record for each; on a keyed stream, MapFunctions have keyed state."""
        site = call_site()
        function = to_user_function(func, MapFunction, "map", "map", self._describe(), site)
        return self._add_function(MapSpec, KeyedMapSpec, function, site, "map", output_type)

    def flat_map(
        self,
        func: Callable[[Any], Any] | FlatMapFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Emit any number of records for each; on a keyed stream, functions have keyed state."""
        site = call_site()
        function = to_user_function(
            func, FlatMapFunction, "flat_map", "flat_map", self._describe(), site
        )
        return self._add_function(
            FlatMapSpec, KeyedFlatMapSpec, function, site, "flat_map", output_type
        )

    def filter(self, func: Callable[[Any], bool] | FilterFunction) -> DataStream:
        """Keep the records for which the function returns True; keyed state as in ``map``."""
        site = call_site()
        function = to_user_function(
            func, FilterFunction, "filter", "filter", self._describe(), site
        )
        return self._add_function(
            FilterSpec, KeyedFilterSpec, function, site, "filter", kept_type=self._type()
        )

    def process(
        self, func: ProcessFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Apply a process function to each record; ``tag, value`` goes to a side output."""
        site, stream = call_site(), self._describe()
        if isinstance(func, KeyedProcessFunction):
            raise NotKeyedError(
                f"{type(func).__name__} is a KeyedProcessFunction, but the stream is not keyed",
                where={"stream": stream, "called": str(site)},
                hint=".key_by(...) before .process(...), or derive from ProcessFunction",
            )
        function = to_user_function(
            func,
            ProcessFunction,
            "process_element",
            "process",
            stream,
            site,
            accepts_callable=False,
        )
        return self._add(ProcessSpec(function), site, "process", output_type)

    def map_batches(
        self,
        func: Callable[[Any], Any] | MapBatchesFunction,
        output_type: TypeInformation | None = None,
        *,
        batch_size: int = 10_000,
        format: Literal["arrow", "pandas"] = "arrow",
        input_type: TypeInformation | None = None,
        timestamp_column: str | None = None,
    ) -> DataStream:
        """Apply a function to batches of records, each with at most ``batch_size`` records.

        ``func(batch)`` takes a pyarrow ``RecordBatch`` (or, with ``format="pandas"``, a DataFrame).
        It returns one of any length, an iterable of them, or None for no results. A batch has a
        column for each field of the records: ``f0``, ``f1``, … for tuples, ``value`` for plain
        values. ``input_type``: the type of the records, if the stream has no declared type. Results
        are of ``output_type``; without it they are rows with the names of the result's columns.
        Where batches begin and end depends on how the input arrives.

        A result as long as its batch keeps the timestamps, row for row. Other results get the
        latest timestamp of the batch. ``timestamp_column`` names a column of the result that has
        the timestamps instead.

        Raises:
            PlanError: the type of the records is not known.
        """
        # Jobs without batches do not import pyarrow.
        from headrace.datastream._build.batches import BatchOptions, map_batches_spec

        site = call_site()
        options = BatchOptions(output_type, batch_size, format, input_type, timestamp_column)
        spec = map_batches_spec(func, options, self, self._edges, site)
        return self._add(spec, site, "map_batches", kept_type=output_type)

    # Fields and time

    def project(self, *field_indexes: int) -> DataStream:
        """Emit tuples of the fields at the given positions, in the given order."""
        site = call_site()
        if not field_indexes:
            raise PlanError("project() needs the position of at least one field")
        for index in field_indexes:
            require_at_least(index, 0, "a field's position")
        return self._add(
            ProjectSpec(field_indexes), site, "project", kept_type=self._project_type(field_indexes)
        )

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream:
        """Assign timestamps and watermarks to the stream; the records are unchanged."""
        site, stream = call_site(), self._describe()
        spec = build.timestamps_spec(
            watermark_strategy, "assign_timestamps_and_watermarks", stream, site
        )
        return self._add(spec, site, "assign_timestamps_and_watermarks", kept_type=self._type())

    # Internal methods

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
        """Return the stream after a function.

        Only ``make_unkeyed_spec`` is used here. A keyed stream overrides this method, and uses
        ``make_keyed_spec`` for functions that may have keyed state.
        """
        return self._add(make_unkeyed_spec(function), site, call, output_type, kept_type=kept_type)

    def _add(
        self,
        spec: OperatorSpec,
        site: CallSite,
        call: str,
        output_type: TypeInformation | None = None,
        *,
        kept_type: TypeInformation | None = None,
        inputs: tuple[Edge, ...] | None = None,
    ) -> DataStream:
        """Return the stream after a new operator (see ``Stream._new_operator``)."""
        raise NotImplementedError

"""Streams without and with keys. Each method adds to the graph; nothing runs before ``execute``.

They are in one file because each makes the other: ``key_by`` gives a ``KeyedStream``, which is a
``DataStream`` and gives ``DataStream``s. What they are made with is in ``_build``.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, overload

from headrace.common.arguments import article, at_least, positive
from headrace.common.execution_config import ExecutionConfig
from headrace.common.output_tag import OutputTag
from headrace.common.time import TimeAmount
from headrace.common.typeinfo import TypeInformation, Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream._build import aggregations, execution
from headrace.datastream._build import nodes as build
from headrace.datastream._build.call_site import call_site
from headrace.datastream._build.keys import check_stability, key_function
from headrace.datastream._build.stream import Stream, may_emit_to
from headrace.datastream._build.user_functions import is_associative, user_function
from headrace.datastream._streams.as_of_join import AsOfJoin
from headrace.datastream._streams.broadcast import (
    BroadcastConnectedStream,
    BroadcastStream,
    checked_descriptors,
)
from headrace.datastream._streams.co_grouped import WindowJoin, co_grouped, joined
from headrace.datastream._streams.connected import ConnectedStreams, check_other
from headrace.datastream._streams.interval_join import IntervalJoin
from headrace.datastream._streams.partition_window import PartitionWindowedStream
from headrace.datastream._streams.windowed import AllWindowedStream, WindowedStream
from headrace.datastream.closeable_iterator import CloseableIterator
from headrace.datastream.data_stream_sink import DataStreamSink
from headrace.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedMapBatchesFunction,
    KeyedProcessFunction,
    KeySelector,
    MapBatchesFunction,
    MapFunction,
    NullByteKeySelector,
    Partitioner,
    ProcessFunction,
    ReduceFunction,
)
from headrace.datastream.state import MapStateDescriptor
from headrace.datastream.window import (
    CountEvictor,
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    GlobalWindows,
    PurgingTrigger,
    WindowAssigner,
)
from headrace.errors import NotKeyedError, PlanError
from headrace.graph.transformation import (
    Broadcast,
    ByKey,
    ByPartitioner,
    CacheTransformation,
    CallSite,
    Edge,
    Forward,
    Partitioning,
    Rebalance,
    Rescale,
    Shuffle,
    Transformation,
)
from headrace.operators.field_fold import FieldFold
from headrace.operators.filter import FilterSpec
from headrace.operators.flat_map import FlatMapSpec
from headrace.operators.joins.as_of import Direction
from headrace.operators.keyed_function import KeyedFilterSpec, KeyedFlatMapSpec, KeyedMapSpec
from headrace.operators.keyed_process import KeyedProcessSpec
from headrace.operators.map import MapSpec
from headrace.operators.process import ProcessSpec
from headrace.operators.project import ProjectSpec
from headrace.operators.reduce import ReduceSpec
from headrace.runtime.operator import OperatorSpec
from headrace.runtime.user_function import UserFunction

if TYPE_CHECKING:
    from headrace.connector import Sink
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = [
    "AllWindowedStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CachedDataStream",
    "CloseableIterator",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "KeyedStream",
    "WindowedStream",
]


def _first(key: Any, num_partitions: int) -> int:
    return 0


MakeSpec = Callable[[UserFunction], OperatorSpec]


class DataStream(Stream):
    """Records of one or more operators (several after ``union``)."""

    _by_key: ByKey | None = None
    """The keys of a keyed stream."""

    def __init__(
        self,
        env: StreamExecutionEnvironment,
        edges: tuple[Edge, ...],
        operator: Transformation | None = None,
        followers: tuple[Transformation, ...] = (),
    ) -> None:
        super().__init__(env, edges, operator, followers)
        self._env = env

    def get_type(self) -> TypeInformation:
        """The declared type of the records; pickled bytes where none was declared."""
        return self._type() or Types.PICKLED_BYTE_ARRAY()

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment this stream belongs to."""
        return self._env

    def get_execution_config(self) -> ExecutionConfig:
        """The environment's execution configuration."""
        return self._env.get_config()

    # Operators

    def map(
        self, func: Callable[[Any], Any] | MapFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """One record out for each record in; on a keyed stream MapFunctions have keyed state."""
        site = call_site()
        function = user_function(func, MapFunction, "map", "map", self._described(), site)
        return self._add_function(MapSpec, KeyedMapSpec, function, site, "map", output_type)

    def flat_map(
        self,
        func: Callable[[Any], Any] | FlatMapFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Any number of records out for each; on a keyed stream functions have keyed state."""
        site = call_site()
        function = user_function(
            func, FlatMapFunction, "flat_map", "flat_map", self._described(), site
        )
        return self._add_function(
            FlatMapSpec, KeyedFlatMapSpec, function, site, "flat_map", output_type
        )

    def filter(self, func: Callable[[Any], bool] | FilterFunction) -> DataStream:
        """The records for which the function is true; with keyed state as in ``map``."""
        site = call_site()
        function = user_function(func, FilterFunction, "filter", "filter", self._described(), site)
        return self._add_function(
            FilterSpec, KeyedFilterSpec, function, site, "filter", kept_type=self._type()
        )

    def process(
        self, func: ProcessFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """What the function yields for each record; ``tag, value`` goes to a side output."""
        site, stream = call_site(), self._described()
        if isinstance(func, KeyedProcessFunction):
            raise NotKeyedError(
                f"{type(func).__name__} is a KeyedProcessFunction, but the stream is not keyed",
                where={"stream": stream, "called": str(site)},
                hint=".key_by(...) before .process(...), or derive from ProcessFunction",
            )
        function = user_function(
            func, ProcessFunction, "process_element", "process", stream, site, plain=False
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
        """What the function gives for batches of records, each of at most ``batch_size``.

        ``func(batch)`` takes a pyarrow ``RecordBatch`` (or, by ``format``, a pandas DataFrame) and
        returns one of any length, an iterable of them, or None for nothing. A batch has a column
        for each field of the records: ``f0``, ``f1``, … of tuples, ``value`` of plain values.
        ``input_type``: the type of the records, if the stream declares none. Results are of
        ``output_type``, else rows with the names of the result's columns. Where batches begin and
        end depends on how the input arrives.

        A result as long as its batch keeps the timestamps, row for row. Other results get the
        latest timestamp of the batch. ``timestamp_column`` names a column with their own.

        Raises:
            PlanError: the type of the records is not known.
        """
        # Jobs without batches start without pyarrow.
        from headrace.datastream._build.batches import BatchOptions, map_batches_spec

        site = call_site()
        options = BatchOptions(output_type, batch_size, format, input_type, timestamp_column)
        spec = map_batches_spec(func, options, self, self._edges, site)
        return self._add(spec, site, "map_batches", kept_type=output_type)

    def project(self, *field_indexes: int) -> DataStream:
        """Tuples of the fields at these positions, in this order."""
        site = call_site()
        if not field_indexes:
            raise PlanError("project() needs the position of at least one field")
        for index in field_indexes:
            at_least(index, 0, "a field's position")
        return self._add(
            ProjectSpec(field_indexes), site, "project", kept_type=self._projected(field_indexes)
        )

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream:
        """The same records with event time by a strategy."""
        site, stream = call_site(), self._described()
        spec = build.timestamps_spec(
            watermark_strategy, "assign_timestamps_and_watermarks", stream, site
        )
        return self._add(spec, site, "assign_timestamps_and_watermarks", kept_type=self._type())

    def union(self, *streams: DataStream) -> DataStream:
        """The records of this and other streams of the same environment, in no order."""
        if not streams:
            raise PlanError("union() needs at least one other stream")
        edges = self._edges
        for stream in streams:
            if not isinstance(stream, DataStream):
                raise PlanError(f"union() takes streams, not {article(type(stream).__name__)}")
            if stream._env is not self._env:
                raise PlanError(
                    "union() takes streams of one environment",
                    where={"stream": self._described(), "other": stream._described()},
                )
            edges += stream._edges
        return DataStream(self._env, edges)

    @overload
    def connect(self, ds: BroadcastStream) -> BroadcastConnectedStream: ...
    @overload
    def connect(self, ds: DataStream) -> ConnectedStreams: ...
    def connect(
        self, ds: DataStream | BroadcastStream
    ) -> ConnectedStreams | BroadcastConnectedStream:
        """This and another stream, for a function with a method for the records of each.

        Raises:
            PlanError: the other is no stream, or one of another environment.
        """
        if isinstance(ds, BroadcastStream):
            check_other(self, ds, BroadcastStream, call_site())
            return BroadcastConnectedStream(self, ds, ds.broadcast_state_descriptors)
        check_other(self, ds, DataStream, call_site())
        return ConnectedStreams(self, ds)

    def join(self, other_stream: DataStream) -> WindowJoin:
        """Pairs of records of two streams that have one key and lie in one window.

        ``join(other).where(key).equal_to(key).window(assigner).apply(function)``
        """
        check_other(self, other_stream, DataStream, call_site(), "join")
        return joined(self, other_stream)

    def co_group(self, other_stream: DataStream) -> WindowJoin:
        """The records of two streams that have one key and lie in one window, as two groups.

        ``co_group(other).where(key).equal_to(key).window(assigner).apply(function)``
        """
        check_other(self, other_stream, DataStream, call_site(), "co_group")
        return co_grouped(self, other_stream)

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """What the operator emitted to a tag (see ``OutputTag``)."""
        site = call_site()
        operator = self._operator("get_side_output")
        if not isinstance(output_tag, OutputTag):
            raise PlanError(f"get_side_output() takes an OutputTag, not {output_tag!r}")
        if not may_emit_to(operator, output_tag):
            raise PlanError(
                f"{operator.name} has no side output {output_tag.tag_id!r}",
                where={"stream": self._described(), "called": str(site)},
                hint="call it on the stream that process() gave back, or that of a source with"
                " .on_error(tag)",
            )
        edge = Edge(operator, output_tag)
        coercion = build.add_coercion(self._env, edge, output_tag.type_info, site)
        return DataStream(self._env, (Edge(coercion) if coercion else edge,))

    # Windows

    def window_all(self, window_assigner: WindowAssigner[Any, Any]) -> AllWindowedStream:
        """The stream's windows, all in one task."""
        return AllWindowedStream(self, window_assigner)

    def count_window_all(self, size: int, slide: int = 0) -> AllWindowedStream:
        """Windows of ``size`` records; with a ``slide``, the last ``size`` at every so many.

        PyFlink has no such method. As in Flink for Java, all records are in one ``GlobalWindow``.
        """
        positive(size, "the size of a count window")
        windows = AllWindowedStream(self, GlobalWindows.create())
        if at_least(slide, 0, "the slide of a count window") == 0:
            return windows.trigger(PurgingTrigger.of(CountTrigger.of(size)))
        return windows.evictor(CountEvictor.of(size)).trigger(CountTrigger.of(slide))

    def full_window_partition(self) -> PartitionWindowedStream:
        """All records of a stream that ends, for functions that want them together.

        PyFlink has no such method. In Flink for Java a function is called once for each subtask;
        here the records of all subtasks are one partition. A keyed stream has one for each key.
        """
        windows = AllWindowedStream(self, GlobalWindows.create_with_end_of_stream_trigger())
        return PartitionWindowedStream(self, windows)

    # Partitioning

    def key_by(
        self,
        key_selector: Callable[[Any], Any] | KeySelector | int | str,
        key_type: TypeInformation | None = None,
    ) -> KeyedStream:
        """The stream with a key for each record: by a function, or a field's position or name.

        Raises:
            UnstableKeyError: the keys are known not to hash alike in every interpreter.
        """
        site, stream = call_site(), self._described()
        selector = key_function(key_selector, "key_by", stream, site)
        build.checked_type(key_type, "key_by")
        build.require_sendable(selector, "key_by", stream, site)
        check_stability(selector, key_type, self._edges, stream, site)
        return KeyedStream(self._env, self._edges, selector, key_type)

    def partition_custom(
        self,
        partitioner: Callable[[Any, int], int] | Partitioner,
        key_selector: Callable[[Any], Any] | KeySelector | int | str,
    ) -> DataStream:
        """The stream with each record at the subtask that the partitioner picks for its key."""
        site, stream = call_site(), self._described()
        function = user_function(
            partitioner, Partitioner, "partition", "partition_custom", stream, site
        )
        selector = key_function(key_selector, "partition_custom", stream, site)
        for given in (function, selector):
            build.require_sendable(given, "partition_custom", stream, site)
        return self._repartitioned("partition_custom", ByPartitioner(function, selector))

    def rebalance(self) -> DataStream:
        """The stream spread over all subtasks, round robin."""
        return self._repartitioned("rebalance", Rebalance())

    def rescale(self) -> DataStream:
        """The stream spread over the subtasks, round robin, as ``rebalance`` does."""
        return self._repartitioned("rescale", Rescale())

    def shuffle(self) -> DataStream:
        """The stream spread over all subtasks: round robin, so that a replay gives the same."""
        return self._repartitioned("shuffle", Shuffle())

    def global_(self) -> DataStream:
        """The stream with all its records at the first subtask: ``global`` in Flink for Java."""
        everything = UserFunction(NullByteKeySelector(), "get_key")
        return self._repartitioned("global_", ByPartitioner(UserFunction(_first), everything))

    def forward(self) -> DataStream:
        """The stream with its records staying in their subtasks."""
        return self._repartitioned("forward", Forward())

    @overload
    def broadcast(self) -> DataStream: ...
    @overload
    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> BroadcastStream: ...
    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> DataStream | BroadcastStream:
        """The stream with each record at every subtask.

        With descriptors it can be connected with another stream, in whose tasks its records change
        these states.
        """
        everywhere = self._repartitioned("broadcast", Broadcast())
        if broadcast_state_descriptor is None and not other_broadcast_state_descriptors:
            return everywhere
        given = (broadcast_state_descriptor, *other_broadcast_state_descriptors)
        return BroadcastStream(
            everywhere, checked_descriptors(given, self._described(), call_site())
        )

    # Ends

    def sink_to(self, sink: Sink) -> DataStreamSink:
        """Write the records with a connector's sink."""
        return DataStreamSink(self._new_sink(sink, "sink_to", call_site()))

    def add_sink(self, sink_func: Sink) -> DataStreamSink:
        """Write the records with a connector's sink, like ``sink_to``."""
        return DataStreamSink(self._new_sink(sink_func, "add_sink", call_site()))

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print the records, each after ``sink_identifier>`` where one is given."""
        from headrace.datastream.connectors.print import PrintSink

        return DataStreamSink(
            self._new_sink(PrintSink(sink_identifier or ""), "print", call_site())
        )

    def print_to_err(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print the records on standard error; PyFlink has no such method."""
        from headrace.datastream.connectors.print import PrintSink

        sink = PrintSink(sink_identifier or "", to_stderr=True)
        return DataStreamSink(self._new_sink(sink, "print_to_err", call_site()))

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[Any]:
        """The results of the job, one by one; with ``limit``, a list of at most that many."""
        if limit is not None:
            positive(limit, "a limit")
        sinks = (*self._env._take_sinks(), self._collecting_sink())
        results = CloseableIterator(
            *execution.execute_and_collect(
                sinks, self._env._configuration, job_execution_name, limit
            )
        )
        if limit is None:
            return results
        with results:
            return list(results)

    def cache(self) -> CachedDataStream:
        """The same records, which the first job computes and keeps, and later ones read.

        Only batches keep and read; in a stream each job computes them. Timestamps are kept.
        """
        # Programs without it start without its files.
        from headrace.datastream._build.cache import KeptFolders

        site = call_site()
        kept = KeptFolders(self._env._configuration)
        node = CacheTransformation(self._edges, None, "Cache", site, self._type(), kept=kept)
        self._env._register(node)
        return CachedDataStream(self._env, (Edge(node),))

    def explain(self) -> str:
        """How this stream would be computed: stages, chains, exchanges, state and timers."""
        return execution.explain((self._collecting_sink(),), self._env._configuration)

    # Within

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
        """The stream after a new operator (see ``Stream._new_operator``)."""
        added = self._new_operator(
            spec, site, call, output_type, kept_type=kept_type, inputs=inputs
        )
        return DataStream._after(self._env, *added)

    def _add_function(
        self,
        plain: MakeSpec,
        keyed: MakeSpec,
        function: UserFunction,
        site: CallSite,
        call: str,
        output_type: TypeInformation | None = None,
        *,
        kept_type: TypeInformation | None = None,
    ) -> DataStream:
        """The stream after a function, which a keyed stream may run with keyed state."""
        return self._add(plain(function), site, call, output_type, kept_type=kept_type)

    @staticmethod
    def _after(
        env: StreamExecutionEnvironment,
        node: Transformation,
        followers: tuple[Transformation, ...],
    ) -> DataStream:
        """The stream of an operator and the nodes that follow it unseen."""
        return DataStream(env, (Edge((node, *followers)[-1]),), node, followers)

    def _repartitioned(self, call: str, partitioning: Partitioning) -> DataStream:
        edges = tuple(Edge(edge.source, edge.tag, partitioning) for edge in self._edges)
        return DataStream(self._env, edges)


class CachedDataStream(DataStream):
    """A stream whose records are kept from the first job that computes them, for those after it."""

    def invalidate(self) -> None:
        """Forget what was kept. The next job that needs the stream computes it and keeps it."""
        for edge in self._edges:
            if isinstance(edge.source, CacheTransformation):
                edge.source.kept.forget()

    def _operator(self, call: str) -> Transformation:
        raise PlanError(
            f"{call}() cannot act on a cached stream, which no operator makes in later jobs",
            where={"stream": self._described()},
            hint=f"call {call}() on the stream before cache()",
        )


class KeyedStream(DataStream):
    """A stream after ``key_by``.

    What needs the key moves the records through a key exchange. What does not (plain functions,
    and function objects without an ``open``) runs where the records are: their order within each
    key is kept either way.
    """

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
        self._by_key: ByKey = ByKey(selector, key_type)

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
        """What ``func(key, batch)`` gives for batches of the records of one key each.

        A batch has records of one key that came one after another, with no watermark between them
        and within one micro-batch: often few. A function object may keep keyed state, so what it
        has to know of a key's other records it finds there. See ``DataStream.map_batches``.
        """
        from headrace.datastream._build.batches import BatchOptions, keyed_map_batches_spec

        site, edges = call_site(), self._keyed_edges()
        options = BatchOptions(output_type, batch_size, format, input_type, timestamp_column)
        spec = keyed_map_batches_spec(func, options, self, edges, site)
        return self._add(spec, site, "map_batches", kept_type=output_type, inputs=edges)

    def reduce(self, func: Callable[[Any, Any], Any] | ReduceFunction) -> DataStream:
        """Each key's records reduced into one: after every record, in a batch the last only."""
        site = call_site()
        function = user_function(func, ReduceFunction, "reduce", "reduce", self._described(), site)
        spec = ReduceSpec(function, associative=is_associative(function))
        return self._add_reduction(spec, site, "reduce")

    def sum(self, position_to_sum: int | str = 0) -> DataStream:
        """Each key's first record, with the sum so far in one field (see ``aggregations``)."""
        fold = aggregations.FieldAggregation(position_to_sum, aggregations.add)
        return self._add_fold(fold, FieldFold(fold.field, "sum"), "Sum", "sum")

    def min(self, position_to_min: int | str = 0) -> DataStream:
        """Each key's first record, with the least value so far in one field."""
        fold = aggregations.FieldAggregation(position_to_min, aggregations.least)
        return self._add_fold(fold, FieldFold(fold.field, "min"), "Min", "min")

    def max(self, position_to_max: int | str = 0) -> DataStream:
        """Each key's first record, with the greatest value so far in one field."""
        fold = aggregations.FieldAggregation(position_to_max, aggregations.greatest)
        return self._add_fold(fold, FieldFold(fold.field, "max"), "Max", "max")

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream:
        """Each key's record with the least field so far; of equal ones the first."""
        fold = aggregations.RecordSelection(position_to_min_by, aggregations.least)
        return self._add_fold(fold, FieldFold(fold.field, "min", True), "MinBy", "min_by")

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream:
        """Each key's record with the greatest field so far; of equal ones the first."""
        fold = aggregations.RecordSelection(position_to_max_by, aggregations.greatest)
        return self._add_fold(fold, FieldFold(fold.field, "max", True), "MaxBy", "max_by")

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> WindowedStream:
        """The windows of each key."""
        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream:
        """Windows of ``size`` records of a key; with a ``slide``, one begins at every so many.

        As in PyFlink a window fires when it is full, so the first has ``size`` records too.
        """
        if at_least(slide, 0, "the slide of a count window") == 0:
            return WindowedStream(self, CountTumblingWindowAssigner(size))
        return WindowedStream(self, CountSlidingWindowAssigner(size, slide))

    def full_window_partition(self) -> PartitionWindowedStream:
        """All records of each key, for functions that want them together, when the input ends."""
        windows = WindowedStream(self, GlobalWindows.create_with_end_of_stream_trigger())
        return PartitionWindowedStream(self, windows)

    def broadcast(self, *args: Any) -> Any:
        """Refused: the keys say where records go."""
        return self._repartitioned("broadcast", Broadcast())

    def cache(self) -> CachedDataStream:
        """Refused, as in PyFlink: keys are not kept.

        Raises:
            PlanError: always.
        """
        raise PlanError(
            "cache() cannot act on a keyed stream",
            where={"stream": self._described()},
            hint="call cache() before key_by(), or on the stream after the next operator",
        )

    # With another keyed stream; records of equal keys meet

    def interval_join(self, other: KeyedStream) -> IntervalJoin:
        """Pairs of this stream's records and another's that happened near each other."""
        return IntervalJoin(self, self._other_side(other, "interval_join"))

    def as_of_join(
        self,
        other: KeyedStream,
        *,
        direction: Direction = "backward",
        tolerance: TimeAmount | None = None,
        allow_exact_matches: bool = True,
        how: str = "left",
    ) -> AsOfJoin:
        """Each record with the other stream's latest one at its time; not part of Flink's API.

        ``direction``: ``backward`` looks for the latest record that is not younger, ``forward``
        for the earliest that is not older, ``nearest`` for the nearer of these two.
        ``tolerance``: how far apart they may be. ``allow_exact_matches``: whether they may have
        one timestamp. ``how``: what becomes of a record that nothing fits: ``left`` joins it with
        None, ``inner`` drops it.
        """
        right = self._other_side(other, "as_of_join")
        return AsOfJoin.of(self, right, direction, tolerance, allow_exact_matches, how)

    # Within

    def _other_side(self, other: Any, call: str) -> KeyedStream:
        """The other stream of a join that needs keys on both sides."""
        check_other(self, other, DataStream, call_site(), call)
        if isinstance(other, KeyedStream):
            return other
        raise NotKeyedError(
            f"{call}() takes a keyed stream, and this one has no key",
            where={
                "stream": self._described(),
                "other": other._described(),
                "called": str(call_site()),
            },
            hint=".key_by(...) both streams",
        )

    def _operator(self, call: str) -> Transformation:
        raise PlanError(
            f"{call}() cannot act on a keyed stream: key_by() makes no operator",
            where={"stream": self._described()},
            hint=f"call {call}() before key_by(), or on the stream after the next operator",
        )

    def _repartitioned(self, call: str, partitioning: Partitioning) -> DataStream:
        raise PlanError(
            f"{call}() cannot act on a keyed stream: its keys say where records go",
            where={"stream": self._described()},
            hint=f"call {call}() before key_by(), or on the stream after the next operator",
        )

    def _described(self) -> str:
        return f"{super()._described()}, keyed by {self._by_key.selector.name}"

    def _keyed_edges(self) -> tuple[Edge, ...]:
        return tuple(Edge(edge.source, edge.tag, self._by_key) for edge in self._edges)

    def _add_function(
        self,
        plain: MakeSpec,
        keyed: MakeSpec,
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

    def _add_fold(
        self, reduce: Callable[[Any, Any], Any], fold: FieldFold, name: str, call: str
    ) -> DataStream:
        spec = ReduceSpec(UserFunction(reduce), name, True, fold)
        return self._add_reduction(spec, call_site(), call)

    def _add_reduction(self, spec: ReduceSpec, site: CallSite, call: str) -> DataStream:
        return self._add(spec, site, call, kept_type=self._type(), inputs=self._keyed_edges())

"""Streams without keys. Each method adds to the graph; nothing runs until the job is executed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace.common.execution_config import ExecutionConfig
from headrace.common.output_tag import OutputTag
from headrace.common.typeinfo import TupleTypeInfo, TypeInformation, Types
from headrace.common.unsupported import unsupported, unsupported_method
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream._build import nodes as build
from headrace.datastream._build.arguments import article, at_least, positive
from headrace.datastream._build.call_site import call_site
from headrace.datastream._build.keys import check_stability, key_function
from headrace.datastream._build.operator_settings import OperatorSettings
from headrace.datastream._build.pickling import require_picklable
from headrace.datastream._build.user_functions import user_function
from headrace.datastream.closeable_iterator import CloseableIterator
from headrace.datastream.data_stream_sink import DataStreamSink
from headrace.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ProcessFunction,
)
from headrace.errors import NotKeyedError, PlanError, UnsupportedError
from headrace.graph.transformation import (
    ByPartitioner,
    CallSite,
    Edge,
    Forward,
    Partitioning,
    Rebalance,
    Rescale,
    Shuffle,
    SinkTransformation,
    SourceTransformation,
    Transformation,
)
from headrace.operators.filter import FilterSpec
from headrace.operators.flat_map import FlatMapSpec
from headrace.operators.map import MapSpec
from headrace.operators.process import ProcessSpec
from headrace.operators.project import ProjectSpec
from headrace.runtime.operator import OperatorSpec

if TYPE_CHECKING:
    from headrace.connector import Sink
    from headrace.datastream.keyed_stream import KeyedStream
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = ["CloseableIterator", "DataStream", "DataStreamSink", "KeyedStream"]

_WINDOWS = "windows are not part of this release"
_CONNECTED = "connected streams are not part of this release"
_BROADCAST = "broadcast streams are not part of this release"
_CACHE = "results of one job are not kept for the next"

WindowedStream = unsupported(f"{__name__}.WindowedStream", _WINDOWS)
AllWindowedStream = unsupported(f"{__name__}.AllWindowedStream", _WINDOWS)
ConnectedStreams = unsupported(f"{__name__}.ConnectedStreams", _CONNECTED)
BroadcastStream = unsupported(f"{__name__}.BroadcastStream", _BROADCAST)
BroadcastConnectedStream = unsupported(f"{__name__}.BroadcastConnectedStream", _BROADCAST)
CachedDataStream = unsupported(f"{__name__}.CachedDataStream", _CACHE)


class DataStream(OperatorSettings):
    """Records of one or more operators (several after ``union``)."""

    window_all = unsupported_method(_WINDOWS)
    connect = unsupported_method(_CONNECTED)
    broadcast = unsupported_method(_BROADCAST)
    cache = unsupported_method(_CACHE)

    def __init__(
        self,
        env: StreamExecutionEnvironment,
        edges: tuple[Edge, ...],
        operator: Transformation | None = None,
        followers: tuple[Transformation, ...] = (),
    ) -> None:
        self._env = env
        self._edges = edges
        self._own = operator
        self._hidden = followers

    # Settings of the operator

    def _operator(self, call: str) -> Transformation:
        if self._own is None:
            raise PlanError(
                f"{call}() needs an operator, but this stream is made by union, a side output or a"
                " way of partitioning",
                where={"stream": self._described()},
                hint=f"call {call}() on the stream before, or on the one behind the next operator",
            )
        return self._own

    def _followers(self) -> tuple[Transformation, ...]:
        return self._hidden

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
        """One record out for each record in."""
        site = call_site()
        function = user_function(func, MapFunction, "map", "map", self._described(), site)
        return self._add(MapSpec(function), site, "map", output_type)

    def flat_map(
        self,
        func: Callable[[Any], Any] | FlatMapFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Any number of records out for each record in."""
        site = call_site()
        function = user_function(
            func, FlatMapFunction, "flat_map", "flat_map", self._described(), site
        )
        return self._add(FlatMapSpec(function), site, "flat_map", output_type)

    def filter(self, func: Callable[[Any], bool] | FilterFunction) -> DataStream:
        """The records for which the function is true."""
        site = call_site()
        function = user_function(func, FilterFunction, "filter", "filter", self._described(), site)
        return self._add(FilterSpec(function), site, "filter", kept_type=self._type())

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

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """What the operator emitted to a tag (see ``OutputTag``)."""
        site = call_site()
        operator = self._operator("get_side_output")
        if not isinstance(output_tag, OutputTag):
            raise PlanError(f"get_side_output() takes an OutputTag, not {output_tag!r}")
        if not _may_emit_to(operator, output_tag):
            raise PlanError(
                f"{operator.name} has no side output {output_tag.tag_id!r}",
                where={"stream": self._described(), "called": str(site)},
                hint="call get_side_output() on the stream that process() gave back",
            )
        edge = Edge(operator, output_tag)
        coercion = build.add_coercion(self._env, edge, output_tag.type_info, site)
        return DataStream(self._env, (Edge(coercion) if coercion else edge,))

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
        from headrace.datastream.keyed_stream import KeyedStream

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

    def forward(self) -> DataStream:
        """The stream with its records staying in their subtasks."""
        return self._repartitioned("forward", Forward())

    # Ends

    def sink_to(self, sink: Sink) -> DataStreamSink:
        """Write the records with a connector's sink."""
        return self._sunk(sink, "sink_to", call_site())

    def add_sink(self, sink_func: Sink) -> DataStreamSink:
        """Write the records with a connector's sink, like ``sink_to``."""
        return self._sunk(sink_func, "add_sink", call_site())

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print the records, each behind ``sink_identifier>`` where one is given."""
        from headrace.datastream.connectors.print import PrintSink

        return self._sunk(PrintSink(sink_identifier or ""), "print", call_site())

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[Any]:
        """Run the job; its results as they come, or with ``limit`` a list of at most so many."""
        from headrace.datastream._build import execution

        if limit is not None:
            positive(limit, "a limit")
        results = execution.execute_and_collect(self._env, self, job_execution_name, limit)
        if limit is None:
            return results
        with results:
            return list(results)

    def explain(self) -> str:
        """How this stream would be computed: stages, chains, exchanges, state and timers."""
        from headrace.datastream._build import execution

        return execution.explain(self._env, self)

    # Within

    def _described(self) -> str:
        """The stream, for errors."""
        if len(self._edges) > 1:
            return "union of " + ", ".join(edge.source.name for edge in self._edges)
        node, tag = self._edges[0].source, self._edges[0].tag
        if self._own is not None:
            node = self._own
        uid = f" (uid={node.uid})" if node.uid else ""
        side = f", side output {tag.tag_id!r}" if tag else ""
        return f"{node.name}{uid}{side}, built at {node.site}"

    def _type(self) -> TypeInformation | None:
        types = [
            edge.source.output_type if edge.tag is None else edge.tag.type_info
            for edge in self._edges
        ]
        return types[0] if all(one == types[0] for one in types) else None

    def _projected(self, indexes: tuple[int, ...]) -> TypeInformation | None:
        declared = self._type()
        if not isinstance(declared, TupleTypeInfo):
            return None
        fields = declared.get_field_types()
        if max(indexes) >= len(fields):
            raise PlanError(
                f"project() asks for field {max(indexes)} of {declared}",
                where={"stream": self._described()},
            )
        return Types.TUPLE([fields[index] for index in indexes])

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
        """The stream behind a new operator.

        ``output_type`` was declared, so records are made to fit it; ``kept_type`` they fit already.
        ``inputs`` are keyed edges, where the operator wants them.
        """
        stream = self._described()
        build.checked_type(output_type, call)
        if inputs is None:
            inputs = self._edges
            for function in spec.functions:
                build.require_unkeyed(function, call, stream, site)
        node = build.add_operator(
            self._env, inputs, spec, site, call, stream, output_type or kept_type
        )
        return DataStream._behind(
            self._env, node, build.add_followers(self._env, node, output_type, site)
        )

    @staticmethod
    def _behind(
        env: StreamExecutionEnvironment,
        node: Transformation,
        followers: tuple[Transformation, ...],
    ) -> DataStream:
        """The stream of an operator and the nodes that follow it unseen."""
        return DataStream(env, (Edge((node, *followers)[-1]),), node, followers)

    def _repartitioned(self, call: str, partitioning: Partitioning) -> DataStream:
        edges = tuple(Edge(edge.source, edge.tag, partitioning) for edge in self._edges)
        return DataStream(self._env, edges)

    def _sunk(self, sink: Any, call: str, site: CallSite) -> DataStreamSink:
        from headrace.connector import Sink
        from headrace.datastream.connectors.dataframe import DataFrameSink

        stream = self._described()
        if not isinstance(sink, Sink):
            raise UnsupportedError(
                f"{call}() takes a connector's Sink, not {article(type(sink).__name__)}",
                where={"stream": stream, "called": str(site)},
                hint="FunctionSink (headrace.datastream.connectors.function) wraps Python code",
            )
        declared = self._type()
        if isinstance(sink, DataFrameSink):
            sink.require_columns(declared, stream, site)
        if declared is not None and hasattr(sink, "with_type_info"):
            sink = sink.with_type_info(declared)
        require_picklable(sink, f"the sink {sink.name}", stream, site)
        node = SinkTransformation(self._edges, None, sink.name, site, declared, sink=sink)
        self._env._register_sink(node)
        return DataStreamSink(node)


def _may_emit_to(node: Transformation, tag: OutputTag) -> bool:
    if isinstance(node, SourceTransformation):
        return bool(getattr(node.source, "bad_record_tag", None) == tag)
    return node.spec is not None and node.spec.traits.side_outputs


def __getattr__(name: str) -> Any:
    # keyed_stream imports this module, so its class is looked up when it is asked for
    if name == "KeyedStream":
        from headrace.datastream.keyed_stream import KeyedStream

        return KeyedStream
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Streams with and without keys. Each method adds to the graph; nothing runs before ``execute``.

The two classes create each other, so they are in one file, with the methods that create other
kinds of streams. ``_streams`` has operators, partitioning and sinks; its files know ``DataStream``
only as the result of ``_add`` and ``_repartition``. ``_build`` has the code that all share. Windows
and joins are imported by the methods that need them: other programs, and SQL, start faster.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, overload

from headrace._lazy_exports import lazy_exports
from headrace.common._arguments import with_article
from headrace.common._output_tag import OutputTag
from headrace.common.execution_config import ExecutionConfig
from headrace.common.time import TimeAmount
from headrace.common.typeinfo import TypeInformation, Types
from headrace.datastream._build import nodes as build
from headrace.datastream._build.call_site import call_site
from headrace.datastream._build.keys import check_stability, to_key_selector
from headrace.datastream._build.stream import may_emit_to
from headrace.datastream._streams.broadcast import BroadcastConnectedStream, BroadcastStream
from headrace.datastream._streams.closeable_iterator import CloseableIterator
from headrace.datastream._streams.connected import ConnectedStreams, check_other
from headrace.datastream._streams.data_stream_sink import DataStreamSink
from headrace.datastream._streams.ends import StreamEnds
from headrace.datastream._streams.keyed import KeyedOperators
from headrace.datastream._streams.operators import StreamOperators
from headrace.datastream._streams.partitioning import StreamPartitioning
from headrace.datastream.functions import KeySelector
from headrace.errors import NotKeyedError, PlanError
from headrace.graph.transformation import (
    ByKey,
    CacheTransformation,
    CallSite,
    Edge,
    Partitioning,
    Transformation,
)
from headrace.runtime.operator import OperatorSpec
from headrace.runtime.user_function import UserFunction

if TYPE_CHECKING:
    from headrace.datastream._streams.as_of_join import AsOfJoin
    from headrace.datastream._streams.co_grouped import WindowJoin
    from headrace.datastream._streams.interval_join import IntervalJoin
    from headrace.datastream._streams.partition_window import PartitionWindowedStream
    from headrace.datastream._streams.windowed import AllWindowedStream, WindowedStream
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
    from headrace.datastream.window import WindowAssigner
    from headrace.operators.joins.as_of import Direction

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

if not TYPE_CHECKING:  # type checkers find names in their defining modules
    __getattr__ = lazy_exports(__name__)


class DataStream(StreamOperators, StreamPartitioning, StreamEnds):
    """A stream of records: the output of an operator, or of several after ``union``."""

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
        """Return the declared type of the records; pickled bytes if none is declared."""
        return self._type() or Types.PICKLED_BYTE_ARRAY()

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment of this stream."""
        return self._env

    def get_execution_config(self) -> ExecutionConfig:
        """Return the environment's execution configuration."""
        return self._env.get_config()

    # Keys

    def key_by(
        self,
        key_selector: Callable[[Any], Any] | KeySelector | int | str,
        key_type: TypeInformation | None = None,
    ) -> KeyedStream:
        """Key the stream by a function, or by a field's position or name.

        Raises:
            UnstableKeyError: the keys are of a type whose hash differs between interpreters.
        """
        site, stream = call_site(), self._describe()
        selector = to_key_selector(key_selector, "key_by", stream, site)
        build.check_type(key_type, "key_by")
        build.require_sendable(selector, "key_by", stream, site)
        check_stability(selector, key_type, self._edges, stream, site)
        return KeyedStream(self._env, self._edges, selector, key_type)

    # Several streams

    def union(self, *streams: DataStream) -> DataStream:
        """Merge this stream with others of the same environment; the order is not defined."""
        if not streams:
            raise PlanError("union() needs at least one other stream")
        edges = self._edges
        for stream in streams:
            if not isinstance(stream, DataStream):
                raise PlanError(f"union() takes streams, not {with_article(type(stream).__name__)}")
            if stream._env is not self._env:
                raise PlanError(
                    "union() takes streams of one environment",
                    where={"stream": self._describe(), "other": stream._describe()},
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
        """Connect this stream with another one, for a function with a method for each of them.

        Raises:
            PlanError: the other is not a stream, or belongs to another environment.
        """
        if isinstance(ds, BroadcastStream):
            check_other(self, ds, BroadcastStream, call_site())
            return BroadcastConnectedStream(self, ds, ds.broadcast_state_descriptors)
        check_other(self, ds, DataStream, call_site())
        return ConnectedStreams(self, ds)

    def join(self, other_stream: DataStream) -> WindowJoin:
        """Join the records of two streams that have equal keys and are in the same window.

        ``join(other).where(key).equal_to(key).window(assigner).apply(function)``
        """
        from headrace.datastream._streams.co_grouped import joined

        check_other(self, other_stream, DataStream, call_site(), "join")
        return joined(self, other_stream)

    def co_group(self, other_stream: DataStream) -> WindowJoin:
        """Group the records of two streams that have equal keys and are in the same window.

        The function receives two groups, one for each stream.
        ``co_group(other).where(key).equal_to(key).window(assigner).apply(function)``
        """
        from headrace.datastream._streams.co_grouped import co_grouped

        check_other(self, other_stream, DataStream, call_site(), "co_group")
        return co_grouped(self, other_stream)

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """Return the stream of records that the operator emitted to this tag."""
        site = call_site()
        operator = self._get_operator("get_side_output")
        if not isinstance(output_tag, OutputTag):
            raise PlanError(f"get_side_output() takes an OutputTag, not {output_tag!r}")
        if not may_emit_to(operator, output_tag):
            raise PlanError(
                f"{operator.name} has no side output {output_tag.tag_id!r}",
                where={"stream": self._describe(), "called": str(site)},
                hint="call it on the stream that process() gave back, or that of a source with"
                " .on_error(tag)",
            )
        edge = Edge(operator, output_tag)
        coercion = build.add_coercion(self._env, edge, output_tag.type_info, site)
        return DataStream(self._env, (Edge(coercion) if coercion else edge,))

    # Windows of all records

    def window_all(self, window_assigner: WindowAssigner[Any, Any]) -> AllWindowedStream:
        """Group all records into windows, in one task."""
        from headrace.datastream._streams.windowed import AllWindowedStream

        return AllWindowedStream(self, window_assigner)

    def count_window_all(self, size: int, slide: int = 0) -> AllWindowedStream:
        """Group all records into windows of ``size`` records.

        With a ``slide``, a window of the last ``size`` records fires after every ``slide`` records.
        PyFlink has no such method. As in Flink for Java, all records are in one ``GlobalWindow``.
        """
        from headrace.datastream._streams.windowed import AllWindowedStream

        return AllWindowedStream._of_count(self, size, slide)

    def full_window_partition(self) -> PartitionWindowedStream:
        """Group all records of a bounded stream into one partition.

        PyFlink has no such method. In Flink for Java a function is called once for each subtask;
        here the records of all subtasks are one partition. A keyed stream has one for each key.
        """
        from headrace.datastream._streams.partition_window import PartitionWindowedStream

        return PartitionWindowedStream._of_all(self)

    # Between jobs

    def cache(self) -> CachedDataStream:
        """Store the records in the first job that computes them, so that later jobs read them.

        Only batch jobs store and read records; a streaming job computes them again. Timestamps are
        stored too.
        """
        # Imported on use, so that other programs start faster.
        from headrace.datastream._build.cache import CacheFolders

        site = call_site()
        kept = CacheFolders(self._env._configuration)
        node = CacheTransformation(self._edges, None, "Cache", site, self._type(), kept=kept)
        self._env._register(node)
        return CachedDataStream(self._env, (Edge(node),))

    # Internal methods

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
        added = self._new_operator(
            spec, site, call, output_type, kept_type=kept_type, inputs=inputs
        )
        return DataStream._from_operator(self._env, *added)

    @staticmethod
    def _from_operator(
        env: StreamExecutionEnvironment,
        node: Transformation,
        followers: tuple[Transformation, ...],
    ) -> DataStream:
        """Return the stream of an operator and the nodes that belong to it."""
        return DataStream(env, (Edge((node, *followers)[-1]),), node, followers)

    def _repartition(self, call: str, partitioning: Partitioning) -> DataStream:
        edges = tuple(Edge(edge.source, edge.tag, partitioning) for edge in self._edges)
        return DataStream(self._env, edges)


class CachedDataStream(DataStream):
    """A stream whose records are stored by the first job, and read by later jobs."""

    def invalidate(self) -> None:
        """Delete the stored records; the next job that needs them stores them again."""
        for edge in self._edges:
            if isinstance(edge.source, CacheTransformation):
                edge.source.kept.forget()

    def _get_operator(self, call: str) -> Transformation:
        raise PlanError(
            f"{call}() cannot act on a cached stream, which no operator makes in later jobs",
            where={"stream": self._describe()},
            hint=f"call {call}() on the stream before cache()",
        )


class KeyedStream(KeyedOperators, DataStream):
    """A stream after ``key_by``.

    Operators that need the key send the records to the task of their key (an exchange). Others
    (plain functions, and function objects without ``open``) run where the records are. The order
    of the records of each key is kept in both cases.
    """

    class AccumulateType(Enum):
        """The rolling aggregations that a keyed stream has."""

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

    # Windows

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> WindowedStream:
        """Group the records of each key into windows."""
        from headrace.datastream._streams.windowed import WindowedStream

        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream:
        """Group the records of each key into windows of ``size`` records.

        With a ``slide``, a new window begins after every ``slide`` records. As in PyFlink a window
        fires when it is full, so the first one has ``size`` records too.
        """
        from headrace.datastream._streams.windowed import WindowedStream

        return WindowedStream._of_count(self, size, slide)

    def full_window_partition(self) -> PartitionWindowedStream:
        """Group all records of each key into one partition, which ends with the input."""
        from headrace.datastream._streams.partition_window import PartitionWindowedStream

        return PartitionWindowedStream._of_keys(self)

    # With another keyed stream; records of equal keys meet

    def interval_join(self, other: KeyedStream) -> IntervalJoin:
        """Join records of two streams whose timestamps differ by an amount within bounds."""
        from headrace.datastream._streams.interval_join import IntervalJoin

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
        """Join each record with the latest record of the other stream at its time. Not in Flink.

        ``direction``: ``backward`` searches for the latest record that is not later, ``forward``
        for the earliest that is not earlier, ``nearest`` for the nearer of these two.
        ``tolerance``: the maximum distance of the timestamps. ``allow_exact_matches``: whether
        equal timestamps match. ``how``: a record without a match is joined with None (``left``), or
        dropped (``inner``).
        """
        from headrace.datastream._streams.as_of_join import AsOfJoin

        right = self._other_side(other, "as_of_join")
        return AsOfJoin.of(self, right, direction, tolerance, allow_exact_matches, how)

    # Refused

    def cache(self) -> CachedDataStream:
        """Raise PlanError: as in PyFlink, the cache of a keyed stream would not store keys.

        Raises:
            PlanError: always.
        """
        raise PlanError(
            "cache() cannot act on a keyed stream",
            where={"stream": self._describe()},
            hint="call cache() before key_by(), or on the stream after the next operator",
        )

    # Internal methods

    def _other_side(self, other: Any, call: str) -> KeyedStream:
        """Return the other stream of a join that requires keys on both sides."""
        check_other(self, other, DataStream, call_site(), call)
        if isinstance(other, KeyedStream):
            return other
        raise NotKeyedError(
            f"{call}() takes a keyed stream, and this one has no key",
            where={
                "stream": self._describe(),
                "other": other._describe(),
                "called": str(call_site()),
            },
            hint=".key_by(...) both streams",
        )

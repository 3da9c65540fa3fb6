"""How records are distributed over the subtasks of the next operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, overload

from headrace.common.typeinfo import Types
from headrace.datastream._build import nodes as build
from headrace.datastream._build.call_site import call_site
from headrace.datastream._build.keys import to_key_selector
from headrace.datastream._build.stream import Stream
from headrace.datastream._build.user_functions import to_user_function
from headrace.datastream._streams.broadcast import BroadcastStream, check_descriptors
from headrace.datastream.functions import KeySelector, NullByteKeySelector, Partitioner
from headrace.datastream.state import MapStateDescriptor
from headrace.graph.transformation import (
    Broadcast,
    ByKey,
    ByPartitioner,
    Edge,
    Forward,
    Partitioning,
    Rebalance,
    Rescale,
    Shuffle,
)
from headrace.runtime.user_function import UserFunction

if TYPE_CHECKING:
    from headrace.datastream.data_stream import DataStream


def to_one_key(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """Return edges to a keyed operator that give all records one key."""
    by_key = ByKey(UserFunction(NullByteKeySelector(), "get_key"), Types.BYTE())
    return tuple(Edge(edge.source, edge.tag, by_key) for edge in edges)


def _first(key: Any, num_partitions: int) -> int:
    return 0


class StreamPartitioning(Stream):
    """A stream whose records can be redistributed over subtasks."""

    def partition_custom(
        self,
        partitioner: Callable[[Any, int], int] | Partitioner,
        key_selector: Callable[[Any], Any] | KeySelector | int | str,
    ) -> DataStream:
        """Send each record to the subtask that the partitioner chooses for its key."""
        site, stream = call_site(), self._describe()
        function = to_user_function(
            partitioner, Partitioner, "partition", "partition_custom", stream, site
        )
        selector = to_key_selector(key_selector, "partition_custom", stream, site)
        for given in (function, selector):
            build.require_sendable(given, "partition_custom", stream, site)
        return self._repartition("partition_custom", ByPartitioner(function, selector))

    def rebalance(self) -> DataStream:
        """Distribute records over all subtasks, round robin."""
        return self._repartition("rebalance", Rebalance())

    def rescale(self) -> DataStream:
        """Distribute records over all subtasks, round robin; the same as ``rebalance``."""
        return self._repartition("rescale", Rescale())

    def shuffle(self) -> DataStream:
        """Distribute records over all subtasks, round robin rather than randomly.

        So a repeated micro-batch sends the same records to the same subtasks.
        """
        return self._repartition("shuffle", Shuffle())

    def global_(self) -> DataStream:
        """Send all records to the first subtask; Flink's Java API calls this ``global``."""
        everything = UserFunction(NullByteKeySelector(), "get_key")
        return self._repartition("global_", ByPartitioner(UserFunction(_first), everything))

    def forward(self) -> DataStream:
        """Keep each record in its subtask."""
        return self._repartition("forward", Forward())

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
        """Send each record to all subtasks.

        With descriptors, the result can be connected with another stream: the broadcast records
        then update the described states in all tasks of the other stream.
        """
        everywhere = self._repartition("broadcast", Broadcast())
        if broadcast_state_descriptor is None and not other_broadcast_state_descriptors:
            return everywhere
        given = (broadcast_state_descriptor, *other_broadcast_state_descriptors)
        return BroadcastStream(everywhere, check_descriptors(given, self._describe(), call_site()))

    def _repartition(self, call: str, partitioning: Partitioning) -> DataStream:
        """Return the same records over edges with this partitioning."""
        raise NotImplementedError

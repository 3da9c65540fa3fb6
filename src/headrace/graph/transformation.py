"""The nodes and edges of the logical graph: what a program says, not how it runs."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any, Protocol

from headrace.common._output_tag import OutputTag
from headrace.common.typeinfo import TypeInformation
from headrace.connector import Sink, Source
from headrace.runtime.operator import OperatorSpec
from headrace.runtime.user_function import UserFunction


@dataclass(frozen=True)
class CallSite:
    """The user's file and line that built a node."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Partitioning:
    """How records are distributed along an edge; Flink's partitioner."""

    label = "FORWARD"


@dataclass(frozen=True)
class Forward(Partitioning):
    """Keeps records in the same task, so the edge can be chained."""


@dataclass(frozen=True)
class ByKey(Partitioning):
    """Partitions by key: ``selector`` returns the key, its stable hash gives the key group."""

    selector: UserFunction
    key_type: TypeInformation | None = None
    label = "HASH"


@dataclass(frozen=True)
class Broadcast(Partitioning):
    """Sends every record to every task, once."""

    label = "BROADCAST"


@dataclass(frozen=True)
class Rebalance(Partitioning):
    """Round robin over all subtasks."""

    label = "REBALANCE"


@dataclass(frozen=True)
class Rescale(Partitioning):
    """Round robin over a subset of the subtasks."""

    label = "RESCALE"


@dataclass(frozen=True)
class Shuffle(Partitioning):
    """Distributes records to all subtasks, in no particular order."""

    label = "SHUFFLE"


@dataclass(frozen=True)
class ByPartitioner(Partitioning):
    """Partitions by a user's ``partition(key, num_partitions) -> index``."""

    partitioner: UserFunction
    selector: UserFunction
    label = "CUSTOM"


@dataclass(frozen=True, eq=False)
class Edge:
    """An input of a node: ``tag`` None is the main output of ``source``, else a side output.

    ``input``: the number of the node's input that gets the records; a union has one input.
    """

    source: Transformation
    tag: OutputTag | None = None
    partitioning: Partitioning = field(default_factory=Forward)
    input: int = 0


_ids = itertools.count(1)


@dataclass(eq=False)
class Transformation:
    """One node. ``spec`` is an ``OperatorSpec``; sources and sinks have subclasses below.

    The facade fills in name, uid, parallelism and chaining until the graph is compiled.
    """

    inputs: tuple[Edge, ...]
    spec: OperatorSpec | None
    name: str
    site: CallSite
    output_type: TypeInformation | None = None
    uid: str | None = None
    description: str | None = None
    parallelism: int | None = None
    max_parallelism: int | None = None
    starts_chain: bool = False
    """True: never chained to the node before it."""
    ends_chain: bool = False
    """True: nothing after it is chained to it."""
    id: int = field(default_factory=lambda: next(_ids))


@dataclass(eq=False)
class SourceTransformation(Transformation):
    """A node without inputs; ``source``: a connector's ``Source``, or a DataFrame wrapper.

    The watermark strategy passed to ``from_source`` is a separate transformation after it.
    """

    source: Any = None


@dataclass(eq=False)
class SinkTransformation(Transformation):
    """A node without outputs: ``sink`` is a connector's ``Sink``."""

    sink: Any = None


class KeptResult(Protocol):
    """The storage for a cached stream, from one job to the next."""

    def find_source(self) -> Source | None:
        """Return a source of the cached records; None if no job has cached the stream yet."""

    def create_sink(self) -> Sink:
        """Return a sink that caches the records of a job; they are valid once the job has ended."""

    def forget(self) -> None:
        """Delete the cached records."""


@dataclass(eq=False)
class CacheTransformation(Transformation):
    """A node whose records the first job keeps and later jobs read. No runner sees it.

    It has one input for each of its stream's edges (see ``graph.caches``). ``timestamps_id`` is the
    id of a second node in its place: ids rise from a node to those that it feeds.
    """

    kept: KeptResult = field(kw_only=True)
    timestamps_id: int = field(default_factory=lambda: next(_ids), kw_only=True)

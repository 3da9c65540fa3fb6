"""A job as the workers run it: plain, picklable data that the planner writes.

    JobProgram
    ├── sources   SourceProgram: a connector and the chain fused to it          (stage 0)
    ├── stages    one tuple of VertexProgram per exchange depth                 (stages 1, 2, …)
    └── sinks     SinkProgram                                                   (after the last)

A vertex is what runs between two exchanges: one head operator and the chain after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.connector import ExecutedBy
from headrace.runtime.block import ALL_GROUPS
from headrace.runtime.channel import Channel
from headrace.runtime.operator import NodeProgram
from headrace.runtime.pacing import Pace
from headrace.runtime.user_function import UserFunction


@dataclass(frozen=True)
class ExchangeProgram:
    """How records leave a vertex for another.

    ``target``: the id of the vertex. ``mode``: ``key``, ``custom``, ``round-robin``, ``forward`` or
    ``broadcast``. ``groups``: how many key groups (or subtasks) the target has; where all of them
    get every record, one stands for them. ``name`` and ``site`` are those of
    the stream that feeds it. ``input``: by which input of the target's operator the records come.
    ``combined``: a combiner before it may send records ``ValueWithKey``. ``columns``: it carries
    columns, where they come; in the mode ``key`` those named ``key_columns`` hold the key.
    """

    id: str
    target: str
    stage: int
    mode: str
    groups: int
    label: str
    name: str
    site: str
    selector: UserFunction | None = None
    partitioner: UserFunction | None = None
    key_type: Any = None
    input: int = 0
    combined: bool = False
    columns: bool = False
    key_columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class ChainProgram:
    """Operators that run in one task without an exchange between them; ``root`` comes first.

    ``columns``: the root is given columns, where there are any.
    """

    root: str
    nodes: Mapping[str, NodeProgram]
    exchanges: tuple[ExchangeProgram, ...]
    columns: bool = False

    @property
    def has_columns(self) -> bool:
        """Whether columns may be somewhere in the chain."""
        return self.columns or any(
            link.columns for node in self.nodes.values() for link in node.links
        )

    def order(self) -> list[str]:
        """Return the node ids in topological order."""
        seen: dict[str, None] = {}
        stack = [(self.root, self._fed_by(self.root))]  # depth first, however long the chain is
        while stack:
            node_id, fed = stack[-1]
            following = next((each for each in fed if each not in seen), None)
            if following is None:
                seen[node_id] = None
                stack.pop()
            else:
                stack.append((following, self._fed_by(following)))
        return list(seen)[::-1]

    def _fed_by(self, node_id: str) -> Iterator[str]:
        return (link.target for link in self.nodes[node_id].links if link.kind == "node")

    @property
    def assigns_time(self) -> bool:
        """True when some operator of the chain makes watermarks of its own."""
        return any(map(_assigns_time, self.nodes.values()))

    def nodes_with_new_watermarks(self) -> frozenset[str]:
        """Return the nodes that get, or make, watermarks of this chain's own."""
        return self._targets_of_new_watermarks() & {*self.nodes}

    def exchanges_with_new_watermarks(self) -> frozenset[str]:
        """Return the exchanges that watermarks made in this chain come to.

        The others get those of the chain's input, however many operators beside them make some.
        """
        return self._targets_of_new_watermarks() & {exchange.id for exchange in self.exchanges}

    def _targets_of_new_watermarks(self) -> frozenset[str]:
        found: set[str] = set()
        for node_id in self.order():
            node = self.nodes[node_id]
            if node_id in found or _assigns_time(node):
                found |= {node_id, *(link.target for link in node.links)}
        return frozenset(found)


def input_watermarks_key(node_id: str) -> str:
    """Return the name by which tasks remember the watermarks of a node's inputs."""
    return f"{node_id}/inputs"


def _assigns_time(node: NodeProgram) -> bool:
    return node.spec is not None and node.spec.traits.assigns_time


@dataclass(frozen=True)
class SourceProgram:
    """A source and its chain. ``source`` is None in the workers, who need its ``reader`` only.

    ``number``: its place among the sources, which orders the blocks of one task.
    """

    id: str
    name: str
    uid: str | None
    source: Any
    reader: Any
    chain: ChainProgram
    parallelism: int
    idle_timeout_ms: int | None = None
    alignment: tuple[str, int, int] | None = None
    one_task_per_split: bool = False
    bad_record_tag: str | None = None
    kind: str = ""
    number: int = 0


@dataclass(frozen=True)
class VertexProgram:
    """What stands after an exchange: ``groups`` key groups (``keyed``) or subtasks.

    ``id``: that of its head operator. ``number``: its place in the job, which orders senders.
    ``inputs``: by the id of an exchange, the number of the head's input; an exchange that is not in
    it leads to the first. ``broadcast``: the inputs of which every task gets each record.
    """

    id: str
    stage: int
    keyed: bool
    groups: int
    parallelism: int
    chain: ChainProgram
    input_channels: tuple[Channel, ...] = ()
    number: int = 0
    inputs: Mapping[str, int] = field(default_factory=dict)
    broadcast: frozenset[int] = frozenset()

    @property
    def has_operator_state(self) -> bool:
        """True where it keeps state of its instances, and not of keys."""
        root = self.chain.nodes.get(self.chain.root)
        return root is not None and root.spec is not None and root.spec.traits.operator_state

    def max_parallelism_of(self, group: int) -> int:
        """Return the number of key groups for a group's state; 1 for broadcast state."""
        return self.groups if group != ALL_GROUPS else 1


@dataclass(frozen=True)
class SinkProgram:
    """A sink."""

    id: str
    name: str
    uid: str | None
    sink: Any
    parallelism: int = 1
    output_type: Any = None
    site: str = ""

    @property
    def keeps_state(self) -> bool:
        """True when it may hold records back between micro-batches."""
        return self.sink.executed_by is ExecutedBy.TASKS and self.sink.keeps_state

    @property
    def node(self) -> NodeProgram:
        """The node that an error of its encoder names."""
        return NodeProgram(self.id, self.name, self.uid, self.site, None, (), "sink")


@dataclass(frozen=True)
class SinkPlaceholder:
    """Stands for a sink where nothing is written: it knows neither an address nor a password."""

    executed_by: ExecutedBy
    record_encoder: None = None


@dataclass(frozen=True)
class Settings:
    """What a task must know of the job's configuration.

    ``capture_dir``: where failed calls of keyed tasks are written to; empty: nowhere.
    ``value_bytes``: how large a value in state may be on Spark.
    ``drain``: whether a source that stops ends event time (``runtime.stops``).
    """

    object_reuse: bool = False
    chunk_records: int = 4096
    flush_records: int = 65_536
    page_bytes: int = 16_384
    value_bytes: int = 64 << 20
    max_records: int = 2_000_000
    max_bytes: int = 256 << 20
    pace: Pace | None = None
    tick_ms: int = 200
    capture_dir: str = ""
    drain: bool = True
    job_parameters: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class JobProgram:
    """Everything a worker needs.

    ``run_id`` differs for every start of the job; ``scope`` for every new checkpoint, and where a
    job goes on from an older copy of one, so that a sink never takes one run's micro-batch for a
    repetition of another's. ``partitions``: Spark's, for every keyed stage. ``fingerprint`` differs
    if exchanges, stages or numbers of groups do. ``changes``: how often another program took the
    job's state over. A task that finds another ``identity`` in its state sends all watermarks
    again.
    """

    name: str
    run_id: str
    sources: tuple[SourceProgram, ...]
    stages: tuple[tuple[VertexProgram, ...], ...]
    sinks: tuple[SinkProgram, ...]
    settings: Settings
    parallelism: int
    batch: bool = False
    needs_ticks: bool = False
    fingerprint: str = ""
    scope: str = ""
    partitions: int = 1
    changes: int = 0

    @property
    def identity(self) -> str:
        """The fingerprint, and the number of changes.

        A program that comes back after another one is no longer the same: tasks that the other one
        did not have kept the state that they had before, and their receivers heard of others.
        """
        return f"{self.fingerprint}-{self.changes}" if self.changes else self.fingerprint

    def following(self, identity: str, copied: bool = False) -> JobProgram:
        """Return this program as the successor of the one with ``identity`` (empty: unknown).

        ``copied``: the state was taken from elsewhere, where others may have run on it since.
        """
        before, _, changes = identity.partition("-")
        changed = bool(before) and (copied or before != self.fingerprint)
        return replace(self, changes=int(changes or 0) + changed)

    @property
    def chains(self) -> list[ChainProgram]:
        """The chains of its sources, then those of its stages."""
        chains = [source.chain for source in self.sources]
        return chains + [vertex.chain for stage in self.stages for vertex in stage]

    def with_chains(self, change: Callable[[ChainProgram], ChainProgram]) -> JobProgram:
        """Return the same program with another chain in place of each."""
        sources = (replace(source, chain=change(source.chain)) for source in self.sources)
        stages = (
            tuple(replace(vertex, chain=change(vertex.chain)) for vertex in stage)
            for stage in self.stages
        )
        return replace(self, sources=tuple(sources), stages=tuple(stages))

    @property
    def operators(self) -> list[NodeProgram | SinkProgram]:
        """Its sources, operators and sinks; each after those that feed it."""
        nodes = (chain.nodes[each] for chain in self.chains for each in chain.order())
        return [*nodes, *self.sinks]

    def exchanges_to(self, vertex: VertexProgram) -> frozenset[str]:
        """Return the ids of the exchanges that lead to a vertex."""
        exchanges = (each for chain in self.chains for each in chain.exchanges)
        return frozenset(each.id for each in exchanges if each.target == vertex.id)

    @property
    def sink_stage(self) -> int:
        """The stage number of sinks: greater than every operator's."""
        return len(self.stages) + 1

    def sink_id(self, sink: SinkProgram) -> str:
        """Return the id of a sink in its files and markers."""
        return "-".join(filter(None, (sink.id, self.scope)))

    def for_workers(self) -> JobProgram:
        """Return the same without what only the driver needs (a collection's values, say)."""
        return replace(self, sources=tuple(replace(s, source=None) for s in self.sources))

    def for_replay(self) -> JobProgram:
        """Return the program for the replay of a keyed task's call: without sources and sinks."""
        sources = (replace(source, source=None, reader=None) for source in self.sources)
        sinks = (replace(sink, sink=SinkPlaceholder(sink.sink.executed_by)) for sink in self.sinks)
        return replace(self, sources=tuple(sources), sinks=tuple(sinks))

    @property
    def connectors(self) -> list[Any]:
        """Its sources, readers and sinks."""
        sources = [part for source in self.sources for part in (source.source, source.reader)]
        return [*sources, *(sink.sink for sink in self.sinks)]

    def sink(self, sink_id: str) -> SinkProgram:
        """Return the sink of an id."""
        return next(sink for sink in self.sinks if sink.id == sink_id)

    def vertex(self, vertex_id: str) -> VertexProgram:
        """Return the vertex of an id."""
        return next(v for stage in self.stages for v in stage if v.id == vertex_id)

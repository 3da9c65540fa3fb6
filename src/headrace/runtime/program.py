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
    """An exchange: how records are sent from a task to a vertex.

    ``target``: the id of the vertex. ``mode``: ``key``, ``custom``, ``round-robin``, ``forward`` or
    ``broadcast``. ``groups``: the number of the target's key groups or subtasks; 1 for broadcast.
    ``name`` and ``site``: those of the stream before the exchange. ``input``: the number of the
    target operator's input. ``combined``: whether a combiner may send ``ValueWithKey``.
    ``columns``: whether it may carry columns. ``key_columns``: the columns of the key, in the mode
    ``key``.
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
    """Operators that run in one task, without an exchange between them; ``root`` is the first.

    ``columns``: whether the root gets columns, if there are any.
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

    @property
    def label(self) -> str:
        """The names of the operators, in topological order."""
        return " -> ".join(self.nodes[each].name for each in self.order())

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
        """Whether an operator of the chain has a watermark generator."""
        return any(map(_assigns_time, self.nodes.values()))

    def nodes_with_new_watermarks(self) -> frozenset[str]:
        """Return the nodes that generate watermarks, or get those generated in this chain."""
        return self._targets_of_new_watermarks() & {*self.nodes}

    def exchanges_with_new_watermarks(self) -> frozenset[str]:
        """Return the exchanges that get watermarks generated in this chain.

        All others get the watermarks of the chain's input.
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
    """A source and the operators chained to it.

    ``source``: None in workers, which need only its ``reader``. ``number``: its position among the
    sources, which orders the blocks of a task.
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


def _distributes_all(source: SourceProgram) -> bool:
    chain = source.chain
    exchanges = {exchange.id: exchange for exchange in chain.exchanges}
    seen, waiting = {chain.root}, [chain.root]
    while waiting:
        node_id = waiting.pop()
        for link in chain.nodes[node_id].links:
            if node_id == chain.root and link.tag is not None and link.tag == source.bad_record_tag:
                continue
            if link.kind == "sink":
                return False
            if link.kind == "exchange" and exchanges[link.target].mode == "forward":
                return False
            if link.kind == "node" and link.target not in seen:
                seen.add(link.target)
                waiting.append(link.target)
    return True


@dataclass(frozen=True)
class VertexProgram:
    """The operators after an exchange, run by ``groups`` key groups (``keyed``) or subtasks.

    ``id``: that of its first operator. ``number``: its position in the job, which orders senders.
    ``inputs``: the number of the first operator's input, by exchange id; 0 for exchanges that are
    missing. ``broadcast``: the numbers of the inputs whose records every task gets.
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
        """Whether it has operator state, which belongs to subtasks and not to keys."""
        root = self.chain.nodes.get(self.chain.root)
        return root is not None and root.spec is not None and root.spec.traits.operator_state

    def max_parallelism_of(self, group: int) -> int:
        """Return the number of key groups for a group's state; 1 for broadcast state."""
        return self.groups if group != ALL_GROUPS else 1


@dataclass(frozen=True)
class SinkProgram:
    """A sink, with the declared type of its records (``output_type``)."""

    id: str
    name: str
    uid: str | None
    sink: Any
    parallelism: int = 1
    output_type: Any = None
    site: str = ""

    @property
    def keeps_state(self) -> bool:
        """Whether it may hold records back between micro-batches."""
        return self.sink.executed_by is ExecutedBy.TASKS and self.sink.keeps_state

    @property
    def node(self) -> NodeProgram:
        """The node that an error of its encoder names."""
        return NodeProgram(self.id, self.name, self.uid, self.site, None, (), "sink")


@dataclass(frozen=True)
class SinkPlaceholder:
    """A sink without address and password, for programs that write nothing (replays)."""

    executed_by: ExecutedBy
    record_encoder: None = None


@dataclass(frozen=True)
class Settings:
    """The part of the job's configuration that tasks use.

    ``capture_dir``: the folder for failed calls of keyed tasks; empty: do not capture.
    ``value_bytes``: the maximum size of a stored value in state on Spark. ``drain``: whether a
    source that stops sends the final watermark (Flink's stop with drain). ``tick_ms``: the interval
    of ticks, which send the processing time to all groups. ``pace``: the limits of the ``Pacer``;
    None: each micro-batch has at most ``max_records``. ``log_levels``: by logger; empty: the root.
    ``stop_ms``: how long a job that ends may take to complete its micro-batch. ``moved_classes``:
    the places of classes by their earlier places. ``allow_pickles``: whether a savepoint may have
    objects of any class. ``accept_bounds``: whether joins may have wider bounds than before.
    ``drop_partial_matches``: whether patterns may have other stages than before.
    ``queryable``: the uids of the operators whose state is queried. ``queryable_bytes``: how much
    state the driver keeps for queries. ``query_share``: the share of a core that they may take.
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
    stop_ms: int = 20_000
    moved_classes: dict[str, str] = field(default_factory=dict)
    allow_pickles: bool = False
    accept_bounds: bool = False
    drop_partial_matches: bool = False
    queryable: tuple[str, ...] = ()
    queryable_bytes: int = 256 << 20
    query_share: float = 0.5
    job_parameters: dict[str, str] = field(default_factory=dict)
    log_levels: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class JobProgram:
    """The plan of a job, as workers run it.

    ``run_id`` is new at each start of the job. ``scope`` is new for each checkpoint, and if a job
    resumes from an older copy of a checkpoint: it is a part of sink ids, so that a sink never
    confuses micro-batches of two runs. ``partitions``: Spark's number of partitions of every keyed
    stage. ``fingerprint``: a hash of exchanges, stages and numbers of groups. ``changes``: how
    often another program has taken over the job's state. A task whose state has another
    ``identity`` sends all watermarks again.
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
    commit_interval_ms: int | None = None
    fingerprint: str = ""
    scope: str = ""
    partitions: int = 1
    changes: int = 0

    @property
    def identity(self) -> str:
        """The fingerprint, and the number of changes.

        A program that runs again after another one gets a new identity: meanwhile some of its tasks
        kept their state, but their receivers may have changed.
        """
        return f"{self.fingerprint}-{self.changes}" if self.changes else self.fingerprint

    def as_successor_of(self, identity: str, copied: bool = False) -> JobProgram:
        """Return this program as the successor of the one with ``identity`` (empty: unknown).

        ``copied``: the state was taken from elsewhere, where others may have run on it since.
        """
        before, _, changes = identity.partition("-")
        changed = bool(before) and (copied or before != self.fingerprint)
        return replace(self, changes=int(changes or 0) + changed)

    @property
    def is_one_task(self) -> bool:
        """Whether one task of Spark reads, runs all keyed stages and writes, without a shuffle.

        A shuffle would make a stage of its own, with a task and a Python process, for one reader. A
        user's DataFrame is read in as many tasks as Spark chooses.
        """
        alone = self.parallelism == 1 and self.partitions == 1
        return alone and bool(self.stages) and not self.batch and not self.has_dataframes

    @property
    def may_read_in_fewer_tasks(self) -> bool:
        """Whether a stream may have fewer source tasks than its parallelism.

        Fewer tasks must change nothing but where the chains of the sources run. False if a sink or
        an operator gets records from the source task alone, without an exchange that distributes
        them: fewer tasks would make it less parallel, too. Bad records do not count.
        """
        if self.batch or self.parallelism == 1 or not self.stages:
            return False
        return all(map(_distributes_all, self.sources))

    @property
    def has_dataframes(self) -> bool:
        """Whether Spark reads or writes DataFrames in the job."""
        connectors = [*(each.source for each in self.sources), *(each.sink for each in self.sinks)]
        return any(each is not None and each.executed_by is ExecutedBy.SPARK for each in connectors)

    @property
    def chains(self) -> list[ChainProgram]:
        """The chains of its sources, then those of its stages."""
        chains = [source.chain for source in self.sources]
        return chains + [vertex.chain for stage in self.stages for vertex in stage]

    def with_chains(self, change: Callable[[ChainProgram], ChainProgram]) -> JobProgram:
        """Return a copy of the program whose chains are replaced."""
        sources = (replace(source, chain=change(source.chain)) for source in self.sources)
        stages = (
            tuple(replace(vertex, chain=change(vertex.chain)) for vertex in stage)
            for stage in self.stages
        )
        return replace(self, sources=tuple(sources), stages=tuple(stages))

    @property
    def operators(self) -> list[NodeProgram | SinkProgram]:
        """The sources, operators and sinks, in topological order."""
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

    @property
    def locators(self) -> list[str]:
        """The paths, topics and tables of its sources and sinks."""
        return [getattr(each, "locator", "") for each in self.connectors]

    def sink(self, sink_id: str) -> SinkProgram:
        """Return the sink of an id."""
        return next(sink for sink in self.sinks if sink.id == sink_id)

    def vertex(self, vertex_id: str) -> VertexProgram:
        """Return the vertex of an id."""
        return next(v for stage in self.stages for v in stage if v.id == vertex_id)

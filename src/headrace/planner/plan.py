"""From the logical graph to the program that the workers run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from headrace.common._options.catalogue import DEFAULT_MAX_PARALLELISM
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.connector import ExecutedBy
from headrace.graph.changelog import changelog_modes
from headrace.graph.identity import identities
from headrace.graph.stream_graph import StreamGraph
from headrace.graph.transformation import (
    Broadcast,
    ByKey,
    ByPartitioner,
    Edge,
    Forward,
    Partitioning,
    Rebalance,
    SinkTransformation,
    SourceTransformation,
    Transformation,
)
from headrace.operators.timestamps import uses_max_timestamp_only
from headrace.planner.columns import with_columns, without_columns
from headrace.planner.combining import with_combiners
from headrace.planner.final_results import with_final_results
from headrace.planner.placement import operators_in_own_task
from headrace.runtime.channel import ALL_TASKS, Channel
from headrace.runtime.operator import Link, NodeProgram
from headrace.runtime.program import (
    ChainProgram,
    ExchangeProgram,
    JobProgram,
    Settings,
    SinkProgram,
    SourceProgram,
    VertexProgram,
)


@dataclass(frozen=True)
class PlanOptions:
    """What the planner takes from the configuration."""

    name: str
    parallelism: int
    max_parallelism: int = DEFAULT_MAX_PARALLELISM
    chaining: bool = True
    batch: bool = False
    combining: bool = True
    columns: bool = True
    settings: Settings = field(default_factory=Settings)


@dataclass
class _Draft:
    """A vertex (or source) while the plan is made."""

    head: Transformation
    number: int
    exchanges: list[ExchangeProgram] = field(default_factory=list)
    nodes: dict[str, NodeProgram] = field(default_factory=dict)
    stage: int = 0
    feeds: list[tuple[str, _Draft]] = field(default_factory=list)
    fed_by: dict[Transformation, _Draft] = field(default_factory=dict)


def plan(graph: StreamGraph, options: PlanOptions) -> JobProgram:
    """Return the program of a graph, after all passes."""
    program = _Planner(graph, options).program()
    for improve in PASSES:
        if improve is with_columns and not options.columns:
            program = without_columns(program)
        elif options.combining or improve is not with_combiners:
            program = improve(program)
    return program


class _Planner:
    """Walks from the sources along the edges, cutting vertices at the exchanges."""

    def __init__(self, graph: StreamGraph, options: PlanOptions) -> None:
        self._graph = graph
        self._options = options
        self._ids = identities(graph.nodes)
        self._modes = changelog_modes(graph.nodes)
        self._vertices: dict[Transformation, _Draft] = {}
        self._consumers: dict[Transformation, list[tuple[Edge, Transformation]]] = {}
        for node in graph.nodes:
            for edge in node.inputs:
                self._consumers.setdefault(edge.source, []).append((edge, node))
        self._apart: frozenset[Transformation] = frozenset()
        self._apart = operators_in_own_task(
            graph, lambda edge, node: self._find_partitioning(edge, node) is not None
        )

    def program(self) -> JobProgram:
        """Return the whole program."""
        sources = [_Draft(source, index) for index, source in enumerate(self._graph.sources)]
        for draft in sources:
            self._fill_all(draft)
        self._set_stages(sources)
        options = self._options
        vertices = [self._build_vertex(draft) for draft in self._vertices.values()]
        depth = max((vertex.stage for vertex in vertices), default=0)
        stages = tuple(
            tuple(vertex for vertex in vertices if vertex.stage == stage)
            for stage in range(1, depth + 1)
        )
        return JobProgram(
            name=options.name,
            run_id="",
            sources=tuple(self._build_source(draft) for draft in sources),
            stages=stages,
            sinks=tuple(self._build_sink(sink) for sink in self._graph.sinks),
            settings=options.settings,
            parallelism=options.parallelism,
            batch=options.batch,
            needs_ticks=self._needs_ticks(),
            commit_interval_ms=self._commit_interval_ms(),
        )

    def _fill_all(self, draft: _Draft) -> None:
        """Fill in a draft and all drafts downstream of it, depth first, without recursion."""
        at_work = [self._fill_one(draft)]
        while at_work:
            fed = next(at_work[-1], None)
            if fed is None:
                at_work.pop()
            else:
                at_work.append(self._fill_one(fed))

    def _fill_one(self, draft: _Draft) -> Iterator[_Draft]:
        """Fill in a draft; yield each new draft downstream, to be filled in at once."""
        pending, seen = [draft.head], {draft.head}
        while pending:
            node = pending.pop(0)
            links: list[Link] = []
            for edge, target in self._consumers.get(node, []):
                tag = edge.tag.tag_id if edge.tag is not None else None
                if isinstance(target, SinkTransformation):
                    links.append(Link("sink", self._ids.nodes[target], tag))
                    continue
                partitioning = self._find_partitioning(edge, target)
                if partitioning is None:
                    links.append(Link("node", self._ids.nodes[target], tag, edge.input))
                    if target not in seen:
                        seen.add(target)
                        pending.append(target)
                else:
                    if target not in self._vertices:
                        self._vertices[target] = _Draft(target, len(self._vertices))
                        yield self._vertices[target]
                    exchange = self._connect(draft, edge, target, partitioning)
                    links.append(Link("exchange", exchange, tag, edge.input))
            spec = node.spec
            node_id = self._ids.nodes[node]
            draft.nodes[node_id] = NodeProgram(
                *(node_id, node.name, node.uid, str(node.site), spec, tuple(links)),
                gives=self._modes[node],
                description=node.description or "",
            )

    def _find_partitioning(self, edge: Edge, target: Transformation) -> Partitioning | None:
        """Return the partitioning of an edge; None if its records stay in the task."""
        if isinstance(edge.partitioning, ByKey) and not self._is_keyed(target):
            # Without keyed state downstream it makes no difference where a record is processed.
            return None if self._can_chain(edge, target) else Forward()
        partitioning = partitioning_of(edge, target)
        if not isinstance(partitioning, Forward):
            return partitioning
        return None if self._can_chain(edge, target) else partitioning

    def _can_chain(self, edge: Edge, target: Transformation) -> bool:
        """Return whether an operator may run in the same task as the source of its edge."""
        if target.starts_chain or edge.source.ends_chain or target in self._apart:
            return False
        return self._options.chaining

    @staticmethod
    def _is_keyed(node: Transformation) -> bool:
        return node.spec is not None and node.spec.traits.keyed

    def _count_groups(self, node: Transformation) -> int:
        if self._is_keyed(node):
            return node.max_parallelism or self._options.max_parallelism
        return parallelism_of(node) or self._options.parallelism

    def _connect(
        self, draft: _Draft, edge: Edge, target: Transformation, partitioning: Partitioning
    ) -> str:
        """Add an exchange from a draft to the vertex of ``target``; return the exchange's id."""
        vertex = self._vertices[target]
        exchange_id = self._ids.exchange(edge, target, draft.head)
        draft.feeds.append((exchange_id, vertex))
        vertex.fed_by[draft.head] = draft
        draft.exchanges.append(
            ExchangeProgram(
                id=exchange_id,
                target=self._ids.nodes[target],
                stage=0,
                mode=_mode_name(partitioning),
                groups=1 if isinstance(partitioning, Broadcast) else self._count_groups(target),
                label=partitioning.label,
                name=edge.source.name,
                site=str(target.site),
                selector=getattr(partitioning, "selector", None),
                partitioner=getattr(partitioning, "partitioner", None),
                key_type=getattr(partitioning, "key_type", None),
                input=edge.input,
            )
        )
        return exchange_id

    def _set_stages(self, sources: list[_Draft]) -> None:
        pending = list(sources)
        while pending:
            draft = pending.pop(0)
            for _, fed in draft.feeds:
                if fed.stage <= draft.stage:
                    fed.stage = draft.stage + 1
                    pending.append(fed)
        self._stages = {self._ids.nodes[head]: made.stage for head, made in self._vertices.items()}

    def _build_chain(self, draft: _Draft) -> ChainProgram:
        exchanges = tuple(replace(e, stage=self._stages[e.target]) for e in draft.exchanges)
        return ChainProgram(self._ids.nodes[draft.head], draft.nodes, exchanges)

    def _sort_key(self, draft: _Draft) -> tuple[bool, int]:
        """Return the sort key of a draft: vertices in the order of discovery, then sources."""
        return draft.head not in self._vertices, draft.number

    def _build_vertex(self, draft: _Draft) -> VertexProgram:
        """Return the program of a draft's vertex."""
        channels: list[Channel] = []
        for feeder in sorted(draft.fed_by.values(), key=self._sort_key):
            feeding = [exchange for exchange, fed in feeder.feeds if fed is draft]
            if feeder.head in self._vertices:
                timed = self._build_chain(feeder).exchanges_with_new_watermarks()
                groups: Sequence[int] = range(self._count_groups(feeder.head))
            elif _is_dataframe(feeder.head):
                timed, groups = frozenset(feeding), [ALL_TASKS]
            else:
                continue
            for exchange in feeding:
                if exchange in timed:
                    channels.extend(Channel(exchange, group=group) for group in groups)
                else:
                    channels.append(Channel(exchange))
        return VertexProgram(
            id=self._ids.nodes[draft.head],
            stage=draft.stage,
            keyed=self._is_keyed(draft.head),
            groups=self._count_groups(draft.head),
            parallelism=parallelism_of(draft.head) or self._options.parallelism,
            chain=self._build_chain(draft),
            input_channels=tuple(channels),
            number=draft.number,
            inputs=self._input_numbers(draft),
            broadcast=frozenset(
                edge.input for edge in draft.head.inputs if isinstance(edge.partitioning, Broadcast)
            ),
        )

    def _input_numbers(self, draft: _Draft) -> dict[str, int]:
        """Return the input number by exchange id; empty if the operator has one input."""
        spec = draft.head.spec
        if spec is None or spec.traits.inputs == 1:
            return {}
        mine = self._ids.nodes[draft.head]
        return {
            exchange.id: exchange.input
            for feeder in draft.fed_by.values()
            for exchange in feeder.exchanges
            if exchange.target == mine
        }

    def _build_source(self, draft: _Draft) -> SourceProgram:
        """Return the program of a draft's source."""
        head = draft.head
        assert isinstance(head, SourceTransformation)
        chain = self._build_chain(draft)
        strategies = [
            node.spec.strategy  # type: ignore[attr-defined]
            for node in chain.nodes.values()
            if node.spec is not None and node.spec.traits.assigns_time
        ]
        idle = [s.idle_timeout_ms for s in strategies if s.idle_timeout_ms is not None]
        aligned = [s.alignment for s in strategies if s.alignment is not None]
        tag = getattr(head.source, "bad_record_tag", None)
        return SourceProgram(
            id=self._ids.nodes[head],
            name=head.name,
            uid=head.uid,
            source=head.source,
            reader=None if _is_dataframe(head) else head.source.reader(),
            chain=chain,
            parallelism=head.parallelism or self._options.parallelism,
            idle_timeout_ms=min(idle) if idle else None,
            alignment=aligned[0] if aligned else None,
            one_task_per_split=not all(_can_merge_ranges(s) for s in strategies),
            bad_record_tag=tag.tag_id if tag is not None else None,
            kind=head.source.kind,
            number=draft.number,
        )

    def _build_sink(self, sink: SinkTransformation) -> SinkProgram:
        return SinkProgram(
            id=self._ids.nodes[sink],
            name=sink.name,
            uid=sink.uid,
            sink=sink.sink,
            parallelism=parallelism_of(sink) or self._options.parallelism,
            output_type=sink.inputs[0].source.output_type if sink.inputs else None,
            site=str(sink.site),
        )

    def _needs_ticks(self) -> bool:
        specs = [node.spec for node in self._graph.nodes if node.spec is not None]
        strategies = [getattr(spec, "strategy", None) for spec in specs]
        return any(spec.traits.processing_timers for spec in specs) or any(
            strategy is not None and strategy.idle_timeout_ms is not None for strategy in strategies
        )

    def _commit_interval_ms(self) -> int | None:
        wanted = [sink.sink.commit_interval_ms for sink in self._graph.sinks]
        return min((each for each in wanted if each is not None), default=None)


def parallelism_of(node: Transformation) -> int | None:
    """Return the parallelism that was set for a node, or for what feeds it; None: the job's."""
    while node.parallelism is None and node.inputs:
        # After an exchange an operator has the job's parallelism, not that of what feeds it.
        edge = node.inputs[0]
        if not isinstance(edge.partitioning, Forward):
            return None
        node = edge.source
    return node.parallelism


def partitioning_of(edge: Edge, target: Transformation) -> Partitioning:
    """Return the partitioning: the program's, or round robin if the parallelism changes."""
    if not isinstance(edge.partitioning, Forward) or isinstance(target, SinkTransformation):
        return edge.partitioning
    if target.parallelism is None:
        return edge.partitioning
    before = parallelism_of(edge.source)
    changes = before is not None and before != target.parallelism
    return Rebalance() if changes else edge.partitioning


def _can_merge_ranges(strategy: WatermarkStrategy) -> bool:
    """Return True if tasks may read ranges of one split in parallel, merging by the maximum."""
    return uses_max_timestamp_only(type(strategy.create_generator()))


def _is_dataframe(node: Transformation) -> bool:
    return isinstance(node, SourceTransformation) and node.source.executed_by is ExecutedBy.SPARK


def _mode_name(partitioning: Partitioning) -> str:
    if isinstance(partitioning, ByKey):
        return "key"
    if isinstance(partitioning, ByPartitioner):
        return "custom"
    if isinstance(partitioning, Broadcast):
        return "broadcast"
    return "forward" if isinstance(partitioning, Forward) else "round-robin"


def with_fingerprint(program: JobProgram) -> JobProgram:
    """Set the program's fingerprint: a hash of exchanges, stages and numbers of groups."""
    lines = [
        f"{e.id} {e.mode} {e.groups} {e.stage}" for chain in program.chains for e in chain.exchanges
    ]
    lines += [
        f"{vertex.id} {vertex.stage} {vertex.groups} {vertex.input_channels}"
        for stage in program.stages
        for vertex in stage
    ]
    digest = hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()
    return replace(program, fingerprint=digest[:16])


Pass = Callable[[JobProgram], JobProgram]
PASSES: tuple[Pass, ...] = (with_fingerprint, with_final_results, with_combiners, with_columns)

__all__ = ["PASSES", "PlanOptions", "plan", "with_fingerprint"]

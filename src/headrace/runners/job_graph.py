"""The graph of a job for observers: operators, vertices and edges, as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headrace.runtime.program import ChainProgram, JobProgram


@dataclass(frozen=True)
class OperatorInfo:
    """An operator, source or sink (``kind``) of a running job.

    ``vertex``: the id of the vertex that runs it. ``site``: the line of the user's program.
    ``keyed``: whether it has state by key.
    """

    id: str
    name: str
    uid: str | None
    kind: str
    vertex: str
    parallelism: int
    site: str = ""
    keyed: bool = False


@dataclass(frozen=True)
class VertexInfo:
    """Operators that run in one task. The first one is a source, a sink, or follows an exchange.

    ``id``: that of the first operator. ``stage``: 0 for sources. ``operators``: ids, in order.
    """

    id: str
    name: str
    stage: int
    parallelism: int
    max_parallelism: int
    operators: tuple[str, ...]


@dataclass(frozen=True)
class EdgeInfo:
    """An edge between two operators, by their ids.

    ``label``: how records are sent: ``CHAINED`` within a task, otherwise the exchange's label.
    ``tag``: the id of a side output; None for the main output. ``input``: that of the target.
    """

    source: str
    target: str
    label: str
    tag: str | None = None
    input: int = 0

    @property
    def chained(self) -> bool:
        """Whether records stay in their task."""
        return self.label == CHAINED


CHAINED = "CHAINED"
_TO_SINK = "FORWARD"


@dataclass(frozen=True)
class JobGraph:
    """The graph of a job, in topological order."""

    operators: tuple[OperatorInfo, ...]
    vertices: tuple[VertexInfo, ...]
    edges: tuple[EdgeInfo, ...]

    def operator(self, operator_id: str) -> OperatorInfo:
        """Return the operator of an id."""
        return next(each for each in self.operators if each.id == operator_id)

    def vertex(self, vertex_id: str) -> VertexInfo:
        """Return the vertex of an id."""
        return next(each for each in self.vertices if each.id == vertex_id)


def job_graph(program: JobProgram) -> JobGraph:
    """Return the graph of a program as it runs, with the operators that the planner has added."""
    operators: list[OperatorInfo] = []
    vertices: list[VertexInfo] = []
    edges: list[EdgeInfo] = []

    def add(chain: ChainProgram, stage: int, parallelism: int, groups: int) -> None:
        order = chain.order()
        for node_id in order:
            node = chain.nodes[node_id]
            is_source = not stage and node_id == chain.root
            kind = "source" if is_source else "operator"
            keyed = node.spec is not None and node.spec.traits.state
            operators.append(
                OperatorInfo(
                    *(node_id, node.name, node.uid, kind, chain.root, parallelism),
                    *(node.site, keyed),
                )
            )
        vertices.append(
            VertexInfo(chain.root, chain.label, stage, parallelism, groups, tuple(order))
        )
        edges.extend(_edges_of(chain))

    for source in program.sources:
        add(source.chain, 0, source.parallelism, source.parallelism)
    for number, stage in enumerate(program.stages, 1):
        for vertex in stage:
            add(vertex.chain, number, min(vertex.parallelism, vertex.groups), vertex.groups)
    for sink in program.sinks:
        operators.append(
            OperatorInfo(
                *(sink.id, sink.name, sink.uid, "sink", sink.id, sink.parallelism, sink.site)
            )
        )
        vertices.append(
            VertexInfo(
                *(sink.id, sink.name, program.sink_stage, sink.parallelism, sink.parallelism),
                (sink.id,),
            )
        )
    return JobGraph(tuple(operators), tuple(vertices), tuple(edges))


def _edges_of(chain: ChainProgram) -> Iterator[EdgeInfo]:
    exchanges = {exchange.id: exchange for exchange in chain.exchanges}
    for node_id, node in chain.nodes.items():
        for link in node.links:
            if link.kind == "exchange":
                exchange = exchanges[link.target]
                yield EdgeInfo(node_id, exchange.target, exchange.label, link.tag, exchange.input)
            else:
                label = _TO_SINK if link.kind == "sink" else CHAINED
                yield EdgeInfo(node_id, link.target, label, link.tag, link.input)

"""The operators that need a task of their own."""

from __future__ import annotations

from collections.abc import Callable

from headrace.graph.stream_graph import StreamGraph
from headrace.graph.transformation import (
    Edge,
    SinkTransformation,
    SourceTransformation,
    Transformation,
)

Crosses = Callable[[Edge, Transformation], bool]
"""Whether an edge leads through an exchange to a node."""


def operators_in_own_task(graph: StreamGraph, crosses: Crosses) -> frozenset[Transformation]:
    """Return the operators that need a task of their own.

    An operator with one input is added to each chain upstream (a union has several). An operator
    with several inputs needs all of them in one task: if they come from different chains, or one
    comes by an exchange, all come by exchanges. An asynchronous operator is not chained to a keyed
    operator: key groups are processed one after another, so each would wait for its own calls.
    """
    found = set()
    chains: dict[Transformation, frozenset[Transformation]] = {}
    """By node, the heads of the chains that it is part of."""
    for node in graph.nodes:
        if isinstance(node, SourceTransformation):
            chains[node] = frozenset([node])
            continue
        if isinstance(node, SinkTransformation):
            continue
        feeding = {chains[edge.source] for edge in node.inputs if not crosses(edge, node)}
        heads = (
            next(iter(feeding))
            if len(feeding) == 1
            else frozenset[Transformation]().union(*feeding)
        )
        exchanged = any(crosses(edge, node) for edge in node.inputs)
        several = node.spec is not None and node.spec.traits.inputs > 1
        scattered = several and heads and (exchanged or len(heads) > 1)
        waits = node.spec is not None and node.spec.traits.calls_async
        if scattered or (waits and any(map(_is_keyed, heads))):
            found.add(node)
            heads, exchanged = frozenset(), True
        chains[node] = heads | {node} if exchanged else heads
    return frozenset(found)


def _is_keyed(node: Transformation) -> bool:
    return node.spec is not None and node.spec.traits.keyed

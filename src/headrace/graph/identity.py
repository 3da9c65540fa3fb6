"""The ids of a program's parts in checkpoints, equal in this program and in its later versions.

An operator's ``uid``, if it has one, is its id. Any other id is computed from what the operator is
(kind, name, function) and from the sources and stateful operators that feed it. Stateless steps
between them do not count, and neither does any other part of the program, so these may come and go.
Operators that would get the same id are numbered in the order of the program.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter

from headrace.graph.transformation import (
    Edge,
    SinkTransformation,
    SourceTransformation,
    Transformation,
)

_DIGITS = 12

Feeds = frozenset[tuple[str, tuple[str, ...]]]
"""The ids of the sources and stateful operators upstream, each with the way from there.

A way lists side outputs, and inputs other than an operator's first.
"""


@dataclass(frozen=True)
class Identities:
    """The ids of a graph's nodes, and the inputs of each node."""

    nodes: Mapping[Transformation, str]
    feeds: Mapping[Transformation, Feeds]
    _taken: dict[str, int]

    def exchange(self, edge: Edge, target: Transformation, head: Transformation) -> str:
        """Return a new id for an edge that leaves the task which begins with ``head``.

        One edge leaves several tasks where its source is chained in each of them. Source tasks send
        a watermark for each split, other tasks do not, so their exchanges have different ids.
        """
        tag = edge.tag.tag_id if edge.tag is not None else ""
        sender = "source" if isinstance(head, SourceTransformation) else "stage"
        digest = _hash_parts((str(edge.input), tag, sender, *_flatten_ids(self.feeds[head])))
        return _make_unique(f"{self.nodes[target]}/{digest}", self._taken)


def _edge_details(edge: Edge) -> Iterator[str]:
    """Yield texts that distinguish an edge from others between the same nodes."""
    if edge.tag is not None:
        yield edge.tag.tag_id
    if edge.input:
        yield f"input {edge.input}"


def _make_unique(wanted: str, taken: dict[str, int]) -> str:
    taken[wanted] = count = taken.get(wanted, 0) + 1
    return wanted if count == 1 else _make_unique(f"{wanted}~{count}", taken)


def identities(nodes: Iterable[Transformation]) -> Identities:
    """Return the ids of nodes, in the order in which the program created the nodes.

    So a node comes after those upstream. The order of ``nodes`` has no effect: it depends on the
    order of sinks and unions.
    """
    named: dict[Transformation, str] = {}
    feeds: dict[Transformation, Feeds] = {}
    taken: dict[str, int] = {}

    nodes = sorted(nodes, key=attrgetter("id"))
    taken.update((node.uid, 1) for node in nodes if node.uid is not None)
    for node in nodes:
        feeds[node] = fed = frozenset(
            (feeder, (*tags, *_edge_details(edge)))
            for edge in node.inputs
            for feeder, tags in feeds[edge.source]
        )
        node_id = named[node] = node.uid or _make_unique(_generate_id(node, fed), taken)
        keeps_state = node.spec is not None and node.spec.traits.keeps_state
        if isinstance(node, SourceTransformation) or keeps_state:
            feeds[node] = frozenset({(node_id, ())})
    return Identities(named, feeds, taken)


def _generate_id(node: Transformation, fed: Feeds) -> str:
    kind = _kind_of(node)
    return f"{kind}-{_hash_parts((kind, node.name, *_node_details(node, fed)))}"


def _kind_of(node: Transformation) -> str:
    if isinstance(node, SourceTransformation):
        return str(node.source.kind)
    if isinstance(node, SinkTransformation):
        return str(node.sink.kind)
    assert node.spec is not None, "only sources and sinks have no spec"
    return node.spec.kind


def _node_details(node: Transformation, fed: Feeds) -> tuple[str, ...]:
    """Return texts that distinguish a node from others of its kind and name."""
    if isinstance(node, SourceTransformation):
        return (node.source.locator,)
    if isinstance(node, SinkTransformation) and node.sink.locator:
        return (node.sink.locator,)
    functions = node.spec.functions if node.spec is not None else ()
    return (*(function.name for function in functions), "", *_flatten_ids(fed))


def _flatten_ids(fed: Feeds) -> list[str]:
    return [text for feeder, tags in sorted(fed) for text in (feeder, *tags, "")]


def _hash_parts(parts: Iterable[str]) -> str:
    # each part with its length, so that no two lists of parts read the same
    text = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]

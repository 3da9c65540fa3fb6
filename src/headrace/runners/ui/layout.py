"""Computes the layout of a job's graph: layers from left to right, with few crossings of edges.

The steps are those of Sugiyama's method. Layers follow the longest paths. An edge that crosses a
layer gets a place in it. The order in a layer follows the mean position of the neighbours. Heights
are chosen so that edges are nearly straight. Lengths are pixels at zoom 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headrace.runners.job_graph import EdgeInfo, JobGraph

CARD_WIDTH = 270.0
ROW_HEIGHT = 65.0
CARD_PADDING = 7.0
LAYER_GAP = 120.0
CARD_GAP = 24.0
_PASSING_HEIGHT = 26.0
_ORDER_SWEEPS = 12
_HEIGHT_SWEEPS = 16


@dataclass(eq=False)
class _Node:
    """A card, or the place where an edge crosses a layer (``card`` is False)."""

    layer: int
    height: float
    card: bool
    y: float = 0.0
    before: list[_Port] = field(default_factory=list)
    after: list[_Port] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class _Port:
    """A neighbour, with the heights at which the edge ends in the node and in the neighbour."""

    neighbour: _Node
    own_offset: float
    offset: float


@dataclass(frozen=True)
class Card:
    """The rectangle of a vertex."""

    vertex: str
    x: float
    y: float
    height: float


@dataclass(frozen=True)
class Layout:
    """All cards; ``routes``: the points of each edge, None for an edge within a card."""

    width: float
    height: float
    cards: tuple[Card, ...]
    routes: tuple[tuple[tuple[float, float], ...] | None, ...]


def lay_out(graph: JobGraph) -> Layout:
    """Compute the layout of a graph; the same graph always has the same layout."""
    rows = {
        operator: (vertex.id, index)
        for vertex in graph.vertices
        for index, operator in enumerate(vertex.operators)
    }
    outer = [edge for edge in graph.edges if rows[edge.source][0] != rows[edge.target][0]]
    layers_of = _layers([vertex.id for vertex in graph.vertices], outer, rows)
    nodes = {
        vertex.id: _Node(
            layers_of[vertex.id],
            len(vertex.operators) * ROW_HEIGHT + 2 * CARD_PADDING,
            card=True,
        )
        for vertex in graph.vertices
    }
    count = max(layers_of.values(), default=-1) + 1
    layers: list[list[_Node]] = [[] for _ in range(count)]
    for node in nodes.values():
        layers[node.layer].append(node)
    paths = [_connect(edge, nodes, rows, layers) for edge in outer]
    _order(layers)
    _set_heights(layers)
    top = min((node.y for layer in layers for node in layer), default=0.0)
    for layer in layers:
        for node in layer:
            node.y -= top
    routes = iter([_route(edge, path, rows) for edge, path in zip(outer, paths, strict=True)])
    kept = {id(edge) for edge in outer}
    return Layout(
        width=count * CARD_WIDTH + max(count - 1, 0) * LAYER_GAP,
        height=max((node.y + node.height for layer in layers for node in layer), default=0.0),
        cards=tuple(
            Card(vertex, _x_of(node.layer), node.y, node.height) for vertex, node in nodes.items()
        ),
        routes=tuple(next(routes) if id(edge) in kept else None for edge in graph.edges),
    )


def _x_of(layer: int) -> float:
    return layer * (CARD_WIDTH + LAYER_GAP)


def row_center(index: int) -> float:
    """Return the distance from the top of a card to the middle of an operator's row."""
    return CARD_PADDING + (index + 0.5) * ROW_HEIGHT


Rows = Mapping[str, tuple[str, int]]
"""By operator id: its vertex, and the index of its row in the vertex's card."""


def _layers(vertices: Sequence[str], edges: Sequence[EdgeInfo], rows: Rows) -> dict[str, int]:
    """Return the layer of each vertex: after all its inputs; sources directly before an output."""
    after: dict[str, set[str]] = {vertex: set() for vertex in vertices}
    before: dict[str, set[str]] = {vertex: set() for vertex in vertices}
    for edge in edges:
        source, target = rows[edge.source][0], rows[edge.target][0]
        after[source].add(target)
        before[target].add(source)
    left = {vertex: len(before[vertex]) for vertex in vertices}
    ready = [vertex for vertex in vertices if not left[vertex]]
    layers = dict.fromkeys(vertices, 0)
    while ready:
        vertex = ready.pop()
        for target in after[vertex]:
            layers[target] = max(layers[target], layers[vertex] + 1)
            left[target] -= 1
            if not left[target]:
                ready.append(target)
    for vertex in vertices:
        if not before[vertex] and after[vertex]:
            layers[vertex] = min(layers[target] for target in after[vertex]) - 1
    return layers


def _connect(
    edge: EdgeInfo, nodes: Mapping[str, _Node], rows: Rows, layers: list[list[_Node]]
) -> list[_Node]:
    """Add an edge to the nodes, with a node in each layer that it crosses; return its nodes."""
    (source, out_row), (target, in_row) = rows[edge.source], rows[edge.target]
    path = [nodes[source]]
    for layer in range(nodes[source].layer + 1, nodes[target].layer):
        passing = _Node(layer, _PASSING_HEIGHT, card=False)
        layers[layer].append(passing)
        path.append(passing)
    path.append(nodes[target])
    offsets = [row_center(out_row), *[_PASSING_HEIGHT / 2] * (len(path) - 2), row_center(in_row)]
    for at, (left, right) in enumerate(itertools.pairwise(path)):
        left.after.append(_Port(right, offsets[at], offsets[at + 1]))
        right.before.append(_Port(left, offsets[at + 1], offsets[at]))
    return path


def _order(layers: list[list[_Node]]) -> None:
    """Sort each layer by its neighbours' mean position; keep the order with fewest crossings."""
    best, crossings = [[*layer] for layer in layers], _count_crossings(layers)
    for sweep in range(_ORDER_SWEEPS):
        if not crossings:
            break
        forward = sweep % 2 == 0
        for layer in layers[1:] if forward else layers[-2::-1]:
            places = _places(layers)
            means: dict[int, float] = {}
            for place, node in enumerate(layer):
                ports = node.before if forward else node.after
                found = [places[id(port.neighbour)] + port.offset / 1e4 for port in ports]
                means[id(node)] = sum(found) / len(found) if found else float(place)
            layer.sort(key=lambda node: means[id(node)])
        found_crossings = _count_crossings(layers)
        if found_crossings < crossings:
            best, crossings = [[*layer] for layer in layers], found_crossings
    for layer, kept in zip(layers, best, strict=True):
        layer[:] = kept


def _places(layers: Sequence[Sequence[_Node]]) -> dict[int, int]:
    return {id(node): place for layer in layers for place, node in enumerate(layer)}


def _count_crossings(layers: Sequence[Sequence[_Node]]) -> int:
    places = _places(layers)
    crossings = 0
    for layer in layers:
        ends = [
            (place, port.own_offset, places[id(port.neighbour)], port.offset)
            for place, node in enumerate(layer)
            for port in node.after
        ]
        ends.sort()
        targets = [(place, offset) for _, _, place, offset in ends]
        for at, target in enumerate(targets):
            crossings += sum(other < target for other in targets[at + 1 :])
    return crossings


def _set_heights(layers: list[list[_Node]]) -> None:
    """Set the heights of all nodes: close to their neighbours' heights, without overlaps."""
    for layer in layers:
        y = 0.0
        for node in layer:
            node.y = y
            y += node.height + CARD_GAP
    for sweep in range(_HEIGHT_SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = [_wanted_height(node, sweep) for node in layer]
            _spread(layer, wanted)


def _wanted_height(node: _Node, sweep: int) -> float:
    ports = (node.before, node.after)[sweep % 2] or (node.after, node.before)[sweep % 2]
    if not ports:
        return node.y
    middles = [port.neighbour.y + port.neighbour.height / 2 for port in ports]
    return sum(middles) / len(middles) - node.height / 2


def _spread(layer: Sequence[_Node], wanted: Sequence[float]) -> None:
    """Move the nodes of a layer as close as possible to the wanted heights; keep their order.

    Nodes that would overlap form a block, which is placed at the mean of its wanted heights.
    """
    blocks: list[tuple[float, int]] = []  # the sum of the wanted heights, and the number of nodes
    starts: list[float] = []
    y = 0.0
    for node in layer:
        starts.append(y)
        y += node.height + CARD_GAP
    for at, height in enumerate(wanted):
        blocks.append((height - starts[at], 1))
        while len(blocks) > 1 and _mean(blocks[-2]) > _mean(blocks[-1]):
            (total, count), (more, others) = blocks[-2:]
            blocks[-2:] = [(total + more, count + others)]
    at = 0
    for block in blocks:
        for _ in range(block[1]):
            layer[at].y = _mean(block) + starts[at]
            at += 1


def _mean(block: tuple[float, int]) -> float:
    return block[0] / block[1]


def _route(edge: EdgeInfo, path: Sequence[_Node], rows: Rows) -> tuple[tuple[float, float], ...]:
    first, last = path[0], path[-1]
    points = [(_x_of(first.layer) + CARD_WIDTH, first.y + row_center(rows[edge.source][1]))]
    for node in path[1:-1]:
        y = node.y + node.height / 2
        points += [(_x_of(node.layer), y), (_x_of(node.layer) + CARD_WIDTH, y)]
    points.append((_x_of(last.layer), last.y + row_center(rows[edge.target][1])))
    return tuple((round(x, 1), round(y, 1)) for x, y in points)

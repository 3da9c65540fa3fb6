"""The graph is drawn in layers, without overlaps and with few crossings."""

from __future__ import annotations

import random
import time
from itertools import pairwise

import pytest

from headrace.runners.job_graph import CHAINED, EdgeInfo, JobGraph, OperatorInfo, VertexInfo
from headrace.runners.ui.layout import CARD_WIDTH, Layout, lay_out


def graph(edges: list[tuple[str, str]], rows: int = 1) -> JobGraph:
    """A graph of vertices with ``rows`` operators; edges go from the last one to the first one."""
    names = [*dict.fromkeys(name for edge in edges for name in edge)]
    operators = [f"{name}{row}" for name in names for row in range(rows)]
    return JobGraph(
        tuple(OperatorInfo(each, each, None, "operator", each[:-1], 1) for each in operators),
        tuple(
            VertexInfo(name, name, 0, 1, 1, tuple(f"{name}{row}" for row in range(rows)))
            for name in names
        ),
        (
            *(EdgeInfo(f"{a}{rows - 1}", f"{b}0", "HASH") for a, b in edges),
            *(EdgeInfo(f"{n}{r}", f"{n}{r + 1}", CHAINED) for n in names for r in range(rows - 1)),
        ),
    )


def check(found: Layout) -> None:
    columns: dict[float, list[tuple[float, float]]] = {}
    for card in found.cards:
        columns.setdefault(card.x, []).append((card.y, card.y + card.height))
        assert card.y >= 0 and card.y + card.height <= found.height
        assert card.x >= 0 and card.x + CARD_WIDTH <= found.width
    for spans in columns.values():
        assert all(end < start for (_, end), (start, _) in pairwise(sorted(spans)))
    for route in found.routes:
        if route is not None:
            assert all(left[0] < right[0] for left, right in pairwise(route))


def crossings(found: Layout) -> int:
    steps = [step for route in found.routes if route for step in pairwise(route)]
    return sum(
        (a[0], b[0]) == (c[0], d[0]) and (a[1] - c[1]) * (b[1] - d[1]) < 0
        for number, (a, b) in enumerate(steps)
        for c, d in steps[number + 1 :]
    )


def test_a_chain_is_a_straight_line() -> None:
    found = lay_out(graph([("a", "b"), ("b", "c")]))
    check(found)
    assert len({card.y for card in found.cards}) == 1


def test_sources_are_next_to_what_they_feed() -> None:
    found = lay_out(graph([("a", "b"), ("b", "c"), ("s", "c")]))
    check(found)
    x = {card.vertex: card.x for card in found.cards}
    assert x["s"] == x["b"] < x["c"]


def test_a_ladder_has_no_crossings() -> None:
    edges = [(f"a{n}", f"b{(7 * n) % 10}") for n in range(10)]
    edges += [(f"b{n}", f"c{(3 * n) % 10}") for n in range(10)]
    found = lay_out(graph(edges))
    check(found)
    assert crossings(found) == 0


def test_an_edge_over_several_layers_passes_between_the_cards() -> None:
    found = lay_out(graph([("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")], rows=3))
    check(found)
    route = found.routes[3]
    assert route is not None
    cards = {card.vertex: card for card in found.cards}
    for x, y in route[1:-1]:
        for name in ("b", "c"):
            card = cards[name]
            inside = card.x <= x <= card.x + CARD_WIDTH
            assert not (inside and card.y < y < card.y + card.height)


def test_chained_edges_have_no_route() -> None:
    found = lay_out(graph([("a", "b")], rows=2))
    assert [route is None for route in found.routes] == [False, True, True]


def test_an_empty_graph_has_no_size() -> None:
    assert lay_out(JobGraph((), (), ())).cards == ()


@pytest.mark.parametrize("seed", range(8))
def test_random_graphs_have_no_overlaps(seed: int) -> None:
    draw = random.Random(seed)
    names = [f"v{n}" for n in range(40)]
    edges = {
        (names[a], names[b])
        for b in range(1, 40)
        for a in draw.sample(range(max(0, b - 8), b), min(b, draw.randint(1, 2)))
    }
    check(lay_out(graph(sorted(edges), rows=draw.randint(1, 4))))


def test_two_hundred_operators_take_less_than_two_seconds() -> None:
    draw = random.Random(1)
    edges = [(f"v{draw.randrange(max(0, n - 12), n)}", f"v{n}") for n in range(1, 200)]
    began = time.perf_counter()
    found = lay_out(graph(edges))
    assert time.perf_counter() - began < 2
    check(found)

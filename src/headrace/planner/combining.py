"""Before a key exchange, records that would meet after it are put together where that is allowed.

An operator says itself whether it can do with less than every record (``OperatorSpec.combiner``).
Then each chain that feeds it gets one more node, before the exchange.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from headrace.runtime.operator import Combiner, Link, NodeProgram
from headrace.runtime.program import (
    ChainProgram,
    ExchangeProgram,
    JobProgram,
    SourceProgram,
    VertexProgram,
)

Combiners = Mapping[str, Combiner]
"""The combiner before each exchange, by exchange id."""

Feeder = TypeVar("Feeder", SourceProgram, VertexProgram)


def with_combiners(program: JobProgram) -> JobProgram:
    """Return the program with a combiner before each key exchange whose receiver has one."""
    exchanges = [exchange for chain in program.chains for exchange in chain.exchanges]
    leading: dict[str, list[ExchangeProgram]] = {}
    for exchange in exchanges:
        leading.setdefault(exchange.target, []).append(exchange)
    combiners: dict[str, Combiner] = {}
    for stage in program.stages:
        for vertex in stage:
            combiners.update(_find_combiners(leading.get(vertex.id, ()), vertex, program.batch))
    if not combiners:
        return program
    receivers = {
        exchange.target: combiners[exchange.id]
        for exchange in exchanges
        if exchange.id in combiners
    }
    stages = tuple(
        tuple(
            _set_receiver(_add_combiners(program, vertex, combiners), receivers) for vertex in stage
        )
        for stage in program.stages
    )
    sources = tuple(_add_combiners(program, source, combiners) for source in program.sources)
    return replace(program, sources=sources, stages=stages)


def _find_combiners(
    leading: Iterable[ExchangeProgram], vertex: VertexProgram, batch: bool
) -> Combiners:
    """Return the combiner before each exchange to a vertex; empty if one has none."""
    spec = vertex.chain.nodes[vertex.id].spec
    found: dict[str, Combiner] = {}
    for exchange in leading:
        combiner = None
        if spec is not None and exchange.mode == "key" and exchange.selector is not None:
            combiner = spec.combiner(exchange.selector, exchange.key_type, batch)
        if combiner is None:
            return {}
        found[exchange.id] = combiner
    return found


def _add_combiners(program: JobProgram, feeder: Feeder, combiners: Combiners) -> Feeder:
    """Return a source or vertex with combiners before its exchanges."""
    chain = feeder.chain
    nodes = {
        id_: replace(node, links=tuple(_reroute_link(link, combiners) for link in node.links))
        for id_, node in chain.nodes.items()
    }
    exchanges = []
    for exchange in chain.exchanges:
        combiner = combiners.get(exchange.id)
        if combiner is None:
            exchanges.append(exchange)
            continue
        name = program.vertex(exchange.target).chain.nodes[exchange.target].name
        link = Link("exchange", exchange.id, None, exchange.input)
        node = NodeProgram(
            *(_combiner_id(exchange.id), f"{combiner.spec.label} for {name}", None, exchange.site),
            *(combiner.spec, (link,)),
        )
        nodes[node.id] = node
        exchanges.append(replace(exchange, combined=combiner.sends_partials))
    changed = ChainProgram(chain.root, nodes, tuple(exchanges))
    return replace(feeder, chain=changed)


def _reroute_link(link: Link, combiners: Combiners) -> Link:
    if link.kind == "exchange" and link.target in combiners:
        return Link("node", _combiner_id(link.target), link.tag)
    return link


def _combiner_id(exchange: str) -> str:
    return f"{exchange}/combine"


def _set_receiver(vertex: VertexProgram, receivers: Combiners) -> VertexProgram:
    """Set the vertex's operator to the one that merges partial results, if there is a combiner."""
    combiner = receivers.get(vertex.id)
    if combiner is None:
        return vertex
    chain = vertex.chain
    root = replace(chain.nodes[chain.root], spec=combiner.receiver)
    return replace(vertex, chain=replace(chain, nodes={**chain.nodes, chain.root: root}))

"""Where records travel as columns, and where columns become records.

Columns go along a link if what gives the records may have them as columns, and what gets them takes
columns. An operator that can pass columns on counts as taking them only where something after it
does: otherwise records are made early, by the source, which is cheaper. The worker does what the
links say.
"""

from __future__ import annotations

from dataclasses import replace

from headrace.connector import ExecutedBy
from headrace.runtime.columns.selectors import key_columns
from headrace.runtime.operator import Link, NodeProgram
from headrace.runtime.program import (
    ChainProgram,
    ExchangeProgram,
    JobProgram,
    SinkProgram,
    SourceProgram,
)


def with_columns(program: JobProgram) -> JobProgram:
    """Return the program whose links say where columns go."""
    return _Columns(program).program()


def without_columns(program: JobProgram) -> JobProgram:
    """Return the program without columns; its links say where columns would be possible."""

    def chain(old: ChainProgram) -> ChainProgram:
        nodes = {
            node_id: replace(node, links=(*map(_without_columns, node.links),))
            for node_id, node in old.nodes.items()
        }
        exchanges = tuple(replace(e, columns=False, key_columns=()) for e in old.exchanges)
        return replace(old, nodes=nodes, exchanges=exchanges, columns=False)

    return with_columns(program).with_chains(chain)


def _without_columns(link: Link) -> Link:
    return replace(
        link, columns=False, rows_because="columns are turned off" if link.columns else ""
    )


class _Columns:
    """Decides which links carry columns.

    Consumers of columns are found upstream from the sinks, producers downstream from the sources.
    """

    def __init__(self, program: JobProgram) -> None:
        self._program = program
        self._sinks = {sink.id: sink for sink in program.sinks}
        self._vertices = {vertex.id: vertex for stage in program.stages for vertex in stage}
        self._taking: set[str] = set()
        """The nodes that take columns, or pass them on to something that does."""
        self._given: set[str] = set()
        """The nodes that are given columns."""
        self._passing: set[str] = set()
        """The nodes that would pass columns on, but nothing after them takes any."""
        for vertex in reversed(self._vertices.values()):
            self._find_takers(vertex.chain)
        for source in program.sources:
            self._find_takers(source.chain)

    def program(self) -> JobProgram:
        """Return the program whose links say where columns go."""
        if not self._taking:
            return self._program
        sources = tuple(
            replace(each, chain=self._set_chain_columns(each.chain, has_columns(each)))
            for each in self._program.sources
        )
        stages = tuple(
            tuple(
                replace(each, chain=self._set_chain_columns(each.chain, each.id in self._given))
                for each in stage
            )
            for stage in self._program.stages
        )
        return replace(self._program, sources=sources, stages=stages)

    # What takes columns

    def _find_takers(self, chain: ChainProgram) -> None:
        exchanges = {exchange.id: exchange for exchange in chain.exchanges}
        for node_id in reversed(chain.order()):
            node = chain.nodes[node_id]
            if self._can_take_columns(node, chain, exchanges):
                self._taking.add(node_id)

    def _can_take_columns(
        self, node: NodeProgram, chain: ChainProgram, exchanges: dict[str, ExchangeProgram]
    ) -> bool:
        if node.spec is not None and node.spec.traits.takes_columns:
            return True
        if node.spec is not None and not node.spec.traits.passes_columns:
            return False
        links = (link for link in node.links if link.tag is None)
        return any(self._find_obstacle(link, chain, exchanges) == "" for link in links)

    def _find_obstacle(
        self, link: Link, chain: ChainProgram, exchanges: dict[str, ExchangeProgram]
    ) -> str:
        """Return the reason why a link's target takes no columns; empty if it takes them."""
        if link.kind == "sink":
            return _find_sink_obstacle(self._sinks.get(link.target))
        if link.kind == "node":
            return "" if link.target in self._taking else _why_rows(chain.nodes[link.target])
        exchange = exchanges[link.target]
        vertex = self._vertices[exchange.target]
        if exchange.target not in self._taking:
            return _why_rows(vertex.chain.nodes[vertex.id])
        if exchange.mode == "broadcast" and vertex.keyed:
            return "what is broadcast has no keys"
        if exchange.mode == "custom":
            return "a partitioner is called with each record"
        if exchange.mode == "key" and not key_columns_of_exchange(exchange):
            return "the key is computed from each record"
        return ""

    # What gives columns

    def _set_chain_columns(self, chain: ChainProgram, begins: bool) -> ChainProgram:
        """Set the links that columns may use; ``begins``: whether the chain's input has columns."""
        exchanges = {exchange.id: exchange for exchange in chain.exchanges}
        root = chain.root in self._taking and begins
        if root:
            self._given.add(chain.root)
        nodes: dict[str, NodeProgram] = {}
        for node_id in chain.order():
            node = chain.nodes[node_id]
            gives = self._may_emit_columns(node)
            if node_id == chain.root and node.spec is None and begins and not gives:
                self._passing.add(node_id)
            links = [
                self._set_columns(node, link, chain, exchanges, gives)
                if link.tag is None or (gives and node.spec and node.spec.traits.side_columns)
                else link
                for link in node.links
            ]
            nodes[node_id] = replace(node, links=(*links,))
            for link in links:
                if link.columns and link.kind != "sink":
                    target = link.target
                    if link.kind == "exchange":
                        exchange = exchanges[target]
                        target = exchange.target
                    self._given.add(target)
        carrying = {
            link.target
            for node in nodes.values()
            for link in node.links
            if link.columns and link.kind == "exchange"
        }
        ends = tuple(
            replace(each, columns=True, key_columns=key_columns_of_exchange(each))
            if each.id in carrying
            else each
            for each in chain.exchanges
        )
        return replace(chain, nodes=nodes, exchanges=ends, columns=root)

    def _may_emit_columns(self, node: NodeProgram) -> bool:
        if node.spec is None:
            return node.id in self._given
        traits = node.spec.traits
        return traits.gives_columns or (
            node.id in self._given and (traits.takes_columns or traits.passes_columns)
        )

    def _set_columns(
        self,
        node: NodeProgram,
        link: Link,
        chain: ChainProgram,
        exchanges: dict[str, ExchangeProgram],
        gives: bool,
    ) -> Link:
        """Return the link, set to carry columns or with the reason why not.

        ``gives``: whether the node may emit columns.
        """
        if not gives and node.id not in self._passing:
            return link
        obstacle = self._find_obstacle(link, chain, exchanges)
        if obstacle and link.kind == "node" and _passes_columns(chain.nodes[link.target]):
            self._passing.add(link.target)  # the reason is further on
            return link
        if gives and not obstacle:
            return replace(link, columns=True)
        if gives and link.kind == "sink" and can_send_columns(self._sinks.get(link.target)):
            # They become records in the sink's task: columns are sent for less.
            return replace(link, columns=True, rows_because=obstacle)
        return replace(link, rows_because=obstacle)


def _why_rows(node: NodeProgram) -> str:
    return (node.spec.why_rows if node.spec is not None else "") or f"{node.name} takes records"


def _passes_columns(node: NodeProgram) -> bool:
    return node.spec is not None and node.spec.traits.passes_columns


def _find_sink_obstacle(sink: SinkProgram | None) -> str:
    if sink is not None and can_send_columns(sink) and sink.sink.takes_columns:
        return ""
    return f"the sink {sink.name if sink is not None else ''} takes records"


def can_send_columns(sink: SinkProgram | None) -> bool:
    """Return whether a sink's task takes columns: it must have no encoder of single records."""
    return (
        sink is not None
        and sink.sink.executed_by is ExecutedBy.TASKS
        and sink.sink.record_encoder is None
    )


def has_columns(source: SourceProgram) -> bool:
    """Return whether a source may emit columns: its reader can, or it is a DataFrame."""
    return source.reader is None or bool(source.reader.has_columns)


def key_columns_of_exchange(exchange: ExchangeProgram) -> tuple[str, ...]:
    """Return the key columns of an exchange; empty if keys must be computed from records."""
    if exchange.mode != "key" or exchange.selector is None:
        return ()
    return key_columns(exchange.selector, exchange.key_type) or ()

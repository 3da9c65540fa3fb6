"""The ways that columns take through a chain, beside those of rows.

An operator that takes columns gets columns. Before any other operator the records are made, once,
and go on as rows. A chain takes columns at its root only where they are of use: where an operator
or an exchange that takes them comes before any that does not.
"""

from __future__ import annotations

from headrace.runtime.chain.build import ChainParts
from headrace.runtime.columns.batch import Columns, PushColumns
from headrace.runtime.columns.exchange import ColumnsEndpoint
from headrace.runtime.columns.sinks import SinkEndpoint
from headrace.runtime.operator import Link, NodeProgram


class ColumnPaths:
    """The functions that take columns, made from the ends of a chain to its root.

    ``push``: takes columns at the root; None where the chain is given rows.
    """

    def __init__(self, parts: ChainParts) -> None:
        self._parts = parts
        nodes = parts.program.nodes
        self._wanted: dict[str, bool] = {}
        for node_id in reversed(parts.program.order()):
            self._wanted[node_id] = self._wants(nodes[node_id])
        for node_id in reversed(parts.program.order()):
            if self._wanted[node_id] and nodes[node_id].spec is not None:
                outputs = parts.outputs(nodes[node_id])
                outputs.columns = self._after(nodes[node_id])
                outputs.wants_columns = any(map(self._is_wanted_by, nodes[node_id].links))
        root = nodes[parts.program.root]
        self.push: PushColumns | None = None
        if self._wanted[root.id] and not (root.spec and root.spec.traits.keyed):
            self.push = self._after(root) if root.spec is None else self._into_operator(root)

    def _wants(self, node: NodeProgram) -> bool:
        """True when a node takes columns, or passes them on to a node or exchange that does."""
        if node.spec is not None and node.spec.traits.inputs > 1:
            return False
        if node.spec is not None and node.spec.traits.takes_columns:
            return True
        passes_on = node.spec is None or node.spec.traits.passes_columns
        return passes_on and any(map(self._is_wanted_by, node.links))

    def _is_wanted_by(self, link: Link) -> bool:
        if link.tag is not None:
            return False
        if link.kind == "exchange":
            return isinstance(self._parts.exchanges[link.target], ColumnsEndpoint)
        return link.kind == "node" and self._wanted[link.target]

    def _after(self, node: NodeProgram) -> PushColumns:
        """A function that takes the columns that a node emits."""
        # As with rows: exchanges and sinks before operators.
        links = sorted(node.links, key=lambda link: link.kind == "node")
        pushes = [self._into(link) for link in links if link.tag is None]
        tally = self._parts.counts.tally(node.id)
        if len(pushes) == 1 and tally is None:
            return pushes[0]

        def push(columns: Columns) -> None:
            if tally is not None:
                tally.n += len(columns)
            for each in pushes:
                each(columns)

        return push

    def _into(self, link: Link) -> PushColumns:
        parts, rows = self._parts, self._parts.rows_into(link)
        if self._is_wanted_by(link):
            if link.kind == "node":
                return self._into_operator(parts.program.nodes[link.target])
            endpoint = parts.exchanges[link.target]
            assert isinstance(endpoint, ColumnsEndpoint)
            return lambda columns: endpoint.push_columns(columns, rows)
        sink = parts.sinks.get(link.target) if link.kind == "sink" else None
        if isinstance(sink, SinkEndpoint):
            return sink.push_columns
        return lambda columns: rows(columns.rows(), columns.timestamps and [*columns.timestamps])

    def _into_operator(self, node: NodeProgram) -> PushColumns:
        take = self._parts.operators[node.id].bind_columns(self._parts.outputs(node))

        def push(columns: Columns, node: NodeProgram = node) -> None:
            # ``annotate`` finds the operator by the variable ``node``.
            take(columns)

        return push

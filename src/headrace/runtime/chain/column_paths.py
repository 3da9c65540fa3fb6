"""The ways that columns take through a chain, beside those of rows.

The plan says along which links columns go (``planner.columns``). Where they end, the records are
made, once, and go on as rows.
"""

from __future__ import annotations

from headrace.runtime.chain.build import ChainBuilder
from headrace.runtime.columns.batch import Columns, PushColumns
from headrace.runtime.columns.exchange import ColumnExchangeWriter
from headrace.runtime.columns.keyed_exchange import KeyedColumnExchangeWriter
from headrace.runtime.columns.sinks import ColumnSinkWriter
from headrace.runtime.operator import Link, NodeProgram


class ColumnPaths:
    """The functions that process columns in a chain, created from its ends to its root.

    ``pushes``: a push of columns for each input of the root; empty if the root gets rows, or
    columns with keys.
    """

    def __init__(self, builder: ChainBuilder) -> None:
        self._builder = builder
        self._into_nodes: dict[str, tuple[PushColumns, ...]] = {}
        program = builder.program
        for node_id in reversed(program.order()):
            node = program.nodes[node_id]
            if node.spec is not None:
                self._set_outputs(node)
        root = program.nodes[program.root]
        self.pushes: tuple[PushColumns, ...] = ()
        if program.columns and root.spec is None:
            self.pushes = (self._push_after(root, None),)
        elif program.columns and root.spec is not None and not root.spec.traits.keyed:
            self.pushes = self._push_into_operator(root)

    def _set_outputs(self, node: NodeProgram) -> None:
        # What takes columns may emit columns: where rows are wanted, they are made in one go.
        emits = node.spec is not None and node.spec.traits.takes_columns
        tags = dict.fromkeys(link.tag for link in node.links if link.columns or emits)
        if not tags:
            return
        outputs = self._builder.outputs(node)
        if None in tags:
            outputs.columns = self._push_after(node, None)
            outputs.wants_columns = any(
                link.columns and not link.rows_because for link in node.links if link.tag is None
            )
        outputs.columns_by_side = {
            tag: self._push_after(node, tag) for tag in tags if tag is not None
        }

    def _push_after(self, node: NodeProgram, tag: str | None) -> PushColumns:
        """Return a function that takes the columns that a node emits."""
        # As with rows: exchanges and sinks before operators.
        links = sorted(node.links, key=lambda link: link.kind == "node")
        pushes = [self._push_into_link(link) for link in links if link.tag == tag]
        tally = self._builder.counts.tally(node.id, tag)
        if len(pushes) == 1 and tally is None:
            return pushes[0]

        def push(columns: Columns) -> None:
            if tally is not None:
                tally.count += len(columns)
            for each in pushes:
                each(columns)

        return push

    def _push_into_link(self, link: Link) -> PushColumns:
        builder, rows = self._builder, self._builder.push_rows_into(link)
        if not link.columns:
            return lambda columns: rows(*columns.rows_to_send())
        if link.kind == "node":
            return self._push_into_operator(builder.program.nodes[link.target])[link.input]
        if link.kind == "sink":
            sink = builder.sinks[link.target]
            assert isinstance(sink, ColumnSinkWriter)
            return sink.push_columns
        writer = builder.exchanges[link.target]
        assert isinstance(writer, ColumnExchangeWriter | KeyedColumnExchangeWriter)
        return lambda columns: writer.push_columns(columns, rows)

    def _push_into_operator(self, node: NodeProgram) -> tuple[PushColumns, ...]:
        """Return the functions that take columns for each input of an operator."""
        made = self._into_nodes.get(node.id)
        if made is None:
            operator, outputs = self._builder.operators[node.id], self._builder.outputs(node)
            takes = operator.bind_columns_inputs(outputs)
            made = self._into_nodes[node.id] = tuple(_at_node(take, node) for take in takes)
        return made


def _at_node(take: PushColumns, node: NodeProgram) -> PushColumns:
    def push(columns: Columns, node: NodeProgram = node) -> None:
        # ``annotate`` finds the operator by the variable ``node``.
        take(columns)

    return push

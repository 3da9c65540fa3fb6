"""A hierarchy's document as a tree for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text
from rich.tree import Tree

_COLOURS = {
    "NEW": "cyan",
    "PARTIALLY_FILLED": "yellow",
    "FILLED": "green",
    "CANCELLED": "magenta",
    "CANCELLED_BY_PARENT": "magenta",
    "REJECTED": "red",
}


def hierarchy_tree(document: Mapping[str, Any]) -> Tree:
    """Return the orders of a document (``OrderDocument.to_json``), children below their parents."""
    title = Text(f"{document['root']} v{document['version']}", style="bold")
    client = document["client"] or "client unknown"
    title.append(f"  {document['instrument_id']} {document['currency']}  {client}", "dim")
    tree = Tree(title)
    nodes: dict[str | None, Tree] = {None: tree}
    for order in document["orders"]:
        nodes[order["order_id"]] = nodes[order["parent"]].add(_format_order(order))
    return tree


def _format_order(order: Mapping[str, Any]) -> Text:
    line = Text(" → ".join(order["ids"]))
    line.append(f"  {order['side']} {order['quantity']} @ {order['price']}", "bold")
    executed = f"  cum {order['cum_qty']}"
    if order["avg_px"] is not None:
        executed += f" at {order['avg_px']}"
    if order["executed_below"] != "0":
        executed += f"  below {order['executed_below']}"
    line.append(executed)
    status = order["status"]
    line.append(f"  {status}", _COLOURS[status])
    executions = order["executions"]
    if executions:
        busted = sum(execution["busted"] for execution in executions)
        line.append(f"  {len(executions)} execution{'s' * (len(executions) > 1)}", "dim")
        if busted:
            line.append(f", {busted} busted", "dim red")
    return line

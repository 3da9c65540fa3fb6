"""Calls of functions in the tree of a query."""

from __future__ import annotations

from sqlglot import exp


def call_name(node: exp.Expr) -> str | None:
    """Return the name of the function that a node calls, as it is written; None: it is no call."""
    if not isinstance(node, exp.Anonymous):
        return None
    name = node.this
    return str(name.name if isinstance(name, exp.Identifier) else name)

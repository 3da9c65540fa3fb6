"""Operators of the Table API that a user-defined function replaces, as in Flink.

A temporary system function replaces the built-in function with its name. In the Table API operators
are such functions: ``plus`` replaces ``+``. In SQL they are not.
"""

from __future__ import annotations

from sqlglot import exp

from headrace.sql.dialect.nodes import FunctionCall
from headrace.sql.python_function import Functions, PythonFunction

NAMES: dict[type[exp.Expr], str] = {
    exp.Add: "plus",
    exp.Sub: "minus",
    exp.Mul: "times",
    exp.Div: "divide",
    exp.Mod: "mod",
    exp.Neg: "minusPrefix",
    exp.EQ: "equals",
    exp.NEQ: "notEquals",
    exp.GT: "greaterThan",
    exp.GTE: "greaterThanOrEqual",
    exp.LT: "lessThan",
    exp.LTE: "lessThanOrEqual",
    exp.And: "and",
    exp.Or: "or",
    exp.Not: "not",
}
"""The names that Flink gives operators."""


def with_functions_of_user(tree: exp.Expr, functions: Functions) -> exp.Expr:
    """Return a tree of the Table API with user-defined functions in place of operators."""
    found = {
        kind: function
        for kind, name in NAMES.items()
        if (function := functions.system_function(name)) is not None and function.kind == "scalar"
    }
    if not found:
        return tree

    def change(node: exp.Expr) -> exp.Expr:
        function = _function_of(node, found)
        if function is None:
            return node
        sides = [each for each in (node.this, node.args.get("expression")) if each is not None]
        return FunctionCall(this=function, expressions=[each.unnest() for each in sides])

    return tree.transform(change)


def _function_of(
    node: exp.Expr, found: dict[type[exp.Expr], PythonFunction]
) -> PythonFunction | None:
    return next((each for kind, each in found.items() if isinstance(node, kind)), None)

"""Calls of functions of users over whole rows, as trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from headrace.errors import SqlValidationError
from headrace.sql.dialect.nodes import FunctionCall
from headrace.table._api.selecting import expanded, trees_of
from headrace.table._expressions.trees import column
from headrace.table._functions.wrappers import UserDefinedFunctionWrapper


def call_of(function: Any, names: Sequence[str], method: str) -> exp.Expr:
    """Return the call that a method was given: an expression, or a function of whole rows.

    ``names``: the columns of the table.
    """
    if not isinstance(function, UserDefinedFunctionWrapper):
        (tree,) = expanded(trees_of([function], method), names)
        return tree
    call: exp.Expr = FunctionCall(
        this=function._definition(), expressions=[*map(column, names)], row_names=tuple(names)
    )
    return _named(call, function._alias_names) if function._alias_names else call


def _named(call: exp.Expr, names: tuple[str, ...]) -> exp.Expr:
    made = exp.alias_(call, names[0], quoted=True, copy=False)
    made.meta["names"] = names
    return made


def lateral_of(tree: exp.Expr, method: str) -> exp.Lateral:
    """Return the table of a call, with the names of its alias.

    Raises:
        SqlValidationError: it is no call.
    """
    names: Sequence[str] = ()
    if isinstance(tree, exp.Alias):
        names = tree.meta.get("names", (tree.alias,))
        tree = tree.this
    if not isinstance(tree, FunctionCall | exp.Anonymous | exp.Dot):
        raise SqlValidationError(f"{method}() takes the call of a table function: {tree.sql()}")
    columns = [exp.Identifier(this=name, quoted=True) for name in names]
    return exp.Lateral(this=tree, alias=exp.TableAlias(columns=columns))

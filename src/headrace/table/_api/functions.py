"""Calls of functions of users over whole rows, as trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from headrace.errors import SqlValidationError
from headrace.sql.calls import resolve_call
from headrace.sql.dialect.nodes import FunctionCall, WindowBorder
from headrace.sql.python_function import Functions
from headrace.sql.rel import Calc, Column, Rel, Unnest, reference
from headrace.sql.types import ArrayType, RowType
from headrace.table._api.selecting import expanded, trees_of
from headrace.table._expressions.trees import column
from headrace.table._functions.wrappers import UserDefinedFunctionWrapper

RESULT = "$result"
"""The column of what an aggregate function gives."""

UNNAMED = "TMP_0"
"""Flink's name for a result of ``aggregate`` without a name."""

BORDER = "$border."
"""Begins the names of columns with borders of windows."""


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


def aggregate_call(
    function: Any, names: Sequence[str], method: str, functions: Functions
) -> tuple[exp.Expr, Sequence[str]]:
    """Return the call of an aggregate function, and the names of its results; empty: its own.

    ``functions``: those that ``call("name", …)`` may name.

    Raises:
        SqlValidationError: ``flat_aggregate`` is given another function than it takes.
    """
    tree = call_of(function, names, method)
    given: Sequence[str] = ()
    if isinstance(tree, exp.Alias):
        tree, given = tree.this, tree.meta.get("names", (tree.alias,))
    if method == "flat_aggregate":
        if isinstance(tree, exp.Anonymous):
            path = (str(tree.this),)
            found = functions.system_function(path[0]) or functions.function(path)
            tree = FunctionCall(this=found, expressions=tree.expressions)
        called = tree.this if isinstance(tree, FunctionCall) else None
        if called is None or called.kind != "table aggregate":
            raise SqlValidationError("flat_aggregate() takes a call of what udtaf() returned")
        tree.set("this", replace(called, kind="aggregate"))
    return tree, given


def with_results(rel: Rel, names: Sequence[str]) -> Rel:
    """Return the rows with the fields of the last column, a result, as columns.

    Raises:
        SqlValidationError: there are more or fewer names than fields.
    """
    *kept, result = rel.columns
    fields = [reference(result)]
    own = [UNNAMED]
    if isinstance(result.type, RowType):
        parts = [each.name for each in result.type.fields]
        own = [f"{UNNAMED}${name}" for name in parts]
        fields = [resolve_call("FIELD", [reference(result)], (name,)) for name in parts]  # type: ignore[misc]
    if names and len(names) != len(own):
        raise SqlValidationError(f"{len(names)} names are given to {len(own)} results")
    columns = (*(each.name for each in kept), *(names or own))
    return Calc(rel, columns, (*map(reference, kept), *fields))


def with_result_rows(rel: Rel, names: Sequence[str]) -> Rel:
    """Return the rows once for each row of the last column, an array, with its fields as columns.

    Raises:
        SqlValidationError: there are more or fewer names than fields.
    """
    *kept, result = rel.columns
    assert isinstance(result.type, ArrayType) and isinstance(result.type.element, RowType)
    fields = result.type.element.fields
    if names and len(names) != len(fields):
        raise SqlValidationError(f"{len(names)} names are given to {len(fields)} results")
    given = (*(each.name for each in kept), *(names or (each.name for each in fields)))
    added = tuple(Column(f"{RESULT}.{place}", each.type) for place, each in enumerate(fields))
    unnested = Unnest(rel, reference(result), added, outer=False, ordinality=False)
    return Calc(unnested, given, tuple(map(reference, (*kept, *added))))


def borders_of(trees: Sequence[exp.Expr]) -> list[exp.Expr]:
    """Return the borders of windows in trees, each once, with the names of their columns."""
    found = {_border_name(each): each for tree in trees for each in tree.find_all(WindowBorder)}
    return [exp.alias_(each.copy(), name, quoted=True) for name, each in found.items()]


def with_border_columns(tree: exp.Expr) -> exp.Expr:
    """Return a tree with columns in place of the borders of windows."""
    return tree.transform(
        lambda node: column(_border_name(node)) if isinstance(node, WindowBorder) else node
    )


def _border_name(node: exp.Expr) -> str:
    return f"{BORDER}{node.args['border']}"

"""Trees of SELECT over a relation that is known, with the names that the Table API gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlglot import exp

from headrace.errors import SqlValidationError
from headrace.sql.dialect.nodes import FunctionCall, PlanTable, TypeName, WindowBorder
from headrace.sql.rel import Rel
from headrace.sql.resolve.calls import call_name
from headrace.sql.resolve.grouping import aggregate_of
from headrace.table._expressions.trees import column, tree_of

WITH_COLUMNS, WITHOUT_COLUMNS, RANGE = "WITH_COLUMNS", "WITHOUT_COLUMNS", "$range"
"""Calls that stand for columns, and ``range_`` inside them."""


def select_of(rel: Rel, items: Sequence[exp.Expr] = (), **clauses: Any) -> exp.Select:
    """Return the tree of a SELECT over a relation; without items, of all its columns."""
    made = exp.Select(
        expressions=[*items] or [exp.Star()], from_=exp.From(this=PlanTable(this=rel))
    )
    for name, clause in clauses.items():
        made.set(name, clause)
    return made


def trees_of(fields: Iterable[Any], method: str) -> list[exp.Expr]:
    """Return the trees of a method's arguments.

    Raises:
        TypeError: one is not an Expression.
    """
    from headrace.table.expression import Expression

    trees = []
    for each in fields:
        if not isinstance(each, Expression):
            raise TypeError(f"{method}() takes Expressions such as col('a'), not {each!r}")
        trees.append(tree_of(each))
    return trees


def expanded(trees: Iterable[exp.Expr], names: Sequence[str]) -> Iterator[exp.Expr]:
    """Yield the trees, with columns in place of ``*``, with_columns() and without_columns()."""
    for tree in trees:
        kind = call_name(tree)
        if isinstance(tree, exp.Column) and tree.name == "*":
            chosen = [*names]
        elif kind == WITH_COLUMNS:
            chosen = _chosen(tree, names)
        elif kind == WITHOUT_COLUMNS:
            left_out = set(_chosen(tree, names))
            chosen = [name for name in names if name not in left_out]
        else:
            for call in tree.find_all(FunctionCall):
                call.set("expressions", [*expanded(call.expressions, names)])
            yield tree
            continue
        yield from map(column, chosen)


def _chosen(tree: exp.Expr, names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for each in tree.expressions:
        if isinstance(each, exp.Column) and each.name == "*":
            found += names
        elif call_name(each) == RANGE:
            first, last = (_place(end, names) for end in each.expressions)
            if last < first:
                raise SqlValidationError(
                    f"range_({first + 1}, {last + 1}): the end is before the start"
                )
            found += names[first : last + 1]
        else:
            found.append(names[_place(each, names)])
    return found


def _place(tree: exp.Expr, names: Sequence[str]) -> int:
    if isinstance(tree, exp.Literal) and not tree.is_string:
        place = int(tree.this) - 1
        if not 0 <= place < len(names):
            raise SqlValidationError(f"there is no column {place + 1}: there are {len(names)}")
        return place
    if not isinstance(tree, exp.Column | exp.Literal) or tree.name not in names:
        raise SqlValidationError(
            "with_columns() and without_columns() take names and numbers of columns",
            where={"columns": ", ".join(names)},
        )
    return names.index(tree.name)


def named(trees: Sequence[exp.Expr], first: int = 0) -> list[exp.Expr]:
    """Return the items with the names that the Table API gives.

    Aggregates and borders of windows are EXPR$0, EXPR$1 …; other items without a name are _c and
    their place, from ``first``.

    Raises:
        SqlValidationError: two items have the same name.
    """
    numbers = _numbers(trees)
    items: list[exp.Expr] = []
    used: set[str] = set()
    for place, tree in enumerate(trees, first):
        if isinstance(tree, exp.Alias):
            name, inside = tree.alias, tree.this
        else:
            name, inside = _name(tree, place, numbers), tree
        if name in used:
            raise SqlValidationError(
                f"Ambiguous column name: {name}", hint="give it another name with .alias(…)"
            )
        used.add(name)
        items.append(exp.alias_(inside, name, quoted=True, copy=False))
    return items


def _numbers(trees: Iterable[exp.Expr]) -> dict[exp.Expr, int]:
    found = [each for tree in trees for each in _results(tree)]
    aggregates = [each for each in found if not isinstance(each, WindowBorder)]
    borders = [each for each in found if isinstance(each, WindowBorder)]
    return {each: number for number, each in enumerate(dict.fromkeys([*aggregates, *borders]))}


def _results(tree: exp.Expr) -> Iterator[exp.Expr]:
    if aggregate_of(tree) is not None or isinstance(tree, WindowBorder):
        yield tree
        return
    for child in tree.iter_expressions():
        yield from _results(child)


def _name(tree: exp.Expr, place: int, numbers: dict[exp.Expr, int]) -> str:
    if tree in numbers:
        return f"EXPR${numbers[tree]}"
    match tree:
        case exp.Column():
            return tree.name
        case exp.Cast() if isinstance(tree.this, exp.Column) and type(tree) is exp.Cast:
            target = tree.args["to"]
            assert isinstance(target, TypeName)
            return f"{tree.this.name}-{target.this}"
        case exp.Dot() if isinstance(tree.expression, exp.Identifier):
            return f"{_name(tree.this, place, numbers)}${tree.expression.name}"
    return f"_c{place}"

"""ORDER BY, LIMIT, OFFSET and FETCH."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from headrace.errors import SqlValidationError
from headrace.sql.dialect.printing import to_sql
from headrace.sql.expressions import ColumnRef, Expression
from headrace.sql.places import add_place
from headrace.sql.rel import Calc, Rel, Sort, Values, reference

SORTED_BY = "$sort"
"""Begins the names of columns that rows are sorted by, and that SELECT does not give."""

Items = Sequence[tuple[str, exp.Expr]]
"""The names and trees of SELECT."""


def sort_items(order: exp.Expr | None, items: Items) -> list[tuple[str, exp.Expr]]:
    """Return what rows are sorted by as trees over what SELECT reads, with new names.

    A number is the place of an item. A name is that of an item, if there is one.
    """
    if order is None:
        return []
    named = dict(reversed(items))
    found = []
    for number, each in enumerate(order.expressions):
        tree = each.this
        if isinstance(tree, exp.Literal) and not tree.is_string:
            tree = _item(tree, items)
        else:
            tree = _with_items(tree, named)
        found.append((f"{SORTED_BY}{number}", tree))
    return found


def _item(number: exp.Literal, items: Items) -> exp.Expr:
    place = int(number.this) if number.this.isdigit() else 0
    if not 1 <= place <= len(items):
        error = SqlValidationError(f"ORDER BY {number.this}: the query has {len(items)} columns")
        add_place(error, number)
        raise error
    return items[place - 1][1]


def _with_items(tree: exp.Expr, named: dict[str, exp.Expr]) -> exp.Expr:
    if isinstance(tree, exp.Column) and len(tree.parts) == 1:
        return named.get(tree.name, tree)
    if isinstance(tree, exp.Query):
        return tree
    copied = tree.copy()
    for child in [*copied.iter_expressions()]:
        replaced = _with_items(child, named)
        if replaced is not child:
            child.replace(replaced.copy())
    return copied


def sorted_rows(
    node: exp.Expr,
    rel: Rel,
    names: Sequence[str],
    expressions: Sequence[Expression],
    distinct: Callable[[Rel], Rel] | None = None,
) -> Rel:
    """Return rows in the order of a query, and of these the first ones, as it says.

    ``names``: of what is given; the ``expressions`` after these are what rows are sorted by.
    ``distinct``: makes of rows each one once.
    """
    order, limit, offset = (node.args.get(each) for each in ("order", "limit", "offset"))
    shown = [*expressions[: len(names)]]
    places = {each: name for name, each in reversed([*zip(names, shown, strict=True)])}
    keys, hidden = [], dict[str, Expression]()
    by = expressions[len(names) :]
    for each, key in zip(() if order is None else order.expressions, by, strict=True):
        name = places.get(key)
        if name is None:
            name = f"{SORTED_BY}{len(hidden)}"
            hidden[name] = key
            if distinct is not None:
                raise SqlValidationError(
                    f"ORDER BY {to_sql(each.this)}: it is not in SELECT DISTINCT"
                )
        ascending, first = not each.args.get("desc"), each.args.get("nulls_first")
        keys.append((name, ascending, ascending if first is None else bool(first)))
    made: Rel = Calc(rel, (*names, *hidden), (*shown, *hidden.values()))
    if [*names] == [each.name for each in rel.columns] and not hidden:
        plain = all(isinstance(each, ColumnRef) for each in shown)
        made = rel if plain and shown == [*map(reference, rel.columns)] else made
    if distinct is not None:
        made = distinct(made)
    if order is None and limit is None and offset is None:
        return made
    if _number(limit) == 0:
        return Values((), made.columns[: len(names)])
    made = Sort(made, tuple(keys), _number(offset) or 0, _number(limit))
    if not hidden:
        return made
    kept = made.columns[: len(names)]
    return Calc(made, tuple(names), tuple(map(reference, kept)))


def without_order(rel: Rel) -> Rel:
    """Return the rows of a query inside another one: its order counts for LIMIT and OFFSET only."""
    if isinstance(rel, Sort) and rel.limit is None and not rel.offset:
        return rel.input
    if isinstance(rel, Calc) and isinstance(rel.input, Sort):
        below = without_order(rel.input)
        return Calc(below, rel.names, rel.expressions, rel.condition)
    return rel


def _number(node: exp.Expr | None) -> int | None:
    """Return the number of a LIMIT, an OFFSET or a FETCH; None: there is none."""
    if node is None:
        return None
    tree = node.expression if node.args.get("expression") is not None else node.args.get("count")
    if not isinstance(tree, exp.Literal) or tree.is_string:
        raise SqlValidationError(f"LIMIT and OFFSET need a number: {to_sql(node)}")
    return int(tree.this)

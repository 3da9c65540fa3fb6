"""From the tree of a query to its plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from sqlglot import exp

from headrace.errors import SqlValidationError
from headrace.operators.columns.set_operation import SetKind
from headrace.sql.aggregates.table import KEY_VALUE
from headrace.sql.calls import cast, resolve_call
from headrace.sql.coercion import common_type
from headrace.sql.constant_rows import varies
from headrace.sql.dialect.printing import to_sql
from headrace.sql.expressions import ColumnRef, Expression, implementations
from headrace.sql.expressions import Literal as Constant
from headrace.sql.places import placed_at
from headrace.sql.python_function import Functions, NoFunctions
from headrace.sql.refusals import refuse
from headrace.sql.rel import (
    Aggregate,
    AggregateCall,
    Calc,
    Column,
    Rel,
    SetOperation,
    Union,
    Values,
    reference,
)
from headrace.sql.resolve.aggregate_calls import has_parts, key_of, require_groupable
from headrace.sql.resolve.calls import call_name
from headrace.sql.resolve.columns import ScopeConverter
from headrace.sql.resolve.group_windows import find_group_window
from headrace.sql.resolve.grouping import (
    PREFIX,
    Grouping,
    find_aggregates,
    scope_of,
    with_functions,
)
from headrace.sql.resolve.hints import check_hints
from headrace.sql.resolve.ordering import sort_items, sorted_rows, without_order
from headrace.sql.resolve.protocols import Tables
from headrace.sql.resolve.scope import Scope, Source, unique_names
from headrace.sql.resolve.sources import ONE_ROW, SourceResolver
from headrace.sql.resolve.state_ttl import with_state_ttl
from headrace.sql.rules.windows import with_window_aggregates
from headrace.sql.types import BooleanType, RowType


@dataclass
class QueryResolver:
    """Resolves queries over tables."""

    tables: Tables
    batch: bool = False
    time_zone: str = "UTC"
    ctes: dict[str, Rel] = field(default_factory=dict)
    functions: Functions = field(default_factory=NoFunctions)
    outer: Scope | None = None
    """The columns of the query around this one, which is inside an expression."""

    def resolve(self, node: exp.Expr) -> Rel:
        """Return the plan of a query.

        Raises:
            SqlValidationError: the query means nothing, or is not supported.
        """
        return with_window_aggregates(self.query(node))

    def query(self, node: exp.Expr) -> Rel:
        """Return the plan, before passes."""
        with placed_at(node):
            return self._query(node)

    def subquery(self, node: exp.Expr) -> Rel:
        """Return the plan of a query inside another one, whose order means nothing."""
        return without_order(self.query(node))

    def inner(self, node: exp.Expr) -> Rel:
        """Return the plan of a query inside an expression."""
        return with_window_aggregates(self.subquery(node))

    def _query(self, node: exp.Expr) -> Rel:
        inner = self._with_ctes(node)
        match node:
            case exp.Subquery():
                return inner._ordered(node, inner.query(node.this))
            case exp.Select():
                return with_state_ttl(node, inner._select(node))
            case exp.SetOperation():
                return inner._ordered(node, inner._set_operation(node))
            case exp.Values():
                return inner._ordered(node, inner.values(node))
            case exp.Paren():
                return inner.query(node.this)
        raise SqlValidationError(f"this is not a query: {to_sql(node)[:100]}")

    def _with_ctes(self, node: exp.Expr) -> QueryResolver:
        clause = node.args.get("with_")
        if clause is None:
            return self
        if clause.args.get("recursive"):
            refuse("WITH RECURSIVE")
        inner = replace(self, ctes=dict(self.ctes))
        for each in clause.expressions:
            rel = inner.subquery(each.this)
            names = [column.name for column in each.args["alias"].args.get("columns") or ()]
            inner.ctes[each.alias] = renamed(rel, names) if names else rel
        return inner

    # SELECT

    def _select(self, node: exp.Select) -> Rel:
        check_hints(node)
        for clause, name in _REFUSED_CLAUSES.items():
            if node.args.get(clause):
                refuse(name)
        made = with_functions(node, self.functions)
        assert isinstance(made, exp.Select)
        node = made
        rel, scope = SourceResolver(self).from_clause(node)
        converter = self.converter(scope)
        where = node.args.get("where")
        if where is not None:
            for aggregate in find_aggregates(where.this):
                with placed_at(aggregate):
                    raise SqlValidationError(
                        "WHERE contains an aggregate function", hint="use HAVING, or a subquery"
                    )
            rel = filtered(rel, _condition(converter, where.this, "WHERE"))
        items = self._items(node, scope)
        shown = len(items)
        items += sort_items(node.args.get("order"), items)
        grouped = node.args.get("group") or node.args.get("having")
        if grouped or any(next(find_aggregates(tree), None) is not None for _, tree in items):
            rel, items, scope = self._group(node, rel, scope, items)
            converter = self.converter(scope)
        _refuse_bare_null([tree for _, tree in items[:shown]])
        expressions = [converter.expression(tree) for _, tree in items]
        names = unique_names(name for name, _ in items[:shown])
        distinct = node.args.get("distinct")
        if distinct is not None and distinct.args.get("on"):
            refuse("DISTINCT ON")
        once = None if distinct is None else partial(distinct_rows, batch=self.batch)
        return sorted_rows(node, rel, names, expressions, once)

    def converter(self, scope: Scope) -> ScopeConverter:
        """Return what makes expressions over the columns of a scope."""
        return ScopeConverter(scope, replace(self, outer=scope), self.outer, self.functions)

    def _items(self, node: exp.Select, scope: Scope) -> list[tuple[str, exp.Expr]]:
        """Return the names and trees of SELECT, with each ``*`` expanded."""
        items: list[tuple[str, exp.Expr]] = []
        for number, written in enumerate(node.expressions):
            item = written.unnest() if isinstance(written, exp.Paren) else written
            star = item.this if isinstance(item, exp.Column) else item
            if isinstance(star, exp.Star):
                alias = item.table if isinstance(item, exp.Column) else None
                fields = _fields_of_row(item, scope)
                if fields:
                    items += fields
                    continue
                with placed_at(item):
                    sources = scope.of_star(alias or None)
                for source in sources:
                    for name in source.names:
                        items.append((name, exp.column(name, source.alias, quoted=True)))
            elif isinstance(item, exp.Alias):
                items.append((item.alias, item.this))
            elif isinstance(item, exp.Column | exp.Dot):
                items.append((item.name, item))
            else:
                items.append((f"EXPR${number}", item))
        return items

    def _group(
        self,
        node: exp.Select,
        rel: Rel,
        scope: Scope,
        items: list[tuple[str, exp.Expr]],
    ) -> tuple[Rel, list[tuple[str, exp.Expr]], Scope]:
        group, having = node.args.get("group"), node.args.get("having")
        keys = [] if group is None else [*group.expressions]
        condition = None if having is None else having.this
        window = find_group_window(self, rel, scope, keys)
        if window is not None:
            rel, scope = window.rel, window.scope
            keys = [*(each for each in keys if each is not window.call), *window.keys]
            items = [(name, window.replaced(tree)) for name, tree in items]
            condition = None if condition is None else window.replaced(condition)
        grouping = Grouping(rel, self.converter(scope), self.batch)
        for each in keys:
            grouping.add_keys(each)
        grouping.sort_sets()
        items = [(name, grouping.replace(tree)) for name, tree in items]
        condition = None if condition is None else grouping.replace(condition)
        made = grouping.aggregate()
        scope = scope_of(made)
        if having is not None and condition is not None:
            with placed_at(having.this):
                made = filtered(made, _condition(self.converter(scope), condition, "HAVING"))
        return made, items, scope

    # Set operations, VALUES, ORDER BY

    def _set_operation(self, node: exp.SetOperation) -> Rel:
        word = type(node).__name__.upper()
        both = [self.subquery(node.this), self.subquery(node.expression)]
        with placed_at(node.expression):
            parts = aligned(both, word)
        if isinstance(node, exp.Intersect | exp.Except):
            left, right = parts
            for column in left.columns:
                if has_parts(column.type):
                    refuse(f"{word} of type {column.type.root}")
            kind: SetKind = "INTERSECT" if isinstance(node, exp.Intersect) else "EXCEPT"
            return SetOperation(left, right, kind, not node.args.get("distinct"))
        flat = [
            each for part in parts for each in (part.parts if isinstance(part, Union) else (part,))
        ]
        rel: Rel = Union(tuple(flat))
        return distinct_rows(rel, self.batch) if node.args.get("distinct") else rel

    def values(self, node: exp.Values) -> Rel:
        """Return the rows of VALUES."""
        converter = self.converter(Scope(()))
        rows = []
        for row in node.expressions:
            trees = row.expressions if isinstance(row, exp.Tuple) else [row]
            if len(trees) == 1 and (call_name(trees[0]) or "").upper() == "ROW":
                trees = trees[0].expressions
            _refuse_bare_null(trees)
            rows.append([converter.expression(each) for each in trees])
            if implementations(rows[-1]):
                refuse("a function of a user in VALUES", to_sql(row)[:100])
        if len({len(row) for row in rows}) > 1:
            raise SqlValidationError("the rows of VALUES have different numbers of values")
        types = [common_type([row[place].type for row in rows]) for place in range(len(rows[0]))]
        fields = []
        for place, kind in enumerate(types):
            if kind is None:
                found = ", ".join(str(row[place].type) for row in rows)
                raise SqlValidationError(f"the values of column {place + 1} have no type: {found}")
            fields.append(Column(f"EXPR${place}", kind))
        made = tuple(
            tuple(cast(each, kind) for each, kind in zip(row, types, strict=True) if kind)
            for row in rows
        )
        if not any(varies(each) for row in made for each in row):
            return Values(made, tuple(fields))
        names = tuple(column.name for column in fields)
        return Union(tuple(Calc(ONE_ROW, names, row) for row in made))

    def _ordered(self, node: exp.Expr, rel: Rel) -> Rel:
        """Return the rows in an order, and of these the first ones, as a query says."""
        order, limit, offset = (node.args.get(each) for each in ("order", "limit", "offset"))
        if order is None and limit is None and offset is None:
            return rel
        scope = Scope((Source(None, tuple(each.name for each in rel.columns), rel.columns),))
        converter = self.converter(scope)
        names = tuple(column.name for column in rel.columns)
        shown = [*map(reference, rel.columns)]
        given = [(name, exp.column(name, quoted=True)) for name in names]
        keys = [converter.expression(tree) for _, tree in sort_items(order, given)]
        return sorted_rows(node, rel, names, [*shown, *keys])


_REFUSED_CLAUSES = {
    "match": "MATCH_RECOGNIZE",
    "qualify": "QUALIFY",
    "windows": "WINDOW",
    "connect": "CONNECT BY",
    "pivots": "PIVOT",
    "sample": "TABLESAMPLE",
}


def _fields_of_row(item: exp.Expr, scope: Scope) -> list[tuple[str, exp.Expr]]:
    """Return the fields for a star after a column of rows; none: it is a star after a table."""
    if not isinstance(item, exp.Column) or not item.table:
        return []
    if any(source.alias == item.table for source in scope.sources):
        return []
    column = scope.find((item.table,))
    if column is None or not isinstance(column.type, RowType):
        return []
    inside = exp.to_identifier(item.table, quoted=True)
    return [(each.name, exp.column(each.name, inside, quoted=True)) for each in column.type.fields]


def _condition(converter: ScopeConverter, tree: exp.Expr, clause: str) -> Expression:
    found = converter.expression(tree)
    if not isinstance(found.type, BooleanType):
        with placed_at(tree):
            raise SqlValidationError(
                f"{clause} needs a condition, not {found.type}: {to_sql(tree)}"
            )
    return found


def filtered(rel: Rel, condition: Expression) -> Rel:
    """Return the rows of a relation for which a condition is true."""
    columns = rel.columns
    if isinstance(condition, Constant):
        return rel if condition.value is True else Values((), columns)
    return Calc(
        rel, tuple(each.name for each in columns), tuple(map(reference, columns)), condition
    )


def distinct_rows(rel: Rel, batch: bool) -> Rel:
    """Return each row once."""
    columns = rel.columns
    parted = {f"{PREFIX}key.{each.name}": each for each in columns if has_parts(each.type)}
    if not parted:
        return Aggregate(rel, tuple(column.name for column in columns), ())
    for column in parted.values():
        require_groupable(column.type, f"DISTINCT {column.name}", batch)
    before = Calc(
        rel,
        (*(column.name for column in columns), *parted),
        (*map(reference, columns), *(key_of(reference(each)) for each in parted.values())),
    )
    keys = [each.name for each in columns if not has_parts(each.type)]
    calls = [
        AggregateCall(f"{PREFIX}value.{each.name}", KEY_VALUE.name, (each.name,), each.type)
        for each in parted.values()
    ]
    made = Aggregate(before, (*keys, *parted), tuple(calls))
    values = {call.arguments[0]: ColumnRef(call.type, call.name) for call in calls}
    return Calc(
        made,
        tuple(column.name for column in columns),
        tuple(values.get(column.name, reference(column)) for column in columns),
    )


def renamed(rel: Rel, names: Sequence[str]) -> Rel:
    """Return a relation whose columns have other names.

    Raises:
        SqlValidationError: the number of names is another one.
    """
    columns = rel.columns
    if len(names) != len(columns):
        raise SqlValidationError(
            f"{len(names)} names are given to {len(columns)} columns: {', '.join(names)}"
        )
    return Calc(rel, tuple(names), tuple(map(reference, columns)))


def flattened(rel: Rel) -> Rel:
    """Return the rows with the fields of a single column of rows as columns."""
    (column,) = rel.columns
    if not isinstance(column.type, RowType):
        return rel
    names = tuple(each.name for each in column.type.fields)
    fields = tuple(resolve_call("FIELD", [reference(column)], (name,)) for name in names)
    return Calc(rel, names, fields)


def _is_like(column: Column, wanted: Column) -> bool:
    nullable = wanted.type.with_nullable(column.type.nullable)
    return column == Column(wanted.name, nullable)


def aligned(parts: Sequence[Rel], word: str = "UNION") -> list[Rel]:
    """Return relations with the names of the first one, and the types that all of them have.

    Raises:
        SqlValidationError: columns have no common type, or their numbers differ.
    """
    first = parts[0].columns
    for part in parts[1:]:
        if len(part.columns) != len(first):
            raise SqlValidationError(
                f"{word} needs the same number of columns: {len(first)} and {len(part.columns)}"
            )
    types = []
    for columns in zip(*(part.columns for part in parts), strict=True):
        given = [each.type for each in columns]
        same = len({each.with_nullable(True) for each in given}) == 1  # a time attribute stays one
        kind = given[0] if same else common_type(given)
        if kind is None:
            found = " and ".join(str(each.type) for each in columns)
            raise SqlValidationError(f"column {columns[0].name!r} of {word} has types {found}")
        types.append(kind)
    wanted = tuple(Column(column.name, kind) for column, kind in zip(first, types, strict=True))
    made = []
    for part in parts:
        if all(_is_like(one, two) for one, two in zip(part.columns, wanted, strict=True)):
            made.append(part)
            continue
        expressions = tuple(
            cast(reference(column), kind) for column, kind in zip(part.columns, types, strict=True)
        )
        made.append(Calc(part, tuple(each.name for each in wanted), expressions))
    return made


def _refuse_bare_null(trees: Sequence[exp.Expr]) -> None:
    if any(isinstance(each, exp.Null) for each in trees):
        raise SqlValidationError(
            "a NULL on its own has no type, and is not a column", hint="CAST(NULL AS STRING)"
        )

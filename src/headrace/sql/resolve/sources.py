"""The relations of FROM: tables, subqueries, and arrays that become rows."""

from __future__ import annotations

from sqlglot import exp

from headrace.errors import SqlValidationError
from headrace.sql.dialect.nodes import (
    FunctionCall,
    JoinTree,
    PlanTable,
    RowPattern,
)
from headrace.sql.dialect.printing import to_sql
from headrace.sql.expressions import Expression, Literal
from headrace.sql.places import placed_at
from headrace.sql.refusals import refuse
from headrace.sql.rel import (
    Calc,
    Column,
    Columns,
    Correlate,
    Rel,
    Unnest,
    Values,
    Window,
    reference,
)
from headrace.sql.resolve.calls import call_name
from headrace.sql.resolve.hints import table_options
from headrace.sql.resolve.protocols import Queries
from headrace.sql.resolve.scope import Scope, Source, unique_names
from headrace.sql.resolve.window_functions import (
    BORDER_NAMES,
    WINDOW_FUNCTIONS,
    window_function,
)
from headrace.sql.types import (
    INT,
    ArrayType,
    BooleanType,
    MapType,
    MultisetType,
    RowType,
    SqlType,
)

_CALLS = (exp.Anonymous, exp.Dot, FunctionCall)
"""Trees of calls of table functions."""

ONE_ROW = Values(((Literal(INT, 0),),), (Column("$row", INT),))
"""What a SELECT without FROM reads; no query can name its column."""


class SourceResolver:
    """Resolves the FROM clause of one SELECT."""

    def __init__(self, queries: Queries) -> None:
        self._queries = queries

    def from_clause(self, node: exp.Select) -> tuple[Rel, Scope]:
        """Return the relation that a SELECT reads, and the names of its columns."""
        clause = node.args.get("from_")
        if clause is None:
            return ONE_ROW, Scope(())
        if isinstance(clause.this, exp.Unnest):
            return self._unnested(ONE_ROW, Scope(()), clause.this, outer=False)
        rel, source = self._relation(clause.this)
        scope = Scope((source,))
        for join in node.args.get("joins") or ():
            with placed_at(join):
                rel, scope = self._joined(rel, scope, join)
        return rel, scope

    def _joined(self, rel: Rel, scope: Scope, join: exp.Join) -> tuple[Rel, Scope]:
        side = join.args.get("side") or ""
        condition = join.args.get("on")
        always = condition is None or (isinstance(condition, exp.Boolean) and condition.this)
        if isinstance(join.this, exp.Unnest) and side in ("", "LEFT"):
            on = None if always else condition
            return self._unnested(rel, scope, join.this, outer=side == "LEFT", on=on)
        if isinstance(join.this, exp.Lateral) and side in ("", "LEFT"):
            inside, alias = join.this.this, join.this.args.get("alias")
            if isinstance(inside, exp.Unnest):
                inside.set("alias", alias)
                on = None if always else condition
                return self._unnested(rel, scope, inside, outer=side == "LEFT", on=on)
            if isinstance(inside, _CALLS):
                if side == "LEFT" and not always:
                    refuse("LEFT JOIN LATERAL TABLE with a condition", to_sql(join)[:100])
                made = self._correlated(rel, scope, inside, alias, outer=side == "LEFT")
                return made if condition is None or always else self._filtered(*made, condition)
        refuse("a join", to_sql(join)[:100])

    def _condition(self, scope: Scope, tree: exp.Expr) -> Expression:
        condition = self._queries.converter(scope).expression(tree)
        if not isinstance(condition.type, BooleanType):
            with placed_at(tree):
                raise SqlValidationError(
                    f"ON needs a condition, not {condition.type}: {to_sql(tree)}"
                )
        return condition

    def _filtered(self, rel: Rel, scope: Scope, tree: exp.Expr) -> tuple[Rel, Scope]:
        condition = self._condition(scope, tree)
        names = tuple(column.name for column in rel.columns)
        return Calc(rel, names, tuple(map(reference, rel.columns)), condition), scope

    def _correlated(
        self, rel: Rel, scope: Scope, node: exp.Expr, alias: exp.Expr | None, outer: bool
    ) -> tuple[Rel, Scope]:
        call = self._queries.converter(scope).table_call(node)
        assert isinstance(call.type, RowType)
        added = tuple(Column(each.name, each.type) for each in call.type.fields)
        if outer:
            added = tuple(Column(each.name, each.type.with_nullable(True)) for each in added)
        columns, source = _named_source(rel, added, alias, call.function.name)
        return Correlate(rel, call, columns, outer), Scope((*scope.sources, source))

    def _unnested(
        self,
        rel: Rel,
        scope: Scope,
        node: exp.Unnest,
        outer: bool,
        on: exp.Expr | None = None,
    ) -> tuple[Rel, Scope]:
        tree, *others = node.expressions
        if others:
            refuse("UNNEST of more than one value", to_sql(node)[:100])
        expression = self._queries.converter(scope).expression(tree)
        added = _columns_of_elements(expression.type)
        if added is None:
            with placed_at(tree):
                raise SqlValidationError(f"UNNEST takes an ARRAY, MAP or MULTISET: {to_sql(tree)}")
        ordinality = bool(node.args.get("offset"))
        if ordinality:
            added = (*added, Column("ORDINALITY", INT.with_nullable(False)))
        if outer:
            added = tuple(Column(each.name, each.type.with_nullable(True)) for each in added)
        alias = node.args.get("alias")
        if alias is not None and len(added) == 1 and not _has_fields(expression.type):
            added = (Column(alias.name, added[0].type),)
        columns, source = _named_source(rel, added, alias, "UNNEST")
        scope = Scope((*scope.sources, source))
        condition = None if on is None else self._condition(scope, on)
        return Unnest(rel, expression, columns, outer, ordinality, condition), scope

    def _relation(self, node: exp.Expr) -> tuple[Rel, Source]:
        with placed_at(node):
            return self._named(node)

    def _named(self, node: exp.Expr) -> tuple[Rel, Source]:
        if isinstance(node, JoinTree):
            refuse("a join", to_sql(node)[:100])
        rel, default = self._rows(node)
        alias = node.args.get("alias")
        names = tuple(column.name for column in rel.columns)
        if isinstance(rel, Window):
            names = (*names[:-3], *BORDER_NAMES)  # ambiguous where the rows have such a column
        if alias is None:
            return rel, Source(default, names, rel.columns)
        given = [each.name for each in alias.args.get("columns") or ()]
        if given and len(given) != len(names):
            raise SqlValidationError(
                f"{len(given)} names are given to the {len(names)} columns of {alias.name!r}",
                where={"columns": ", ".join(names)},
            )
        return rel, Source(alias.name, tuple(given) or names, rel.columns)

    def _rows(self, node: exp.Expr) -> tuple[Rel, str | None]:
        """Return a relation, and the name that its columns may be called by without an alias."""
        match node:
            case exp.Subquery() | exp.Select() | exp.SetOperation() | exp.Paren():
                return self._queries.subquery(node), None
            case exp.Values():
                return self._queries.values(node), None
            case PlanTable():
                return node.args["this"], None
            case exp.Lateral() | exp.Table() if isinstance(node.this, _CALLS):
                name = (call_name(node.this) or "").upper()
                if name not in WINDOW_FUNCTIONS:
                    return self._only_correlated(node.this), None
                return window_function(self._queries, node.this, self._relation), None
            case exp.Table() if isinstance(node.this, exp.Identifier):
                return self._table(node)
            case RowPattern():
                refuse("MATCH_RECOGNIZE")
        refuse("this kind of table", to_sql(node)[:100])

    def _only_correlated(self, node: exp.Expr) -> Rel:
        """Return the rows of a table function that is called once, with constants."""
        made, scope = self._correlated(ONE_ROW, Scope(()), node, None, outer=False)
        columns = scope.columns
        return Calc(made, tuple(each.name for each in columns), tuple(map(reference, columns)))

    def _table(self, node: exp.Table) -> tuple[Rel, str]:
        if node.args.get("version"):
            refuse("FOR SYSTEM_TIME AS OF", to_sql(node))
        path = [part.name for part in node.parts]
        if len(path) == 1 and path[0] in self._queries.ctes:
            return self._queries.ctes[path[0]], path[0]
        hints = table_options(node.args.get("hints") or ())
        return self._queries.tables.find(path, hints), path[-1]


def _named_source(
    rel: Rel, added: Columns, alias: exp.Expr | None, what: str
) -> tuple[Columns, Source]:
    """Return columns that are added to a relation, with names of their own, and their source."""
    given = [] if alias is None else [each.name for each in alias.args.get("columns") or ()]
    if given and len(given) != len(added):
        raise SqlValidationError(f"{what} gives {len(added)} columns, not {len(given)}")
    names = tuple(given) or tuple(column.name for column in added)
    taken = [column.name for column in rel.columns]
    inner = unique_names([*taken, *names])[len(taken) :]
    columns = tuple(Column(name, each.type) for name, each in zip(inner, added, strict=True))
    return columns, Source(None if alias is None else alias.name, names, columns)


def _has_fields(kind: SqlType) -> bool:
    """Return whether the elements of a value are rows with named fields."""
    return isinstance(kind, ArrayType | MultisetType) and isinstance(kind.element, RowType)


def _columns_of_elements(kind: SqlType) -> Columns | None:
    """Return the columns that UNNEST makes of a value; None: it has no elements."""
    if isinstance(kind, MapType):
        return Column("KEY", kind.key), Column("VALUE", kind.value)
    if not isinstance(kind, ArrayType | MultisetType):
        return None
    element = kind.element
    if isinstance(element, RowType):
        return tuple(
            Column(each.name, each.type.with_nullable(each.type.nullable or element.nullable))
            for each in element.fields
        )
    return (Column("EXPR$0", element),)

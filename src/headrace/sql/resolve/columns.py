"""Expressions over the columns of a scope."""

from __future__ import annotations

from sqlglot import exp

from headrace.errors import SqlValidationError
from headrace.sql.aggregates.table import AGGREGATES, find_aggregate
from headrace.sql.convert import BINARY, Converter
from headrace.sql.dialect.printing import to_sql
from headrace.sql.expressions import Expression
from headrace.sql.python_function import Functions
from headrace.sql.refusals import refuse
from headrace.sql.resolve.calls import call_name
from headrace.sql.resolve.scope import Scope
from headrace.sql.resolve.subqueries import InnerQueries, Subqueries


class ScopeConverter(Converter):
    """Makes typed expressions of trees; says what is near a name that is no column.

    ``outer``: the columns of the query around this one. ``functions``: those of users.
    """

    other_functions = (*AGGREGATES, "TUMBLE", "HOP", "CUMULATE", "SESSION")

    def __init__(
        self,
        scope: Scope,
        queries: InnerQueries,
        outer: Scope | None = None,
        functions: Functions | None = None,
    ) -> None:
        super().__init__(scope.find, functions)
        self._columns = scope
        self._outer = outer
        self._subqueries = Subqueries(queries, self)

    def _path(self, names: tuple[str, ...]) -> Expression:
        if not _has(self._columns, names):
            if self._outer is not None and _has(self._outer, names):
                refuse("a subquery with columns of the query around it", ".".join(names))
            raise self._columns.missing(names)
        return super()._path(names)

    def _expression(self, node: exp.Expr) -> Expression:
        sign = BINARY.get(type(node))
        if sign is not None and isinstance(node.expression, exp.Any | exp.All):
            return self._subqueries.quantified(sign, node.this, node.expression)
        if isinstance(node, exp.In) and isinstance(node.this, exp.Tuple) and node.expressions:
            return self._subqueries.listed(node)
        return super()._expression(node)

    def other(self, node: exp.Expr) -> Expression:
        match node:
            case exp.Subquery():
                return self._subqueries.scalar(node)
            case exp.Exists():
                return self._subqueries.exists(node)
            case exp.In():
                return self._subqueries.contains(node)
            case exp.Window():
                refuse("OVER", to_sql(node)[:100])
        name = call_name(node.this if isinstance(node, exp.Filter) else node)
        if name is not None and find_aggregate(name) is not None:
            raise SqlValidationError(f"the aggregate function {name} is not allowed here")
        return super().other(node)


def _has(scope: Scope, names: tuple[str, ...]) -> bool:
    return any(scope.find(names[:count]) is not None for count in (1, 2))

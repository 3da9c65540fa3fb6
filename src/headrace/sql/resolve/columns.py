"""Expressions over the columns of a scope."""

from __future__ import annotations

from sqlglot import exp

from headrace.errors import SqlValidationError
from headrace.sql.aggregates.table import find_aggregate
from headrace.sql.convert import Converter
from headrace.sql.expressions import Expression
from headrace.sql.python_function import Functions
from headrace.sql.refusals import refuse
from headrace.sql.resolve.calls import call_name
from headrace.sql.resolve.scope import Scope


class ScopeConverter(Converter):
    """Makes typed expressions of trees; says what is near a name that is no column."""

    def __init__(self, scope: Scope, text: str = "", functions: Functions | None = None) -> None:
        super().__init__(scope.find, text, functions)
        self._columns = scope

    def _path(self, names: tuple[str, ...]) -> Expression:
        if all(self._columns.find(names[:count]) is None for count in (1, 2)):
            raise self._columns.missing(names)
        return super()._path(names)

    def other(self, node: exp.Expr) -> Expression:
        if isinstance(node, exp.Subquery | exp.Exists):
            refuse("a subquery in an expression", node.sql()[:100])
        if isinstance(node, exp.Window):
            refuse("OVER", node.sql()[:100])
        name = call_name(node.this if isinstance(node, exp.Filter) else node)
        if name is not None and find_aggregate(name) is not None:
            raise SqlValidationError(f"the aggregate function {name} cannot stand here")
        return super().other(node)

"""Queries inside expressions, over constants: a value, a list of values, whether there is a row.

Such a query gives the same rows for each row of the query around it, so it becomes a constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sqlglot import exp

from headrace.errors import SqlValidationError
from headrace.sql.calls import connected, resolve_call
from headrace.sql.constant_rows import ConstantRows, is_constant
from headrace.sql.convert import Converter
from headrace.sql.dialect.printing import to_sql
from headrace.sql.expressions import Expression, Literal
from headrace.sql.refusals import refuse
from headrace.sql.rel import Columns, Rel
from headrace.sql.types import BOOLEAN

_TRUE = Literal(BOOLEAN.with_nullable(False), True)
_FALSE = Literal(BOOLEAN.with_nullable(False), False)


class InnerQueries(Protocol):
    """Resolves the queries inside expressions."""

    time_zone: str

    def inner(self, node: exp.Expr) -> Rel:
        """Return the plan of a query inside an expression."""


class Subqueries:
    """Makes expressions of the queries inside the expressions of one SELECT."""

    def __init__(self, queries: InnerQueries, converter: Converter) -> None:
        self._queries = queries
        self._converter = converter

    def scalar(self, node: exp.Subquery) -> Expression:
        """Return the value of the one row that a query gives; NULL: it gives none."""
        columns, rows = self._rows(node)
        if len(columns) != 1:
            raise SqlValidationError(
                f"a subquery in an expression gives one column, not {len(columns)}"
            )
        if len(rows) > 1:
            raise SqlValidationError(
                f"a subquery in an expression gives one row at most, not {len(rows)}"
            )
        (column,) = columns
        value = rows[0][0].value if rows else None
        return Literal(column.type.with_nullable(True), value)

    def exists(self, node: exp.Exists) -> Expression:
        """Return whether a query gives a row."""
        return _TRUE if self._rows(node.this)[1] else _FALSE

    def contains(self, node: exp.In) -> Expression:
        """Return whether a value, or a row of values, is among the rows of a query."""
        values = self._values(node.this)
        columns, rows = self._rows(node.args["query"])
        if len(columns) != len(values):
            raise SqlValidationError(
                f"IN compares {len(values)} values with a query of {len(columns)} columns"
            )
        return among(values, rows)

    def listed(self, node: exp.In) -> Expression:
        """Return whether a row of values is in a list of rows."""
        values = self._values(node.this)
        rows = [self._values(each) for each in node.expressions]
        if any(len(row) != len(values) for row in rows):
            raise SqlValidationError(f"IN compares rows of {len(values)} values with other ones")
        return among(values, rows)

    def quantified(self, sign: str, left: exp.Expr, right: exp.Any | exp.All) -> Expression:
        """Return whether a comparison is true for one, or for all, of the values of a list."""
        value = self._converter.expression(left)
        if isinstance(right.this, exp.Subquery):
            columns, rows = self._rows(right.this)
            if len(columns) != 1:
                raise SqlValidationError(f"a value is compared with {len(columns)} columns")
            choices: Sequence[Expression] = [row[0] for row in rows]
        else:
            choices = [self._converter.expression(each) for each in right.this.expressions]
        compared = [resolve_call(sign, [value, each]) for each in choices]
        if isinstance(right, exp.All):
            return connected("AND", compared) or _TRUE
        return connected("OR", compared) or _FALSE

    def _values(self, node: exp.Expr) -> list[Expression]:
        parts = node.expressions if isinstance(node, exp.Tuple) else [node]
        return [self._converter.expression(each) for each in parts]

    def _rows(self, node: exp.Expr) -> tuple[Columns, list[list[Literal]]]:
        rel = self._queries.inner(node.this if isinstance(node, exp.Subquery) else node)
        if not is_constant(rel):
            refuse("a subquery over a table", to_sql(node)[:100])
        rows = ConstantRows(self._queries.time_zone).rows(rel)
        types = [column.type for column in rel.columns]
        return rel.columns, [
            [Literal(kind, value) for kind, value in zip(types, row, strict=True)] for row in rows
        ]


def among(values: Sequence[Expression], rows: Sequence[Sequence[Expression]]) -> Expression:
    """Return whether values are one of the rows; NULL is equal to nothing."""
    if not rows:
        return _FALSE
    if len(values) == 1:
        return resolve_call("IN", [values[0], *(row[0] for row in rows)])
    equal = [
        connected("AND", [resolve_call("=", pair) for pair in zip(values, row, strict=True)])
        or _TRUE
        for row in rows
    ]
    return connected("OR", equal) or _FALSE

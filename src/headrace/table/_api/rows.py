"""Methods of ``Table`` that choose and order rows, of one table or of two."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from sqlglot import exp

from headrace.sql.rel import Sort
from headrace.table._api.relation import SessionRelation
from headrace.table._api.selecting import select_of, trees_of
from headrace.table._expressions.trees import tree_of
from headrace.table.expression import Expression


class TableRows(SessionRelation):
    """The methods whose result has the same columns."""

    def filter(self, predicate: Expression[bool]) -> Self:
        """Return the rows for which a condition is true."""
        where = exp.Where(this=tree_of(predicate))
        return self._query(select_of(self._rel, where=where))

    def where(self, predicate: Expression[bool]) -> Self:
        """Return the rows for which a condition is true."""
        return self.filter(predicate)

    def distinct(self) -> Self:
        """Return the different rows."""
        return self._query(select_of(self._rel, distinct=exp.Distinct()))

    def order_by(self, *fields: Expression[Any]) -> Self:
        """Return the rows in an order."""
        keys = [
            tree if isinstance(tree, exp.Ordered) else exp.Ordered(this=tree, desc=False)
            for tree in trees_of(fields, "order_by")
        ]
        return self._query(select_of(self._rel, order=exp.Order(expressions=keys)))

    def offset(self, offset: int) -> Self:
        """Return the rows after the first ones."""
        rel = self._rel
        if isinstance(rel, Sort) and rel.limit is None:
            return self._with(replace(rel, offset=rel.offset + offset))
        return self._with(Sort(rel, (), offset))

    def fetch(self, fetch: int) -> Self:
        """Return the first rows."""
        rel = self._rel
        if isinstance(rel, Sort) and rel.limit is None:
            return self._with(replace(rel, limit=fetch))
        return self._with(Sort(rel, (), 0, fetch))

    def limit(self, fetch: int, offset: int = 0) -> Self:
        """Return some rows, after the first ones."""
        return self.offset(offset).fetch(fetch)

    # Two tables

    def union_all(self, right: Self) -> Self:
        """Return the rows of both tables."""
        return self._set_operation(exp.Union, right, distinct=False)

    def union(self, right: Self) -> Self:
        """Return the different rows of both tables."""
        return self._set_operation(exp.Union, right, distinct=True)

    def minus(self, right: Self) -> Self:
        """Return the different rows that are not in the other table."""
        return self._set_operation(exp.Except, right, distinct=True)

    def minus_all(self, right: Self) -> Self:
        """Return the rows that are not in the other table."""
        return self._set_operation(exp.Except, right, distinct=False)

    def intersect(self, right: Self) -> Self:
        """Return the different rows that both tables have."""
        return self._set_operation(exp.Intersect, right, distinct=True)

    def intersect_all(self, right: Self) -> Self:
        """Return the rows that both tables have."""
        return self._set_operation(exp.Intersect, right, distinct=False)

    def _set_operation(self, kind: type[exp.SetOperation], right: Self, *, distinct: bool) -> Self:
        left, other = select_of(self._rel), select_of(right._rel)
        return self._query(kind(this=left, expression=other, distinct=distinct))

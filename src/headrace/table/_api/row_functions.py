"""Methods of ``Table`` that call a user's function for each row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from sqlglot import exp

from headrace.sql.rel import Calc, reference
from headrace.sql.resolve.query import flattened
from headrace.sql.resolve.scope import unique_names
from headrace.table._api.functions import call_of, lateral_of
from headrace.table._api.relation import SessionRelation
from headrace.table._api.selecting import select_of
from headrace.table._expressions.trees import tree_of
from headrace.table.expression import Expression

if TYPE_CHECKING:
    from headrace.table._functions.wrappers import (
        UserDefinedScalarFunctionWrapper,
        UserDefinedTableFunctionWrapper,
    )


class TableRowFunctions(SessionRelation):
    """The methods that take a function of a row, or its call."""

    def map(self, func: Expression[Any] | UserDefinedScalarFunctionWrapper) -> Self:
        """Return what a function gives for each row; a row that it gives becomes columns.

        ``func``: a call, or a function that takes the whole row.
        """
        tree = call_of(func, self._names, "map")
        made = self._query(select_of(self._rel, [exp.alias_(tree.unalias(), "_c0", quoted=True)]))
        return made._with(flattened(made._rel))

    def flat_map(self, func: Expression[Any] | UserDefinedTableFunctionWrapper) -> Self:
        """Return the rows that a table function gives for each row.

        ``func``: a call, or a function that takes the whole row.
        """
        count = len(self._names)
        joined = self._lateral(func, None, "flat_map", "")._rel
        columns = joined.columns[count:]
        names = unique_names(each.name for each in columns)
        return self._with(Calc(joined, names, tuple(map(reference, columns))))

    def join_lateral(
        self,
        table_function_call: Expression[Any] | UserDefinedTableFunctionWrapper,
        join_predicate: Expression[bool] | None = None,
    ) -> Self:
        """Return each row with each of the rows that a table function gives for it.

        ``table_function_call``: a call with the names of its columns, ``f(col('a')).alias('x')``,
        or a function that takes the whole row. ``join_predicate``: which of these rows are kept.
        """
        return self._lateral(table_function_call, join_predicate, "join_lateral", "")

    def left_outer_join_lateral(
        self,
        table_function_call: Expression[Any] | UserDefinedTableFunctionWrapper,
        join_predicate: Expression[bool] | None = None,
    ) -> Self:
        """Return the same as ``join_lateral``; rows without any are given once, with NULLs."""
        return self._lateral(table_function_call, join_predicate, "left_outer_join_lateral", "LEFT")

    def _lateral(self, function: Any, predicate: Any, method: str, side: str) -> Self:
        lateral = lateral_of(call_of(function, self._names, method), method)
        on = exp.true() if predicate is None else tree_of(predicate)
        join = exp.Join(this=lateral, side=side, on=on)
        return self._query(select_of(self._rel, joins=[join]))

"""``Table``: a relation that a program builds step by step; and its groups, which give tables.

``Table`` and its groups create each other, so they are in one file. The other methods
are in ``_api``, by what they change or give: columns, rows, functions of a row, results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from headrace.common._unsupported import unsupported_method
from headrace.errors import SqlValidationError
from headrace.sql.catalog.objects import PlanView
from headrace.sql.rel import Rel
from headrace.table._api.columns import TableColumns
from headrace.table._api.functions import (
    BORDER,
    RESULT,
    aggregate_call,
    borders_of,
    with_border_columns,
    with_result_rows,
    with_results,
)
from headrace.table._api.results import TableResults
from headrace.table._api.row_functions import TableRowFunctions
from headrace.table._api.rows import TableRows
from headrace.table._api.selecting import expanded, named, select_of, trees_of
from headrace.table._api.windows import CountWindow, GroupWindowSpec
from headrace.table._expressions.trees import column as column_tree
from headrace.table.expression import Expression
from headrace.table.window import GroupWindow

if TYPE_CHECKING:
    from headrace.table._functions.wrappers import UserDefinedAggregateFunctionWrapper
    from headrace.table._planning.session import SqlSession

__all__ = [
    "AggregatedTable",
    "FlatAggregateTable",
    "GroupWindowedTable",
    "GroupedTable",
    "OverWindowedTable",
    "Table",
    "WindowGroupedTable",
]

PROCESS_TABLE_FUNCTIONS = "process table functions are not supported"
_JOINS = "joins of tables are not supported"


class Table(TableColumns, TableRows, TableRowFunctions, TableResults):
    """Rows with named columns. Methods return new tables; nothing runs before ``execute``."""

    def __init__(self, rel: Rel, session: SqlSession) -> None:
        super().__init__(rel, session)
        self._name: str | None = None

    def __str__(self) -> str:
        """Return the name of the table in statements: it is registered on first use."""
        if self._name is None:
            self._name = self._session.register_unnamed(PlanView(self._rel))
        return self._name

    def __getattr__(self, name: str) -> Expression[Any]:
        """Return the column of a name: ``table.select(table.a)``."""
        rel = vars(self).get("_rel")
        names = [] if rel is None else [column.name for column in rel.columns]
        if name not in names:
            raise AttributeError(
                f"the table has no method and no column {name!r};"
                f" its columns are {', '.join(names)}",
                name=name,
                obj=self,
            )
        return Expression(column_tree(name))

    def __dir__(self) -> list[str]:
        """Return the columns, too."""
        return [*super().__dir__(), *self._names]

    # Groups

    def group_by(self, *fields: Expression[Any]) -> GroupedTable:
        """Group the rows by expressions."""
        return GroupedTable(self, trees_of(fields, "group_by"))

    def window(self, window: GroupWindow) -> GroupWindowedTable:
        """Put the rows into windows; ``group_by`` must take the window's name."""
        return GroupWindowedTable(self, window)

    def aggregate(
        self, func: Expression[Any] | UserDefinedAggregateFunctionWrapper
    ) -> AggregatedTable:
        """Return what an aggregate function gives for all rows; ``select()`` must follow.

        ``func``: a call with names, ``f(col('a')).alias('x')``, or a function of whole rows.
        """
        return AggregatedTable(self, self, (), func)

    def flat_aggregate(
        self, func: Expression[Any] | UserDefinedAggregateFunctionWrapper
    ) -> FlatAggregateTable:
        """Return the rows that a table aggregate function gives; ``select()`` must follow.

        ``func``: a call with names, ``f(col('a')).alias('x')``, or a function of whole rows.
        """
        return FlatAggregateTable(self, self, (), func)

    # Refused

    join = unsupported_method(_JOINS)
    left_outer_join = unsupported_method(_JOINS)
    right_outer_join = unsupported_method(_JOINS)
    full_outer_join = unsupported_method(_JOINS)
    over_window = unsupported_method("OVER windows are not supported")
    to_changelog = unsupported_method(PROCESS_TABLE_FUNCTIONS)
    from_changelog = unsupported_method(PROCESS_TABLE_FUNCTIONS)
    # Names of PyFlink after 2.3
    process = unsupported_method(PROCESS_TABLE_FUNCTIONS)
    partition_by = unsupported_method(PROCESS_TABLE_FUNCTIONS)
    as_argument = unsupported_method(PROCESS_TABLE_FUNCTIONS)


class GroupedTable:
    """A table with keys of its rows."""

    def __init__(self, table: Table, keys: Sequence[exp.Expr]) -> None:
        self._table = table
        self._keys = keys

    def select(self, *fields: Expression[Any]) -> Table:
        """Return keys and aggregates of each group."""
        trees = [*expanded(trees_of(fields, "select"), self._table._names)]
        table, keys = _with_named_keys(self._table, self._keys)
        group = exp.Group(expressions=keys)
        return table._query(select_of(table._rel, named(trees), group=group))

    def aggregate(
        self, func: Expression[Any] | UserDefinedAggregateFunctionWrapper
    ) -> AggregatedTable:
        """Return the keys and what an aggregate function gives; ``select()`` must follow.

        ``func``: a call with names, ``f(col('a')).alias('x')``, or a function of whole rows.
        """
        table, keys = _with_named_keys(self._table, self._keys)
        return AggregatedTable(GroupedTable(table, keys), table, keys, func)

    def flat_aggregate(
        self, func: Expression[Any] | UserDefinedAggregateFunctionWrapper
    ) -> FlatAggregateTable:
        """Return the keys and the rows that a function gives; ``select()`` must follow.

        ``func``: a call with names, ``f(col('a')).alias('x')``, or a function of whole rows.
        """
        table, keys = _with_named_keys(self._table, self._keys)
        return FlatAggregateTable(GroupedTable(table, keys), table, keys, func)


class GroupWindowedTable:
    """A table in windows."""

    def __init__(self, table: Table, window: GroupWindow) -> None:
        self._table = table
        self._window = window

    def group_by(self, *fields: Expression[Any]) -> WindowGroupedTable:
        """Group the rows by the window, and by other expressions."""
        spec = self._window._spec
        keys = trees_of(fields, "group_by")
        others = [
            each for each in keys if not (isinstance(each, exp.Column) and each.name == spec.name)
        ]
        if len(others) == len(keys):
            raise SqlValidationError(
                f"group_by() does not have the window {spec.name!r}",
                hint=f"group_by(col({spec.name!r}), …)",
            )
        return WindowGroupedTable(self._table, spec, others)


class WindowGroupedTable:
    """A table in windows, with keys of its rows."""

    def __init__(
        self, table: Table, window: GroupWindowSpec | CountWindow, keys: Sequence[exp.Expr]
    ) -> None:
        self._table = table
        self._window = window
        self._keys = keys

    def select(self, *fields: Expression[Any]) -> Table:
        """Return keys, borders of the window, and aggregates of each group."""
        table, keys = _with_named_keys(self._table, self._keys)
        window = self._window
        items = [window.replaced(each) for each in named(trees_of(fields, "select"))]
        if isinstance(window, CountWindow):
            window.check(table._columns)
            made = table._query(select_of(table._rel, items, group=exp.Group(expressions=keys)))
            return table._with(window.of(made._rel))
        group = exp.Group(expressions=[window.call(), *keys])
        return table._query(select_of(table._rel, items, group=group))

    def aggregate(
        self, func: Expression[Any] | UserDefinedAggregateFunctionWrapper
    ) -> AggregatedTable:
        """Return the keys and what an aggregate function gives; ``select()`` must follow.

        ``func``: a call with names, ``f(col('a')).alias('x')``, or a function of whole rows.
        """
        table, keys = _with_named_keys(self._table, self._keys)
        grouped = WindowGroupedTable(table, self._window, keys)
        return AggregatedTable(grouped, table, keys, func, self._window)


def _with_named_keys(table: Table, keys: Sequence[exp.Expr]) -> tuple[Table, list[exp.Expr]]:
    """Return the table with a column for each key that has a name, and the keys."""
    added = [each for each in keys if isinstance(each, exp.Alias)]
    if added:
        trees = [exp.column(name, quoted=True) for name in table._names]
        table = table._query(select_of(table._rel, named([*trees, *added])))
    return table, [
        exp.column(each.alias, quoted=True) if isinstance(each, exp.Alias) else each
        for each in keys
    ]


class OverWindowedTable:
    """A table with OVER windows, which are not supported."""

    select = unsupported_method("OVER windows are not supported")


class AggregatedTable:
    """A table with the results of an aggregate function of a user."""

    _method = "aggregate"

    def __init__(
        self,
        grouped: Table | GroupedTable | WindowGroupedTable,
        table: Table,
        keys: Sequence[exp.Expr],
        function: Any,
        window: GroupWindowSpec | CountWindow | None = None,
    ) -> None:
        self._grouped = grouped
        self._table = table
        self._keys = [key.name for key in keys]
        functions = table._session.queries.resolver().functions
        self._call, self._result_names = aggregate_call(
            function, table._names, self._method, functions
        )
        self._window = window

    def select(self, *fields: Expression[Any]) -> Table:
        """Return expressions of the keys, the results, and the borders of the window."""

        trees = trees_of(fields, "select")
        items: list[exp.Expr] = [exp.column(key, quoted=True) for key in self._keys]
        items += borders_of(trees)
        items.append(exp.alias_(self._call, RESULT, quoted=True))
        rel = self._grouped.select(*map(Expression, items))._rel
        flat = self._method == "flat_aggregate"
        results = (with_result_rows if flat else with_results)(rel, self._result_names)
        made = self._table._with(results)
        visible = [name for name in made._names if not name.startswith(BORDER)]
        found = map(with_border_columns, named([*expanded(trees, visible)]))
        return made._query(select_of(results, [*found]))


class FlatAggregateTable(AggregatedTable):
    """A table with the rows of a table aggregate function of a user."""

    _method = "flat_aggregate"

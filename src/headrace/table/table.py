"""``Table``: a relation that a program builds step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from headrace.common._unsupported import unsupported_method
from headrace.errors import SqlValidationError
from headrace.sql.catalog.objects import PlanView
from headrace.sql.rel import Calc, Columns, Rel, Sort, reference
from headrace.sql.resolve.query import flattened, renamed
from headrace.sql.resolve.scope import unique_names
from headrace.table._api.functions import (
    BORDER,
    RESULT,
    aggregate_call,
    borders_of,
    call_of,
    lateral_of,
    with_border_columns,
    with_result_rows,
    with_results,
)
from headrace.table._api.selecting import expanded, named, select_of, trees_of
from headrace.table._api.windows import CountWindow, GroupWindowSpec
from headrace.table._expressions.trees import column as column_tree
from headrace.table._expressions.trees import tree_of
from headrace.table.explain_detail import ExplainDetail
from headrace.table.expression import Expression
from headrace.table.window import GroupWindow

if TYPE_CHECKING:
    import pandas as pd

    from headrace.table._catalogs.columns import ResolvedSchema
    from headrace.table._functions.wrappers import (
        UserDefinedAggregateFunctionWrapper,
        UserDefinedScalarFunctionWrapper,
        UserDefinedTableFunctionWrapper,
    )
    from headrace.table._planning.session import SqlSession
    from headrace.table.table_descriptor import TableDescriptor
    from headrace.table.table_pipeline import TablePipeline
    from headrace.table.table_result import TableResult
    from headrace.table.table_schema import TableSchema

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


class Table:
    """Rows with named columns. Methods return new tables; nothing runs before ``execute``."""

    def __init__(self, rel: Rel, session: SqlSession) -> None:
        self._rel = rel
        self._session = session
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

    @property
    def _names(self) -> list[str]:
        return [column.name for column in self._rel.columns]

    @property
    def _columns(self) -> Columns:
        return self._rel.columns

    def _with(self, rel: Rel) -> Table:
        return Table(rel, self._session)

    def _query(self, tree: exp.Expr) -> Table:
        return self._with(self._session.queries.of_table_api(tree))

    # Columns

    def select(self, *fields: Expression[Any]) -> Table:
        """Return expressions of each row, or aggregates of all rows."""
        trees = [*expanded(trees_of(fields, "select"), self._names)]
        return self._query(select_of(self._rel, named(trees)))

    def alias(self, field: str, *fields: str) -> Table:
        """Return the table with other names for its first columns."""
        given = [field, *fields]
        if len(given) > len(self._names):
            raise SqlValidationError(
                f"{len(given)} names are given to {len(self._names)} columns",
                where={"columns": ", ".join(self._names)},
            )
        return self._with(renamed(self._rel, [*given, *self._names[len(given) :]]))

    def add_columns(self, *fields: Expression[Any]) -> Table:
        """Return the table with more columns, whose names are new."""
        trees: list[exp.Expr] = [exp.column(name, quoted=True) for name in self._names]
        trees += expanded(trees_of(fields, "add_columns"), self._names)
        return self._query(select_of(self._rel, named(trees)))

    def add_or_replace_columns(self, *fields: Expression[Any]) -> Table:
        """Return the table with more columns, or with others in place of those of their names."""
        added = named([*expanded(trees_of(fields, "add_or_replace_columns"), self._names)])
        by_name = {each.alias: each for each in added}
        kept = [
            by_name.pop(name) if name in by_name else exp.column(name, quoted=True)
            for name in self._names
        ]
        return self._query(select_of(self._rel, named([*kept, *by_name.values()])))

    def rename_columns(self, *fields: Expression[Any]) -> Table:
        """Return the table with other names of some columns: ``col('a').alias('b')``."""
        names = dict(zip(self._names, self._names, strict=True))
        for tree in trees_of(fields, "rename_columns"):
            if not isinstance(tree, exp.Alias) or not isinstance(tree.this, exp.Column):
                raise SqlValidationError("rename_columns() takes col('old').alias('new')")
            self._require(tree.this.name)
            names[tree.this.name] = tree.alias
        items = [
            exp.alias_(exp.column(name, quoted=True), new, quoted=True)
            for name, new in names.items()
        ]
        return self._query(select_of(self._rel, named(items)))

    def drop_columns(self, *fields: Expression[Any]) -> Table:
        """Return the table without some columns."""
        left_out = set()
        for tree in expanded(trees_of(fields, "drop_columns"), self._names):
            if not isinstance(tree, exp.Column):
                raise SqlValidationError("drop_columns() takes columns: col('a')")
            left_out.add(self._require(tree.name))
        kept = [exp.column(name, quoted=True) for name in self._names if name not in left_out]
        if not kept:
            raise SqlValidationError("drop_columns() leaves no column")
        return self._query(select_of(self._rel, kept))

    def _require(self, name: str) -> str:
        if name not in self._names:
            raise SqlValidationError(
                f"column {name!r} not found", where={"columns": ", ".join(self._names)}
            )
        return name

    # Rows

    def filter(self, predicate: Expression[bool]) -> Table:
        """Return the rows for which a condition is true."""
        where = exp.Where(this=tree_of(predicate))
        return self._query(select_of(self._rel, where=where))

    def where(self, predicate: Expression[bool]) -> Table:
        """Return the rows for which a condition is true."""
        return self.filter(predicate)

    def distinct(self) -> Table:
        """Return the different rows."""
        return self._query(select_of(self._rel, distinct=exp.Distinct()))

    def group_by(self, *fields: Expression[Any]) -> GroupedTable:
        """Group the rows by expressions."""
        return GroupedTable(self, trees_of(fields, "group_by"))

    def window(self, window: GroupWindow) -> GroupWindowedTable:
        """Put the rows into windows; ``group_by`` must take the window's name."""
        return GroupWindowedTable(self, window)

    def order_by(self, *fields: Expression[Any]) -> Table:
        """Return the rows in an order."""
        keys = [
            tree if isinstance(tree, exp.Ordered) else exp.Ordered(this=tree, desc=False)
            for tree in trees_of(fields, "order_by")
        ]
        return self._query(select_of(self._rel, order=exp.Order(expressions=keys)))

    def offset(self, offset: int) -> Table:
        """Return the rows after the first ones."""
        rel = self._rel
        if isinstance(rel, Sort) and rel.limit is None:
            return self._with(replace(rel, offset=rel.offset + offset))
        return self._with(Sort(rel, (), offset))

    def fetch(self, fetch: int) -> Table:
        """Return the first rows."""
        rel = self._rel
        if isinstance(rel, Sort) and rel.limit is None:
            return self._with(replace(rel, limit=fetch))
        return self._with(Sort(rel, (), 0, fetch))

    def limit(self, fetch: int, offset: int = 0) -> Table:
        """Return some rows, after the first ones."""
        return self.offset(offset).fetch(fetch)

    # Functions of users

    def map(self, func: Expression[Any] | UserDefinedScalarFunctionWrapper) -> Table:
        """Return what a function gives for each row; a row that it gives becomes columns.

        ``func``: a call, or a function that takes the whole row.
        """
        tree = call_of(func, self._names, "map")
        made = self._query(select_of(self._rel, [exp.alias_(tree.unalias(), "_c0", quoted=True)]))
        return made._with(flattened(made._rel))

    def flat_map(self, func: Expression[Any] | UserDefinedTableFunctionWrapper) -> Table:
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
    ) -> Table:
        """Return each row with each of the rows that a table function gives for it.

        ``table_function_call``: a call with the names of its columns, ``f(col('a')).alias('x')``,
        or a function that takes the whole row. ``join_predicate``: which of these rows are kept.
        """
        return self._lateral(table_function_call, join_predicate, "join_lateral", "")

    def left_outer_join_lateral(
        self,
        table_function_call: Expression[Any] | UserDefinedTableFunctionWrapper,
        join_predicate: Expression[bool] | None = None,
    ) -> Table:
        """Return the same as ``join_lateral``; rows without any are given once, with NULLs."""
        return self._lateral(table_function_call, join_predicate, "left_outer_join_lateral", "LEFT")

    def _lateral(self, function: Any, predicate: Any, method: str, side: str) -> Table:
        lateral = lateral_of(call_of(function, self._names, method), method)
        on = exp.true() if predicate is None else tree_of(predicate)
        join = exp.Join(this=lateral, side=side, on=on)
        return self._query(select_of(self._rel, joins=[join]))

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

    # More than one table

    def union_all(self, right: Table) -> Table:
        """Return the rows of both tables."""
        return self._set_operation(exp.Union, right, distinct=False)

    def union(self, right: Table) -> Table:
        """Return the different rows of both tables."""
        return self._set_operation(exp.Union, right, distinct=True)

    def minus(self, right: Table) -> Table:
        """Return the different rows that are not in the other table."""
        return self._set_operation(exp.Except, right, distinct=True)

    def minus_all(self, right: Table) -> Table:
        """Return the rows that are not in the other table."""
        return self._set_operation(exp.Except, right, distinct=False)

    def intersect(self, right: Table) -> Table:
        """Return the different rows that both tables have."""
        return self._set_operation(exp.Intersect, right, distinct=True)

    def intersect_all(self, right: Table) -> Table:
        """Return the rows that both tables have."""
        return self._set_operation(exp.Intersect, right, distinct=False)

    def _set_operation(
        self, kind: type[exp.SetOperation], right: Table, *, distinct: bool
    ) -> Table:
        left, other = select_of(self._rel), select_of(right._rel)
        return self._query(kind(this=left, expression=other, distinct=distinct))

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

    # Results

    def execute(self) -> TableResult:
        """Return the rows. Their job starts when the first row is read."""
        return self._session.collect(self._rel)

    def to_pandas(self) -> pd.DataFrame:
        """Run the job, and return its rows; of a changelog the rows that are left at its end."""
        from headrace.table._results.frames import to_pandas

        return to_pandas(self.execute(), self._columns)

    def execute_insert(
        self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False
    ) -> TableResult:
        """Start a job that writes the rows into a table."""
        return self.insert_into(table_path_or_descriptor, overwrite).execute()

    def insert_into(
        self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False
    ) -> TablePipeline:
        """Return what writes the rows into a table, when it is executed."""
        from headrace.table.table_pipeline import TablePipeline

        target = self._session.queries.target(table_path_or_descriptor, self._columns)
        return TablePipeline(self._session, self._rel, target, overwrite)

    def explain(self, *extra_details: ExplainDetail) -> str:
        """Return the plan of the table."""
        return self._session.plan_texts.of_query(self._rel, [each.name for each in extra_details])

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Print the plan of the table."""
        print(self.explain(*extra_details))

    # Schema

    def get_schema(self) -> TableSchema:
        """Return the names and types of the columns."""
        from headrace.table.table_schema import TableSchema

        return TableSchema._of_columns(self._columns)

    def get_resolved_schema(self) -> ResolvedSchema:
        """Return the columns."""
        from headrace.table._catalogs.columns import schema_of_columns

        return schema_of_columns(self._columns)

    def print_schema(self) -> None:
        """Print the columns."""
        print(self.get_resolved_schema())


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

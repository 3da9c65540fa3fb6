"""Resolves queries and names in the catalogs of an environment."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.common._options import catalogue as options
from headrace.common._options.table import DYNAMIC_OPTIONS
from headrace.common.configuration import Configuration
from headrace.errors import SqlValidationError
from headrace.sql import statements as parsed
from headrace.sql.catalog.manager import CatalogManager
from headrace.sql.catalog.objects import CatalogTable, CatalogView, ObjectPath, PlanView
from headrace.sql.catalog.query_types import Types
from headrace.sql.definitions import ComputedColumn, Path
from headrace.sql.parsing import parse_path
from headrace.sql.places import PLACED, placed_by
from headrace.sql.python_function import PythonFunction
from headrace.sql.rel import Columns, Rel
from headrace.sql.resolve.fitting import fitted_insert
from headrace.sql.resolve.hints import table_options
from headrace.sql.resolve.query import QueryResolver, renamed
from headrace.sql.resolve.scope import Scope, Source
from headrace.sql.resolve.tables import read_columns, table_plan
from headrace.sql.types import SqlType
from headrace.table._functions.registry import definition_of
from headrace.table._planning.options import is_batch, time_zone_of
from headrace.table._planning.overridden import with_functions_of_user
from headrace.table._planning.targets import PlannedInsert, Target

if TYPE_CHECKING:
    from sqlglot import exp

    from headrace.table.table_descriptor import TableDescriptor


class Queries:
    """Makes plans of queries, tables, views and INSERTs."""

    def __init__(self, catalogs: CatalogManager, configuration: Configuration) -> None:
        self._catalogs = catalogs
        self._configuration = configuration
        self._open_views: list[ObjectPath] = []
        """The views that are being read, each by the one before it."""

    @property
    def batch(self) -> bool:
        """Whether queries run in a batch."""
        return is_batch(self._configuration)

    @property
    def types(self) -> Types:
        """What statements of definitions ask of queries."""
        return Types(
            of_query=lambda tree: self.of_sql(tree).columns,
            of_view=lambda view: self._view(view).columns,
            of_computed=self._computed_type,
            check=self._check_table,
            batch=self.batch,
        )

    def resolver(self, database: tuple[str, str] | None = None) -> QueryResolver:
        """Return a resolver of queries whose names are those of a database; None: the current."""
        current = (self._catalogs.current_catalog, self._catalogs.current_database)
        names = database or current
        return QueryResolver(
            _Relations(self, names),
            self.batch,
            time_zone_of(self._configuration),
            functions=_Functions(self._catalogs, names),
        )

    # Queries

    def of_sql(self, tree: exp.Expr) -> Rel:
        """Return the plan of the tree of a statement."""
        return self.resolver().resolve(tree)

    def of_table_api(self, tree: exp.Expr) -> Rel:
        """Return the plan of a tree of the Table API."""
        resolver = self.resolver()
        return resolver.query(with_functions_of_user(tree, resolver.functions))

    def relation(self, path: ObjectPath, hints: Mapping[str, str]) -> Rel:
        """Return the plan of a table or a view."""
        relation = self._catalogs.relation(path).relation
        self._check_hints(hints)
        if hints and not isinstance(relation, CatalogTable):
            raise SqlValidationError(f"{path} is a view, and OPTIONS are those of a table")
        match relation:
            case PlanView():
                return relation.plan
            case CatalogView():
                if path in self._open_views:
                    chain = " reads ".join(map(str, [*self._open_views, path]))
                    raise SqlValidationError(f"the view {path} reads itself: {chain}")
                self._open_views.append(path)
                try:
                    return self._view(relation)
                except PLACED as error:
                    error.where.setdefault("view", str(path))
                    raise
                finally:
                    self._open_views.pop()
        return table_plan(path, relation, hints, self.resolver().converter, self.batch)

    def _check_hints(self, hints: Collection[Any]) -> None:
        if hints and not options.read(self._configuration, DYNAMIC_OPTIONS):
            raise SqlValidationError(
                "the hint OPTIONS is not allowed", hint=f"'{DYNAMIC_OPTIONS.key}' = 'true'"
            )

    def _view(self, view: CatalogView) -> Rel:
        return renamed(self.resolver(view.database).query(view.query), view.columns)

    # Tables that are written

    def insert(self, insert: parsed.Insert) -> PlannedInsert:
        """Return what an INSERT writes, and where."""
        with placed_by(insert):
            return self._insert(insert)

    def _insert(self, insert: parsed.Insert) -> PlannedInsert:
        target = self._target(insert.target)
        resolver = self.resolver()
        converter = resolver.converter(Scope(()))
        constants = {name: converter.expression(each) for name, each in insert.partition}
        rel = fitted_insert(
            resolver.resolve(insert.query),
            target.definition,
            insert.columns,
            constants,
            target.name,
        )
        hints = tuple(table_options(insert.hints).items())
        self._check_hints(hints)
        return PlannedInsert(rel, target, insert.overwrite, insert.on_conflict, hints)

    def target(self, given: str | TableDescriptor, columns: Columns) -> Target:
        """Return the table to write, from a path or a descriptor.

        ``columns``: of the rows; a descriptor without a schema gets them.
        """
        if isinstance(given, str):
            return self._target(parse_path(given))
        return Target(None, given._definition(columns))

    def _target(self, path: Path) -> Target:
        return Target(self._catalogs.qualify(path), self._catalogs.table(path))

    # Definitions

    def _computed_type(self, table: CatalogTable, column: ComputedColumn) -> SqlType:
        given = read_columns(table)
        scope = Scope((Source(None, tuple(each.name for each in given), given),))
        return self.resolver().converter(scope).expression(column.expression).type

    def _check_table(self, table: CatalogTable) -> None:
        table_plan(("", "", ""), table, {}, self.resolver().converter, self.batch)


class _Relations:
    """The tables and views to which the names in a query refer, in a database."""

    def __init__(self, queries: Queries, database: tuple[str, str]) -> None:
        self._queries = queries
        self._database = database

    def find(self, path: Sequence[str], hints: Mapping[str, str]) -> Rel:
        """Return the plan of a table or a view."""
        if not 1 <= len(path) <= 3:
            raise SqlValidationError(f"{'.'.join(path)} is not the name of a table")
        full = ObjectPath(*self._database[: 3 - len(path)], *path)
        return self._queries.relation(full, hints)


class _Functions:
    """The user-defined functions to which the names in a query refer, in a database."""

    def __init__(self, catalogs: CatalogManager, database: tuple[str, str]) -> None:
        self._catalogs = catalogs
        self._database = database

    @property
    def current_database(self) -> str:
        """The session's database, also in a view of another one."""
        return self._catalogs.current_database

    def system_function(self, name: str) -> PythonFunction | None:
        """Return a temporary system function."""
        found = self._catalogs.system_function(name)
        return None if found is None else definition_of(found)

    def function(self, path: Sequence[str]) -> PythonFunction | None:
        """Return a function of a catalog."""
        if not 1 <= len(path) <= 3:
            return None
        found = self._catalogs.function(ObjectPath(*self._database[: 3 - len(path)], *path))
        return None if found is None else definition_of(found)

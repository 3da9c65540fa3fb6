"""CREATE TABLE AS: creates a table and writes the rows of a query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from headrace.errors import CatalogError
from headrace.sql import statements as parsed
from headrace.sql.catalog.execute import create_table
from headrace.sql.catalog.manager import CatalogManager
from headrace.sql.refusals import refuse
from headrace.table._planning.queries import Queries
from headrace.table._planning.targets import PlannedInsert

if TYPE_CHECKING:
    from sqlglot import exp

Added = PlannedInsert | parsed.CreateTable
"""A statement in a statement set: an INSERT, or a CREATE TABLE AS."""


class CreateTableAs:
    """Creates the tables of CREATE TABLE AS."""

    def __init__(self, catalogs: CatalogManager, queries: Queries) -> None:
        self._catalogs = catalogs
        self._queries = queries

    def check(self, statement: parsed.CreateTable) -> None:
        """Check a statement before its table is created."""
        if statement.temporary:
            refuse("CREATE TEMPORARY TABLE AS")
        self._queries.of_sql(_query_of(statement))
        path = self._catalogs.qualify(statement.path)
        if statement.must_exist and self._catalogs.find(path) is None:
            raise CatalogError(f"there is no table {path} to replace")

    @contextmanager
    def created(self, added: Sequence[Added]) -> Iterator[list[PlannedInsert]]:
        """Create the tables, and return all INSERTs. After an error the new tables are dropped
        again."""
        with ExitStack() as undo:
            yield [
                each if isinstance(each, PlannedInsert) else self._create(each, undo)
                for each in added
            ]
            undo.pop_all()

    def _create(self, statement: parsed.CreateTable, undo: ExitStack) -> PlannedInsert:
        """Create a table; return the INSERT of the query. ``undo``: restores the catalog."""
        query, catalogs = _query_of(statement), self._catalogs
        path = catalogs.qualify(statement.path)
        before = catalogs.find(path)
        names = tuple(each.name for each in self._queries.of_sql(query).columns)
        if before is not None and statement.if_not_exists:
            names = ()  # the rows are written into the table that is there, as in Flink
        create_table(statement, catalogs, self._queries.types)
        if before is None:
            undo.callback(catalogs.drop_relation, path, "table")
        else:
            undo.callback(catalogs.replace_relation, path, before.relation)
        insert = parsed.Insert(text=statement.text, target=path, query=query, columns=names)
        return self._queries.insert(insert)


def _query_of(statement: parsed.CreateTable) -> exp.Expr:
    assert statement.query is not None, "CREATE TABLE without AS is another statement"
    return statement.query

"""SHOW and DESCRIBE of what is in catalogs."""

from __future__ import annotations

from dataclasses import replace

from headrace.errors import CatalogError, UnsupportedError
from headrace.sql.catalog.catalogs import describe_catalog, show_create_catalog
from headrace.sql.catalog.errors import missing
from headrace.sql.catalog.listing import (
    Listing,
    describe_columns,
    describe_table,
    matches,
    show_create_table,
    show_create_view,
)
from headrace.sql.catalog.manager import CatalogManager, Found
from headrace.sql.catalog.objects import CatalogTable, CatalogView, PlanView, kind_of
from headrace.sql.catalog.query_types import Types
from headrace.sql.statements import Describe, Show
from headrace.sql.types import quote_name

_LISTED = {
    "TABLES": "table name",
    "VIEWS": "view name",
    "FUNCTIONS": "function name",
    "USER FUNCTIONS": "function name",
    "DATABASES": "database name",
    "CATALOGS": "catalog name",
}


def show(statement: Show, manager: CatalogManager, types: Types) -> Listing:
    """Return what a SHOW lists."""
    what = statement.what
    match what:
        case "CURRENT CATALOG":
            return Listing(("current catalog name",), ((manager.current_catalog,),))
        case "CURRENT DATABASE":
            return Listing(("current database name",), ((manager.current_database,),))
        case "CREATE TABLE" | "CREATE VIEW":
            return _show_create(statement, manager)
        case "MODULES" | "FULL MODULES":
            row = ("core",) if what == "MODULES" else ("core", True)
            return Listing(("module name", "used")[: len(row)], (row,))
        case "JARS":
            return Listing(("jars",), ())
        case "MODELS":
            return Listing(("model name",), ())
        case "MATERIALIZED TABLES":
            return Listing(("materialized table",), ())
        case "CREATE CATALOG":
            (name,) = statement.path
            return show_create_catalog(name, manager.registry.description(name))
        case "PARTITIONS":
            return _show_partitions(statement, manager)
        case "COLUMNS":
            described = _described(manager.relation(statement.path), types)
            rows = tuple(row for row in described.rows if _kept(statement, row[0]))
            return Listing(described.names, rows)
    if what not in _LISTED:
        raise UnsupportedError(f"SHOW {what} is not supported")
    names = _names_of(statement, manager)
    return Listing((_LISTED[what],), tuple((each,) for each in names if _kept(statement, each)))


def _show_partitions(statement: Show, manager: CatalogManager) -> Listing:
    """Return the declared partitions, without those that a connector finds in folders."""
    path = manager.qualify(statement.path)
    if not manager.table(statement.path).partitioned_by:
        raise CatalogError(f"the table {path} has no partitions")
    found = manager.registry.catalog(path.catalog).partitions(path.database, path.name)
    names = ("/".join(f"{key}={value}" for key, value in each) for each in found)
    return Listing(("partition name",), tuple((each,) for each in names))


def _names_of(statement: Show, manager: CatalogManager) -> list[str]:
    path = statement.path
    match statement.what:
        case "CATALOGS":
            return manager.registry.names()
        case "DATABASES":
            if len(path) > 1:
                raise CatalogError(
                    f"{'.'.join(map(quote_name, path))} is not the name of a catalog"
                )
            return manager.databases(path[0] if path else None)
        case "TABLES":
            return manager.relations(path)
        case "VIEWS":
            owner = manager.qualify_database(path)
            return [
                name
                for name in manager.relations(path)
                if kind_of(manager.relation((*owner, name)).relation) == "view"
            ]
    users = manager.functions(path)
    if statement.what == "USER FUNCTIONS":
        return users
    return sorted(_built_in_functions().union(users))


def _built_in_functions() -> set[str]:
    from headrace.sql.aggregates.table import AGGREGATES
    from headrace.sql.functions.table import names

    return {each for each in (*names(), *AGGREGATES) if each.isidentifier()}


def _kept(statement: Show, name: str) -> bool:
    if statement.like is None:
        return True
    case_insensitive = statement.case_insensitive or statement.what == "FUNCTIONS"
    found = matches(statement.like, name, case_insensitive=case_insensitive)
    return found is not statement.negated


def _show_create(statement: Show, manager: CatalogManager) -> Listing:
    found = manager.relation(statement.path)
    wanted = statement.what.removeprefix("CREATE ")
    is_a = kind_of(found.relation).upper()
    if is_a != wanted:
        raise CatalogError(f"{found.path} is a {is_a.lower()}", hint=f"SHOW CREATE {is_a} …")
    match found.relation:
        case CatalogTable():
            text = show_create_table(found.path, found.relation, temporary=found.temporary)
        case CatalogView():
            text = show_create_view(found.path, found.relation, temporary=found.temporary)
        case PlanView():
            raise CatalogError(f"{found.path} was made by a program, not by a statement")
    return Listing(("result",), ((text,),))


def _described(found: Found, types: Types) -> Listing:
    match found.relation:
        case CatalogTable() as table:
            return describe_table(
                table, lambda column: types.of_computed(table, column), rowtime=not types.batch
            )
        case CatalogView() as view:
            columns = types.of_view(view)
            named = (
                replace(each, name=name) for each, name in zip(columns, view.columns, strict=True)
            )
            return describe_columns(tuple(named))
        case PlanView(plan):
            return describe_columns(plan.columns)


def _describe_function(statement: Describe, manager: CatalogManager) -> Listing:
    found = manager.found_function(statement.path)
    built_in, name = _built_in_functions(), statement.path[-1]
    if found is None and not (len(statement.path) == 1 and name.upper() in built_in):
        raise missing("the function", quote_name(name), name, built_in.union(manager.functions()))
    if statement.extended:
        raise UnsupportedError("DESCRIBE FUNCTION EXTENDED is not supported")
    function, system, temporary = found or (None, True, False)
    rows = [
        ("is system function", str(system).lower()),
        ("is temporary", str(temporary).lower()),
    ]
    if function is not None and function.identifier:
        rows.append(("class name", function.identifier))
        rows.append(("function language", function.language))
    return Listing(("info name", "info value"), tuple(rows))


def describe(statement: Describe, manager: CatalogManager, types: Types) -> Listing:
    """Return what a DESCRIBE lists."""
    match statement.kind:
        case "TABLE":
            return _described(manager.relation(statement.path), types)
        case "DATABASE":
            database = manager.database(statement.path)
            catalog, name = manager.qualify_database(statement.path)
            rows = [("catalog", catalog), ("database", name), ("comment", database.comment)]
            if statement.extended:
                rows += [(f"option:{key}", value) for key, value in database.options]
            return Listing(("info name", "info value"), tuple(rows))
        case "FUNCTION":
            return _describe_function(statement, manager)
        case "CATALOG":
            (name,) = statement.path
            return describe_catalog(
                name, manager.registry.description(name), extended=statement.extended
            )
    raise UnsupportedError(f"DESCRIBE {statement.kind} is not supported")

"""Runs the statements that read or change only catalogs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from headrace.errors import CatalogError, UnsupportedError
from headrace.sql.catalog.alter import alter_table
from headrace.sql.catalog.catalogs import (
    alter_catalog,
    describe_catalog,
    show_create_catalog,
)
from headrace.sql.catalog.define import define_table
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
from headrace.sql.catalog.objects import (
    CatalogDatabase,
    CatalogDescription,
    CatalogFunction,
    CatalogTable,
    CatalogView,
    ObjectPath,
    PlanView,
    kind_of,
    merged_options,
)
from headrace.sql.changes import ChangeFunction, ChangeQuery, Rename, SetOptions
from headrace.sql.definitions import ComputedColumn, PhysicalColumn
from headrace.sql.rel import Columns
from headrace.sql.statements import (
    Alter,
    CreateCatalog,
    CreateDatabase,
    CreateFunction,
    CreateTable,
    CreateView,
    Describe,
    Drop,
    Show,
    Statement,
    Use,
)
from headrace.sql.types import SqlType, quote_name

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True)
class Types:
    """What the resolver knows of types, for the statements that need it.

    ``of_query``: the columns of the tree of a query; ``of_view``: those of a view's query;
    ``of_computed``: the type of a computed column of a table. ``check``: raises the error of a
    table whose expressions are wrong. ``batch``: whether no column is an event time.
    """

    of_query: Callable[[exp.Expr], Columns]
    of_view: Callable[[CatalogView], Columns]
    of_computed: Callable[[CatalogTable, ComputedColumn], SqlType]
    check: Callable[[CatalogTable], None]
    batch: bool = False


def execute(statement: Statement, manager: CatalogManager, types: Types) -> Listing | None:
    """Run a statement; the result of SHOW and DESCRIBE, None of the others.

    Raises:
        CatalogError: a name is missing, is there already, or a definition contradicts itself.
    """
    match statement:
        case CreateTable():
            create_table(statement, manager, types)
        case CreateView():
            _create_view(statement, manager, types)
        case CreateFunction():
            _create_function(statement, manager)
        case CreateDatabase():
            database = CatalogDatabase(statement.options, statement.comment or "")
            manager.create_database(statement.path, database, if_not_exists=statement.if_not_exists)
        case CreateCatalog():
            catalog = CatalogDescription(statement.options, statement.comment)
            if_not_exists = statement.if_not_exists
            manager.registry.create(statement.name, catalog, if_not_exists=if_not_exists)
        case Drop():
            _drop(statement, manager)
        case Alter(kind="CATALOG"):
            alter_catalog(statement.path[0], statement.change, manager)
        case Alter():
            of: Literal["object", "database"] = "object"
            if statement.kind == "DATABASE":
                of = "database"
            with manager.writing(statement.path, of):
                _alter(statement, manager, types)
        case Use(kind="CATALOG"):
            manager.use_catalog(statement.path[0])
        case Use():
            manager.use_database(statement.path)
        case Show():
            return show(statement, manager, types)
        case Describe():
            return _describe(statement, manager, types)
        case _:
            raise AssertionError(f"no statement of catalogs: {statement}")
    return None


# CREATE


def create_table(statement: CreateTable, manager: CatalogManager, types: Types) -> ObjectPath:
    """Create the table of a statement, and return its full name; rows are not written."""
    base = None
    if statement.like is not None:
        base = manager.table(statement.like.table)
    selected: tuple[PhysicalColumn, ...] = ()
    if statement.query is not None:
        selected = tuple(
            PhysicalColumn(each.name, each.type) for each in types.of_query(statement.query)
        )
    table = define_table(statement, base=base, selected=selected)
    types.check(table)
    return manager.create_relation(
        statement.path,
        table,
        temporary=statement.temporary,
        if_not_exists=statement.if_not_exists,
        replace=statement.replace,
    )


def _check_named_once(query: exp.Expr) -> None:
    """Refuse a query of a view that gives one name to two columns."""
    from sqlglot import exp

    items = query.expressions if isinstance(query, exp.Select) else []
    names = [each.alias_or_name for each in items if isinstance(each, exp.Alias | exp.Column)]
    twice = next((each for each in names if each != "*" and names.count(each) > 1), None)
    if twice is not None:
        raise CatalogError(
            f"two columns of the view have the name {quote_name(twice)}", hint="an alias: AS"
        )


def _create_view(statement: CreateView, manager: CatalogManager, types: Types) -> None:
    names = tuple(each.name for each in types.of_query(statement.query))
    if not statement.columns:
        _check_named_once(statement.query)
    columns = statement.columns or names
    if len(columns) != len(names):
        raise CatalogError(
            f"the view has {len(columns)} columns, its query has {len(names)}:"
            f" {', '.join(map(quote_name, names))}"
        )
    view = CatalogView(
        query=statement.query,
        text=statement.query_text,
        columns=columns,
        database=(manager.current_catalog, manager.current_database),
        comment=statement.comment or "",
        source=statement.source,
    )
    manager.create_relation(
        statement.path,
        view,
        temporary=statement.temporary,
        if_not_exists=statement.if_not_exists,
        replace=statement.replace,
    )


def _create_function(statement: CreateFunction, manager: CatalogManager) -> None:
    _check_python(statement.language)
    manager.create_function(
        statement.path,
        CatalogFunction(statement.identifier, statement.language),
        temporary=statement.temporary,
        system=statement.system,
        if_not_exists=statement.if_not_exists,
    )


def _check_python(language: str) -> None:
    if language != "PYTHON":
        raise UnsupportedError(
            f"a function in {language} is not supported",
            hint="CREATE FUNCTION f AS 'module.function' LANGUAGE PYTHON",
        )


# DROP and ALTER


def _drop(statement: Drop, manager: CatalogManager) -> None:
    match statement.kind:
        case "CATALOG":
            manager.drop_catalog(statement.path[0], if_exists=statement.if_exists)
        case "DATABASE":
            manager.drop_database(
                statement.path, if_exists=statement.if_exists, cascade=statement.cascade
            )
        case "FUNCTION":
            manager.drop_function(
                statement.path,
                temporary=statement.temporary,
                system=statement.system,
                if_exists=statement.if_exists,
            )
        case "TABLE" | "VIEW":
            manager.drop_relation(
                statement.path,
                _relation_kind(statement.kind),
                temporary=statement.temporary,
                if_exists=statement.if_exists,
            )


def _relation_kind(kind: Literal["TABLE", "VIEW"]) -> Literal["table", "view"]:
    return "table" if kind == "TABLE" else "view"


def _alter(statement: Alter, manager: CatalogManager, types: Types) -> None:
    change = statement.change
    if statement.kind == "FUNCTION":
        assert isinstance(change, ChangeFunction)
        _check_python(change.language)
        known = manager.function(statement.path) or manager.system_function(statement.path[-1])
        if known is None and statement.if_exists:
            return
        manager.create_function(
            statement.path,
            CatalogFunction(change.identifier, change.language),
            temporary=statement.temporary,
            system=statement.system,
            replace=True,
        )
    elif statement.kind == "DATABASE":
        assert isinstance(change, SetOptions)
        database = manager.database(statement.path)
        options = merged_options(database.options, change.options)
        manager.replace_database(statement.path, replace(database, options=options))
    else:
        _alter_relation(statement, manager, types)


def _alter_relation(statement: Alter, manager: CatalogManager, types: Types) -> None:
    assert statement.kind in ("TABLE", "VIEW")
    change = statement.change
    kind = _relation_kind(statement.kind)
    if statement.if_exists and manager.find(statement.path) is None:
        return
    if isinstance(change, Rename):
        manager.rename_relation(statement.path, kind, change.target)
        return
    found = manager.stored(statement.path, kind)
    if isinstance(change, ChangeQuery):
        assert isinstance(found.relation, CatalogView)
        view = replace(
            found.relation,
            query=change.query,
            text=change.text,
            columns=tuple(each.name for each in types.of_query(change.query)),
            source=statement.source,
            database=(manager.current_catalog, manager.current_database),
        )
        manager.replace_relation(found.path, view)
    else:
        assert isinstance(found.relation, CatalogTable)
        table = alter_table(found.relation, change)
        types.check(table)
        manager.replace_relation(found.path, table)


# SHOW and DESCRIBE

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
    from headrace.sql.aggregates.table import AGGREGATES
    from headrace.sql.functions.table import names

    built_in = {each for each in (*names(), *AGGREGATES) if each.isidentifier()}
    return sorted(built_in.union(users))


def _kept(statement: Show, name: str) -> bool:
    if statement.like is None:
        return True
    found = matches(statement.like, name, case_insensitive=statement.case_insensitive)
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
    if found is None:
        name = statement.path[-1]
        raise missing("the function", quote_name(name), name, manager.functions())
    if statement.extended:
        raise UnsupportedError("DESCRIBE FUNCTION EXTENDED is not supported")
    function, system, temporary = found
    rows = [
        ("is system function", str(system).lower()),
        ("is temporary", str(temporary).lower()),
    ]
    if function.identifier:
        rows.append(("class name", function.identifier))
        rows.append(("function language", function.language))
    return Listing(("info name", "info value"), tuple(rows))


def _describe(statement: Describe, manager: CatalogManager, types: Types) -> Listing:
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

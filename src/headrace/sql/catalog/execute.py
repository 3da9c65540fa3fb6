"""Runs the statements that read or change only catalogs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from headrace.errors import CatalogError, UnsupportedError
from headrace.sql.catalog.alter import alter_table
from headrace.sql.catalog.catalogs import alter_catalog
from headrace.sql.catalog.define import define_table
from headrace.sql.catalog.listing import Listing
from headrace.sql.catalog.manager import CatalogManager
from headrace.sql.catalog.objects import (
    CatalogDatabase,
    CatalogDescription,
    CatalogFunction,
    CatalogTable,
    CatalogView,
    ObjectPath,
    merged_options,
)
from headrace.sql.catalog.query_types import Types
from headrace.sql.catalog.show import describe, show
from headrace.sql.changes import ChangeFunction, ChangeQuery, Rename, SetOptions
from headrace.sql.definitions import PhysicalColumn
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
from headrace.sql.types import quote_name

if TYPE_CHECKING:
    from sqlglot import exp


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
            return describe(statement, manager, types)
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
            f"two columns of the view have the name {quote_name(twice)}",
            hint="give one of them another name with AS",
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

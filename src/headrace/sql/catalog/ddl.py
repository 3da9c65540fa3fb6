"""Databases, tables, views and functions as statements, and read from them again.

A file has the statements that make what is in a catalog. Names have no catalog, as the file says
nothing of the name under which it is used. USE before a view says in which database its names are.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.errors import CatalogError, HeadraceError
from headrace.sql.catalog.define import define_table
from headrace.sql.catalog.listing import (
    create_table_text,
    create_view_text,
    options_text,
    quoted_text,
)
from headrace.sql.catalog.memory import MemoryCatalog
from headrace.sql.catalog.objects import (
    CatalogDatabase,
    CatalogFunction,
    CatalogTable,
    CatalogView,
)
from headrace.sql.definitions import Path
from headrace.sql.parsing import parse
from headrace.sql.statements import (
    CreateDatabase,
    CreateFunction,
    CreateTable,
    CreateView,
    Statement,
    Use,
)
from headrace.sql.types import quote_name


def to_ddl(content: MemoryCatalog, name: str) -> str:
    """Return the statements that make what is in a catalog, which is used as ``name``."""
    return "".join(f"{statement};\n\n" for statement in _statements(content, name))


def _statements(content: MemoryCatalog, name: str) -> Iterator[str]:
    for database in sorted(content.databases()):
        known = content.database(database)
        assert known is not None
        yield _create_database(database, known)
        views = []
        for each in sorted(content.relations(database)):
            path = _path(database, each)
            match content.relation(database, each):
                case CatalogTable() as table:
                    yield create_table_text(path, table, as_written=True).rstrip()
                case CatalogView() as view:
                    views.append((path, view))
        for path, view in views:
            catalog, current = view.database
            yield f"USE {_path(*((catalog, current) if catalog != name else (current,)))}"
            yield create_view_text(path, view).rstrip()
        for each in sorted(content.functions(database)):
            function = content.function(database, each)
            assert function is not None
            yield _create_function(_path(database, each), function)


def _create_database(name: str, database: CatalogDatabase) -> str:
    lines = [f"CREATE DATABASE {quote_name(name)}"]
    if database.comment:
        lines.append(f"COMMENT {quoted_text(database.comment)}")
    if database.options:
        lines.append(options_text(database.options))
    return "\n".join(lines)


def _create_function(path: str, function: CatalogFunction) -> str:
    identifier = quoted_text(function.identifier)
    return f"CREATE FUNCTION {path} AS {identifier} LANGUAGE {function.language}"


def _path(*names: str) -> str:
    return ".".join(map(quote_name, names))


def from_ddl(text: str, name: str, default_database: str) -> MemoryCatalog:
    """Return the catalog of a text that ``to_ddl`` made.

    Raises:
        CatalogError: a statement makes nothing of a catalog, or contradicts another.
        SqlParserError: the text is not SQL.
    """
    content = MemoryCatalog(default_database)
    content.drop_database(default_database)
    current: tuple[str, str] = (name, default_database)
    for statement in parse(text):
        if isinstance(statement, Use) and statement.kind == "DATABASE":
            path = statement.path
            current = (name, path[0]) if len(path) == 1 else (path[0], path[1])
            continue
        try:
            _add(content, statement, current)
        except HeadraceError as error:
            raise CatalogError(
                f"line {statement.line}: {error.message}", where=error.where, hint=error.hint
            ) from None
    if content.database(default_database) is None:
        content.put_database(default_database, CatalogDatabase())
    return content


def _add(content: MemoryCatalog, statement: Statement, current: tuple[str, str]) -> None:
    match statement:
        case CreateDatabase(path=(name,)):
            _check_new(content.database(name), statement.path)
            content.put_database(name, CatalogDatabase(statement.options, statement.comment or ""))
        case CreateTable(like=None, query=None, temporary=False):
            database, name = _place(content, statement.path)
            _check_new(content.relation(database, name), statement.path)
            content.put_relation(database, name, define_table(statement))
        case CreateView(temporary=False):
            database, name = _place(content, statement.path)
            _check_new(content.relation(database, name), statement.path)
            content.put_relation(database, name, _view(statement, current))
        case CreateFunction(temporary=False):
            database, name = _place(content, statement.path)
            _check_new(content.function(database, name.lower()), statement.path)
            function = CatalogFunction(statement.identifier, statement.language)
            content.put_function(database, name.lower(), function)
        case _:
            raise CatalogError(f"a catalog has no {type(statement).__name__}")


def _view(statement: CreateView, current: tuple[str, str]) -> CatalogView:
    return CatalogView(
        query=statement.query,
        text=statement.query_text,
        columns=statement.columns,
        database=current,
        comment=statement.comment or "",
        source=statement.source,
    )


def _place(content: MemoryCatalog, path: Path) -> tuple[str, str]:
    if len(path) != 2 or content.database(path[0]) is None:
        raise CatalogError(f"{_path(*path)} is in no database of the file")
    return path[0], path[1]


def _check_new(before: object, path: Path) -> None:
    if before is not None:
        raise CatalogError(f"{_path(*path)} occurs twice")

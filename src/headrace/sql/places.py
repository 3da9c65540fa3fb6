"""Where the parts of a statement stand in its text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headrace.errors import (
    CatalogError,
    ConfigurationError,
    HeadraceError,
    SqlValidationError,
    UnsupportedError,
)
from headrace.sql.definitions import Path
from headrace.sql.dialect.lexer import line_and_column, marked_line, tokenize
from headrace.sql.statements import CreateCatalog, Insert, Statement

if TYPE_CHECKING:
    from sqlglot import exp

POSITION = "position"
"""What an error calls the place of the part that is wrong."""

PLACED = (SqlValidationError, UnsupportedError, CatalogError)
"""The errors of planning that say where they are."""


def place_in(text: str, start: int) -> str:
    """Return the line and column of an offset, the text of the line, and a mark below it."""
    line, column = line_and_column(text, start)
    return "\n".join([f"line {line}, column {column}", *marked_line(text, start)])


def place_of(node: exp.Expr) -> str:
    """Return the position of a node, as ``place_in`` does; empty: it is not known."""
    source = node.meta.get("source")
    return "" if source is None else place_in(source, node.meta["start"])


def add_place(error: HeadraceError, node: exp.Expr) -> None:
    """Say in an error where it is, if it does not: the innermost node counts."""
    if POSITION not in error.where and (place := place_of(node)):
        error.where[POSITION] = place


@contextmanager
def placed_at(node: exp.Expr) -> Iterator[None]:
    """Give errors of planning the position of a node, if they have no position."""
    try:
        yield
    except PLACED as error:
        add_place(error, node)
        raise


@contextmanager
def not_too_deep() -> Iterator[None]:
    """Refuse a plan that is too deep for Python's recursion limit."""
    try:
        yield
    except RecursionError:
        raise SqlValidationError(
            "the statement is nested too deeply, with the views that it reads",
            hint="write a part of it into a table, or shorten a long chain of operators",
        ) from None


@contextmanager
def placed_by(statement: Statement) -> Iterator[None]:
    """Add the position of a statement to errors that have no position.

    The position is that of the name after the verb, or else the beginning of the statement.
    """
    try:
        with not_too_deep():
            yield
    except (*PLACED, ConfigurationError) as error:
        if POSITION not in error.where and statement.source:
            error.where = {POSITION: _place_of_statement(statement), **error.where}
        raise


def _place_of_statement(statement: Statement) -> str:
    lines = statement.source.split("\n")[: statement.line - 1]
    start = sum(len(line) + 1 for line in lines) + statement.column - 1
    return place_in(statement.source, start + _offset_of_name(statement.text, _name(statement)))


def _name(statement: Statement) -> str | None:
    match statement:
        case CreateCatalog():
            return statement.name
        case Insert():
            return statement.target[0]
    path: Path = getattr(statement, "path", ())
    return path[0] if path else None


def _offset_of_name(text: str, name: str | None) -> int:
    for token in tokenize(text)[1:]:
        spelled = token.value if token.kind == "name" else text[token.start : token.end]
        if token.kind in ("name", "word") and spelled == name:
            return token.start
    return 0

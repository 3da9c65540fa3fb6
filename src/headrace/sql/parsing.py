"""From texts to statements and trees; sqlglot is imported when the first one is read."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from headrace.common._extras import optional
from headrace.errors import SqlParserError, SqlValidationError
from headrace.sql.definitions import Path
from headrace.sql.statements import Describe, Statement

if TYPE_CHECKING:
    from sqlglot import exp


def parse(text: str) -> tuple[Statement, ...]:
    """Return the statements of a text, which are separated by semicolons.

    Raises:
        SqlParserError: the text is not SQL as Flink reads it.
        MissingExtraError: sqlglot is not installed.
    """
    optional("sqlglot")
    from headrace.sql.dialect.statements import StatementReader

    return StatementReader(text).statements()


def parse_one(text: str, taker: str) -> Statement:
    """Return the statement of a text; ``taker``: the caller that accepts only one, for the error.

    Raises:
        SqlValidationError: there are several, or none.
    """
    statements = parse(text)
    if len(statements) != 1:
        raise SqlValidationError(f"{taker} takes one statement, not {len(statements)}")
    return statements[0]


def expected_after(text: str) -> tuple[str, ...]:
    """Return what can follow the beginning of a text, as error messages name it.

    Words are in upper case, symbols in quotes; other entries say what can stand there, such as "a
    name". Empty: nothing can, as the text is wrong before its end.

    Raises:
        MissingExtraError: sqlglot is not installed.
    """
    optional("sqlglot")
    from headrace.sql.dialect.statements import StatementReader

    try:
        reader = StatementReader(text)
    except SqlParserError:
        return ()
    with suppress(SqlParserError):  # the text ends too early
        reader.statements()
    return reader.wanted_at_end()


def parse_path(text: str) -> Path:
    """Return the names of a path such as ``database.table``, with backticks where needed.

    As in Flink, reserved words need no backticks.

    Raises:
        SqlParserError: the text is not SQL.
        SqlValidationError: it is no path.
    """
    if re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", text):
        return tuple(text.split("."))
    statements = parse(f"DESCRIBE {text}")
    if len(statements) != 1 or not isinstance(statements[0], Describe):
        raise SqlValidationError(f"{text!r} is not a path of a table")
    return statements[0].path


def parse_expression(text: str) -> exp.Expr:
    """Return the tree of an expression.

    Raises:
        SqlParserError: the text is not an expression.
        MissingExtraError: sqlglot is not installed.
    """
    optional("sqlglot")
    from headrace.sql.dialect.statements import StatementReader

    return StatementReader(text).only(StatementReader.expression)

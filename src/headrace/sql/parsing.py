"""From texts to statements and trees; sqlglot is imported when the first one is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common._extras import optional
from headrace.sql.statements import Statement

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


def parse_expression(text: str) -> exp.Expr:
    """Return the tree of an expression.

    Raises:
        SqlParserError: the text is not an expression.
        MissingExtraError: sqlglot is not installed.
    """
    optional("sqlglot")
    from headrace.sql.dialect.statements import StatementReader

    return StatementReader(text).only(StatementReader.expression)

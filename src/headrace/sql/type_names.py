"""The types that names of types mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.sql.dialect.cursor import Cursor
from headrace.sql.dialect.type_grammar import read_type
from headrace.sql.types import SqlType

if TYPE_CHECKING:
    from sqlglot import exp


def parse_type(name: str | exp.Expr) -> SqlType:
    """Return the type of a name such as ``ARRAY<BIGINT NOT NULL>``.

    ``name``: a text, where VARCHAR and VARBINARY without a length have the length 1 as in Flink's
    API; or the node of a type in a statement.

    Raises:
        SqlParserError: the text is not the name of a type.
    """
    if not isinstance(name, str):
        kind = name.args["this"]
        assert isinstance(kind, SqlType), name
        return kind
    cursor = Cursor(name)
    kind = read_type(cursor, in_program=True)
    if cursor.token.kind != "end":
        cursor.want("the end of the type")
        cursor.fail()
    return kind

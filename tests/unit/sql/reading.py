"""Expressions from their text, for tests."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.sql.convert import Converter
from headrace.sql.dialect.queries import QueryReader
from headrace.sql.expressions import ColumnRef, Expression
from headrace.sql.types import SqlType


def expression(text: str, columns: Mapping[str, SqlType] | None = None) -> Expression:
    """Return the typed expression of a text over columns."""
    known = columns or {}

    def scope(names: tuple[str, ...]) -> Expression | None:
        kind = known.get(names[0]) if len(names) == 1 else None
        return None if kind is None else ColumnRef(kind, names[0])

    reader = QueryReader(text)
    tree = reader.expression()
    if reader.token.kind != "end":
        reader.fail()
    return Converter(scope).expression(tree)

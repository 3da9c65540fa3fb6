"""Texts of which methods of the Table API take one statement, or the path of a table."""

from __future__ import annotations

import pytest

from headrace.errors import SqlParserError, SqlValidationError
from headrace.sql.parsing import parse_one, parse_path


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("t", ("t",)),
        ("c.d.t", ("c", "d", "t")),
        ("`a b`.t", ("a b", "t")),
        ("order.table", ("order", "table")),
        ("`a``b`", ("a`b",)),
    ],
)
def test_a_path_has_the_names_between_its_dots(text: str, path: tuple[str, ...]) -> None:
    assert parse_path(text) == path


@pytest.mark.parametrize("text", ["", "a b", "a.", "`a", "CATALOG c; SHOW TABLES"])
def test_another_text_is_no_path(text: str) -> None:
    with pytest.raises((SqlParserError, SqlValidationError)):
        parse_path(text)


@pytest.mark.parametrize(("text", "count"), [("", 0), ("SELECT 1; SELECT 2", 2)])
def test_one_statement_is_taken(text: str, count: int) -> None:
    with pytest.raises(SqlValidationError, match=f"f\\(\\) takes one statement, not {count}"):
        parse_one(text, "f()")

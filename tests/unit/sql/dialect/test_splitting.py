"""Where statements of a text end."""

from __future__ import annotations

import pytest

from headrace.errors import SqlParserError
from headrace.sql.dialect.splitting import pieces_of, split
from headrace.sql.parsing import expected_after, parse

SET = "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT CASE b WHEN 1 END; INSERT INTO b q; END"


@pytest.mark.parametrize(
    ("text", "statements", "rest"),
    [
        ("SELECT 1; SELECT 2", ["SELECT 1"], "SELECT 2"),
        ("SELECT ';' ; SELECT `;`;", ["SELECT ';'", "SELECT `;`"], ""),
        ("-- a;\nSELECT 1 -- ;\n + 2; /* ; */", ["SELECT 1 -- ;\n + 2"], ""),
        (f"{SET}; SELECT 1;", [SET, "SELECT 1"], ""),
        ("BEGIN STATEMENT SET; INSERT INTO a q;", ["BEGIN STATEMENT SET", "INSERT INTO a q"], ""),
        (SET.removesuffix(" END") + ";", [], SET.removesuffix(" END") + ";"),
        ("SELECT 'it''s", [], "SELECT 'it''s"),
        ("SELECT /* open ;", [], "SELECT /* open ;"),
        ('SELECT "a;b";', ['SELECT "a', 'b"'], ""),
        (" ;; \n", [], ""),
    ],
)
def test_a_text_is_split(text: str, statements: list[str], rest: str) -> None:
    pieces, left = split(text)
    assert [each.text for each in pieces] == statements
    assert left == rest


def test_the_last_statement_of_a_file_needs_no_semicolon() -> None:
    assert [each.text for each in pieces_of("SELECT 1;\nSELECT 2\n")] == ["SELECT 1", "SELECT 2"]
    assert pieces_of("SELECT 1;\n-- the end\n") == pieces_of("SELECT 1;")


def test_errors_of_a_piece_have_the_line_of_the_whole_text() -> None:
    _, piece = pieces_of("SELECT 1;\n  SELECT 2\n  FROM WHERE")
    with pytest.raises(SqlParserError, match="line 3, column 8"):
        parse(piece.placed)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "SELECT"),
        ("SELECT 1; ", "CREATE"),
        ("SELECT a ", "FROM"),
        ("SELECT a FROM ", "a table"),
        ("DROP ", "TABLE"),
        ("SELECT a FROM t WHERE ", "an expression"),
    ],
)
def test_what_can_follow_is_known(text: str, expected: str) -> None:
    assert expected in expected_after(text)


@pytest.mark.parametrize("text", ["SELCT 1 ", "SELECT 'open", "SELECT FROM WHERE "])
def test_nothing_follows_a_wrong_beginning(text: str) -> None:
    assert expected_after(text) == ()

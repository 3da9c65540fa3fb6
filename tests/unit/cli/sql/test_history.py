"""The statements that were entered before."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cli.sql.history import (
    KEPT_STATEMENTS,
    HistoryFile,
    _escaped,
    _unescaped,
    one_line,
)


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        ("SELECT a, -- the a\n  b\nFROM t", "SELECT a, b FROM t"),
        ("SELECT f(a) /* x */ + 1", "SELECT f(a) + 1"),
        ("SELECT 'a\nb'", "SELECT 'a\nb'"),
        ("SELECT 'open", "SELECT 'open"),
    ],
)
def test_a_statement_becomes_one_line(statement: str, line: str) -> None:
    assert one_line(statement) == line


def test_statements_are_kept_for_the_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "history"
    assert HistoryFile(path).read() == []
    statements = ["SELECT 'a\nb'", "SELECT '\\n'"]
    for statement in statements:
        HistoryFile(path).append(statement)
    assert HistoryFile(path).read() == statements
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_long_file_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_text("".join(f"SELECT {n}\n" for n in range(3 * KEPT_STATEMENTS)))
    found = HistoryFile(path).read()
    assert found[-1] == f"SELECT {3 * KEPT_STATEMENTS - 1}"
    assert len(found) == len(path.read_text().splitlines()) == KEPT_STATEMENTS


@given(st.text("ab\\nr\n\r"))
def test_what_is_kept_comes_back(statement: str) -> None:
    assert _unescaped(_escaped(statement)) == statement
    assert len(_escaped(statement).splitlines()) <= 1

"""sqlglot is imported only when a statement is read."""

from __future__ import annotations

import subprocess
import sys

import pytest

from headrace.errors import MissingExtraError
from headrace.sql.parsing import parse


def test_nothing_imports_sqlglot_before_a_statement() -> None:
    program = """
import sys
import headrace, headrace.sql.catalog.execute, headrace.sql.catalog.listing
from headrace.sql.type_names import parse_type
parse_type("ARRAY<INT>")
assert "sqlglot" not in sys.modules
from headrace.sql.parsing import parse
parse("SELECT 1")
assert "sqlglot" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_without_sqlglot_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(MissingExtraError, match=r"SQL needs the package 'sqlglot'") as caught:
        parse("SELECT 1")
    assert "headrace[sql]" in str(caught.value.hint)

"""Trees are written so that they are read again as the same trees."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from headrace.sql.dialect.printing import Flink, to_sql
from headrace.sql.parsing import parse
from headrace.sql.statements import Query


def tree_of(text: str) -> exp.Expr:
    (found,) = parse(text)
    assert isinstance(found, Query)
    return found.tree


def without_quotes(tree: exp.Expr) -> exp.Expr:
    tree = tree.copy()
    for each in tree.find_all(exp.Identifier):
        each.set("quoted", False)
    return tree


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("SELECT a.b AS `c d` FROM c.d.t x", "SELECT `a`.`b` AS `c d` FROM `c`.`d`.`t` AS `x`"),
        ("SELECT NOT a IS NULL", "SELECT `a` IS NOT NULL"),
        ("SELECT a NOT BETWEEN SYMMETRIC 1 AND 2", "SELECT `a` NOT BETWEEN SYMMETRIC 1 AND 2"),
        ("SELECT a < NOT b IS NULL", "SELECT `a` < NOT `b` IS NULL"),
        ("SELECT a IS NOT NULL = b", "SELECT `a` IS NOT NULL = `b`"),
        ("SELECT 2 * INTERVAL a DAY", "SELECT 2 * (`a` * INTERVAL '1' DAY)"),
        ("VALUES (SELECT 1), 2, (3, 4)", "VALUES (SELECT 1), (2), (3, 4)"),
        ("SELECT a / b, c % d", "SELECT `a` / `b`, `c` % `d`"),
        ("SELECT DATE '2024-01-31'", "SELECT DATE '2024-01-31'"),
        ("SELECT CURRENT_DATE, f()", "SELECT CURRENT_DATE, f()"),
        (
            "SELECT * FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' MINUTES) w",
            "SELECT * FROM TABLE(TUMBLE(TABLE `t`, DESCRIPTOR(`ts`), INTERVAL '5' MINUTE)) AS `w`",
        ),
        (
            "SELECT JSON_VALUE(a, '$' RETURNING INT DEFAULT 0 ON EMPTY)",
            "SELECT JSON_VALUE(`a`, '$' RETURNING INT DEFAULT 0 ON EMPTY)",
        ),
        (
            "SELECT INTERVAL '1 10' DAY(3) TO HOUR, TRIM(LEADING FROM a)",
            "SELECT INTERVAL '1 10' DAY(3) TO HOUR, TRIM(LEADING ' ' FROM `a`)",
        ),
    ],
)
def test_how_a_tree_is_written(text: str, written: str) -> None:
    assert to_sql(tree_of(text)) == written


def test_the_statements_that_flink_reads_are_read_again(accepted: list[str]) -> None:
    trees = [each.tree for text in accepted for each in parse(text) if isinstance(each, Query)]
    assert len(trees) > 250
    for tree in trees:
        assert without_quotes(tree_of(to_sql(tree))) == without_quotes(tree)


def test_sqlglot_reads_and_writes_the_dialect() -> None:
    assert sqlglot.parse_one("SELECT a FROM t", read=Flink).sql(dialect=Flink) == "SELECT a FROM t"

"""Which conditions over floats are rewritten, as Flink's optimizer does."""

from __future__ import annotations

import pytest

from headrace.sql.types import BOOLEAN, DOUBLE, FLOAT, INT
from tests.unit.sql.reading import expression

COLUMNS = {"d": DOUBLE, "f": FLOAT, "i": INT, "b": BOOLEAN, "n": DOUBLE.with_nullable(False)}


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("NOT (d < 0.5E0)", ">=(`d`, 0.5)"),
        ("NOT (i > d)", "<=(CAST(`i` AS DOUBLE), `d`)"),
        ("NOT (f = 0 OR b)", "AND(<>(`f`, CAST(0 AS FLOAT NOT NULL)), NOT(`b`))"),
        ("NOT (d < f AND i < 3)", "OR(>=(`d`, CAST(`f` AS DOUBLE)), >=(`i`, 3))"),
        ("NOT (NOT (d < n))", "<(`d`, `n`)"),
        ("d NOT BETWEEN n AND d", "OR(<(`d`, `n`), >(`d`, `d`))"),
        (
            "NOT (CASE WHEN b THEN d < n WHEN i = 1 THEN b ELSE b END)",
            "CASE(`b`, >=(`d`, `n`), =(`i`, 1), NOT(`b`), NOT(`b`))",
        ),
        ("NOT (i < 3)", "NOT(<(`i`, 3))"),
        ("NOT (b OR i < 3)", "NOT(OR(`b`, <(`i`, 3)))"),
        ("NOT (d IS NULL)", "NOT(IS NULL(`d`))"),
        ("n <= n", "TRUE"),
        ("n <> n", "FALSE"),
        ("d = d", "CASE(IS NOT NULL(`d`), TRUE, NULL)"),
        ("d > d", "CASE(IS NOT NULL(`d`), FALSE, NULL)"),
        ("i = i", "=(`i`, `i`)"),
    ],
)
def test_conditions(text: str, plan: str) -> None:
    assert str(expression(text, COLUMNS)) == plan

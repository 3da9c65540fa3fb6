"""Which conditions are part of what makes a changelog of rows that replace others."""

from __future__ import annotations

import pytest

from headrace.common.changelog_mode import ChangelogMode
from headrace.sql.expressions import ColumnRef
from headrace.sql.rel import Calc, ChangelogNormalize, Column, Rel, Scan
from headrace.sql.rules.normalize import with_normalized_sources
from headrace.sql.types import INT
from tests.unit.sql.reading import expression

pytest.importorskip("sqlglot")

SCAN = Scan(("c", "d", "t"), (Column("a", INT),), primary_key=("a",))


def normalized(condition: str) -> Rel:
    where = expression(condition, {"a": INT})
    query = Calc(SCAN, ("a",), (ColumnRef(INT, "a"),), where)
    return with_normalized_sources(query, lambda _: ChangelogMode.upsert(), duplicates=False)


def test_a_condition_over_rows_is_part_of_it() -> None:
    made = normalized("a > 1")
    assert isinstance(made, Calc) and made.condition is None
    assert isinstance(made.input, ChangelogNormalize) and made.input.condition is not None


@pytest.mark.parametrize("condition", ["RAND() < 0.5", "a > 1 AND RAND() < 0.5"])
def test_a_random_condition_stays_above(condition: str) -> None:
    made = normalized(condition)
    assert isinstance(made, Calc) and made.condition is not None
    assert isinstance(made.input, ChangelogNormalize) and made.input.condition is None

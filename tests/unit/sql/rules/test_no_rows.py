"""Aggregations of no rows are rows."""

from __future__ import annotations

import pytest

from headrace.sql.rel import Aggregate, AggregateCall, Calc, Column, Rel, Scan, Values, reference
from headrace.sql.rules.no_rows import with_results_of_empty_inputs
from headrace.sql.types import BIGINT, INT

COLUMNS = (Column("a", INT),)
NOTHING = Calc(Values((), COLUMNS), ("a",), (reference(COLUMNS[0]),))
COUNT = AggregateCall("n", "COUNT", (), BIGINT.with_nullable(False))
SUM = AggregateCall("s", "SUM", ("a",), INT)


def test_a_count_of_no_rows_is_0() -> None:
    made = with_results_of_empty_inputs(Aggregate(NOTHING, (), (COUNT, SUM)))
    assert isinstance(made, Values) and made.columns == (Column("n", COUNT.type), Column("s", INT))
    assert [[each.value for each in row] for row in made.rows] == [[0, None]]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "rel",
    [
        Aggregate(NOTHING, ("a",), (COUNT,)),
        Aggregate(Scan(("c", "d", "t"), COLUMNS), (), (COUNT,)),
        Aggregate(NOTHING, (), (AggregateCall("l", "COLLECT", ("a",), INT),)),
    ],
)
def test_other_aggregations_stay(rel: Rel) -> None:
    assert with_results_of_empty_inputs(rel) == rel

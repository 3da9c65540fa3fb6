"""Which aggregations have groups of one row, and what they become."""

from __future__ import annotations

import pytest

from headrace.sql.rel import Aggregate, AggregateCall, Calc, Column, Rel, Scan
from headrace.sql.rules.unique_groups import without_single_row_groups
from headrace.sql.types import BIGINT, INT, DecimalType

SCAN = Scan(
    ("c", "d", "t"),
    (Column("a", INT), Column("b", INT), Column("p", DecimalType(5, 2))),
    primary_key=("a",),
)
COUNT = AggregateCall("n", "COUNT", (), BIGINT.with_nullable(False))


def total(of: str = "b", **given: object) -> AggregateCall:
    return AggregateCall("s", "SUM", (of,), INT, **given)  # type: ignore[arg-type]


def grouped(rel: Rel, keys: tuple[str, ...], *calls: AggregateCall) -> Rel:
    return without_single_row_groups(Aggregate(rel, keys, calls))


@pytest.mark.parametrize("keys", [("a",), ("b", "a")])
def test_a_sum_by_the_primary_key_is_the_value(keys: tuple[str, ...]) -> None:
    made = grouped(SCAN, keys, total())
    assert isinstance(made, Calc) and made.input == SCAN
    assert [(each.name, each.type) for each in made.columns] == [
        *((key, INT) for key in keys),
        ("s", INT),
    ]


def test_results_have_their_types() -> None:
    wide = DecimalType(38, 2)
    made = grouped(SCAN, ("a",), AggregateCall("s", "SUM", ("p",), wide))
    assert isinstance(made, Calc) and made.columns[-1] == Column("s", wide)


def test_keys_of_the_inner_aggregation_are_a_key() -> None:
    inner = Aggregate(SCAN, ("b",), (COUNT,))
    made = grouped(inner, ("b",), AggregateCall("m", "MAX", ("n",), BIGINT))
    assert isinstance(made, Calc) and made.input == inner


@pytest.mark.parametrize(
    "made",
    [
        grouped(SCAN, ("b",), total()),
        grouped(SCAN, (), total()),
        grouped(SCAN, ("a",), COUNT),
        grouped(SCAN, ("a",), total(filter="b")),
        grouped(SCAN, ("a",), total(), COUNT),
    ],
)
def test_other_aggregations_stay(made: Rel) -> None:
    assert isinstance(made, Aggregate)

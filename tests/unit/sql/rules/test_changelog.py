"""Which row kinds relations give, with and without a time-to-live of state."""

from __future__ import annotations

import pytest

from headrace.common.changelog_mode import ChangelogMode
from headrace.sql.aggregates.table import KEY_VALUE
from headrace.sql.rel import Aggregate, AggregateCall, Column, Rel, Scan, SetOperation, Union
from headrace.sql.rules.changelog import INSERTS, changelog_mode
from headrace.sql.types import INT

SCAN = Scan(("c", "d", "t"), (Column("k", INT),))
DISTINCT = Aggregate(SCAN, ("k",), ())
VALUE = AggregateCall("k1", KEY_VALUE.name, ("k",), INT)


def mode_of(rel: Rel, ttl_ms: int | None, batch: bool = False) -> ChangelogMode:
    return changelog_mode(rel, lambda _: INSERTS, batch, ttl_ms)


@pytest.mark.parametrize(
    "rel",
    [
        DISTINCT,
        Aggregate(SCAN, ("k",), (VALUE,)),
        SetOperation(SCAN, SCAN, "INTERSECT", all=False),
        Union((SCAN, DISTINCT)),
        Aggregate(DISTINCT, ("k",), ()),
    ],
    ids=["DISTINCT", "values of keys", "INTERSECT", "UNION", "twice"],
)
def test_rows_that_stay_are_given_again_with_a_time_to_live(rel: Rel) -> None:
    for without in (0, None):
        assert mode_of(rel, without) == INSERTS
    assert mode_of(rel, 1) != INSERTS
    assert mode_of(rel, 1, batch=True) == INSERTS


def test_a_hint_is_stronger() -> None:
    hinted = Aggregate(SCAN, ("k",), (), ttl_ms=5)
    assert mode_of(hinted, 0) == ChangelogMode.updates()
    assert mode_of(hinted, None) == INSERTS
    assert mode_of(Aggregate(SCAN, ("k",), (), ttl_ms=0), 5) == INSERTS

"""GROUP BY: state that expires, in both ways of computing, both backends, with mini-batches."""

from __future__ import annotations

from typing import Any, Literal

import pyarrow as pa
import pytest

from headrace.common.types import RowKind, row_of
from headrace.operators.columns.accumulator import Aggregated
from headrace.operators.columns.group_aggregate import GroupAggregateSpec
from headrace.sql.aggregates.table import AGGREGATES, make_accumulator
from headrace.sql.types import BIGINT, STRING, SqlType
from headrace.testing import KeyedHarness

TTL_MS = 1000
SCHEMA = pa.schema([("k", pa.string()), ("v", pa.int64()), ("w", pa.string())])
TYPES: dict[str, SqlType] = {"v": BIGINT, "w": STRING}
WAYS = {"over arrays": ("SUM", "v"), "row by row": ("MAX", "w")}
KINDS = {each.sign: each for each in RowKind}

Backend = Literal["heap", "paged"]


def harness(way: str, backend: Backend = "heap", **spec: Any) -> KeyedHarness:
    name, field = WAYS[way]
    result = AGGREGATES[name].type([TYPES[field]])
    assert result is not None
    made = make_accumulator(
        AGGREGATES[name], [TYPES[field]], result, distinct=False, retracts=False
    )
    out = SCHEMA.field(field).type
    described = GroupAggregateSpec(
        ("k",),
        (Aggregated(made, (field,), None),),
        SCHEMA,
        pa.schema([("k", pa.string()), ("r", out)]),
        **{"ttl_ms": TTL_MS} | spec,
    )
    return KeyedHarness(described, lambda row: row.k, backend=backend)


def add(of: KeyedHarness, key: str, number: int | None) -> list[str]:
    """The changes that a row makes, with results as texts."""
    of.clear_output()
    of.process(row_of(("k", "v", "w"), [key, number, None if number is None else f"{number}"]))
    return [f"{each.get_row_kind().sign}{each.k}{each.r}" for each in of.output()]


every_way = pytest.mark.parametrize("way", WAYS)
every_backend = pytest.mark.parametrize("backend", ["heap", "paged"])
folded_or_not = pytest.mark.parametrize("folds", [False, True])


@every_way
@every_backend
@folded_or_not
def test_state_is_gone_after_its_time(way: str, backend: Backend, folds: bool) -> None:
    with harness(way, backend, folds=folds) as group:
        assert add(group, "a", 1) == ["+Ia1"]
        group.advance_processing_time(TTL_MS - 1)
        again = "2" if way == "row by row" else "3"
        assert add(group, "a", 2) == ["-Ua1", f"+Ua{again}"]
        group.advance_processing_time(2 * TTL_MS - 1)
        assert add(group, "a", 1) == ["+Ia1"]
        assert group.keys() == ["a"]


@every_way
@every_backend
def test_what_has_expired_is_removed_though_nobody_asks(way: str, backend: Backend) -> None:
    with harness(way, backend) as group:
        add(group, "a", 1)
        group.advance_processing_time(TTL_MS - 1)
        add(group, "b", 1)
        assert sorted(group.keys()) == ["a", "b"]
        group.advance_processing_time(TTL_MS + TTL_MS // 8)
        group.process(row_of(("k", "v", "w"), ["c", 1, "1"]))
        assert sorted(group.keys()) == ["b", "c"]


@every_way
@folded_or_not
def test_results_that_stay_are_given_again(way: str, folds: bool) -> None:
    """So what is downstream keeps its state as long; without a time to live they are not."""
    with harness(way, folds=folds) as group:
        add(group, "a", 1)
        assert add(group, "a", None) == ["-Ua1", "+Ua1"]
    with harness(way, folds=folds, ttl_ms=0) as group:
        add(group, "a", 1)
        assert add(group, "a", None) == []


@every_way
@every_backend
def test_a_savepoint_has_the_times(way: str, backend: Backend) -> None:
    with harness(way, "heap") as group, harness(way, backend) as other:
        add(group, "a", 1)
        group.advance_processing_time(10)
        add(group, "b", 1)
        other.restore(group.snapshot())
        other.advance_processing_time(TTL_MS)
        assert add(other, "a", 1) == ["+Ia1"]
        assert add(other, "b", 1)[0] == "-Ub1"

"""State with a time-to-live, in each operator of SQL that keeps a value for each key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, Literal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common.types import Row, RowKind, row_of
from headrace.operators.columns.accumulator import Aggregated
from headrace.operators.columns.changelog_normalize import ChangelogNormalizeSpec
from headrace.operators.columns.group_aggregate import GroupAggregateSpec
from headrace.operators.columns.limit import LimitSpec
from headrace.operators.columns.materialize import UpsertMaterializerSpec
from headrace.operators.columns.set_operation import SetKind, SetOperationSpec
from headrace.runtime.operator import OperatorSpec
from headrace.sql.aggregates.table import AGGREGATES, make_accumulator
from headrace.sql.types import BIGINT
from headrace.testing import KeyedHarness
from headrace.testing._snapshot import pending_timers
from tests.effort import examples

TTL_MS = 1000
LATEST_CLEANUP_MS = TTL_MS + TTL_MS // 8
SCHEMA = pa.schema([("k", pa.string()), ("v", pa.int64())])
KINDS = {each.sign: each for each in RowKind}

Backend = Literal["heap", "paged"]
Given = tuple[int, str, str, int]
"""The time after the row before, the kind of a row, its key and its number."""


def set_operation(operation: SetKind, counted: bool, ttl_ms: int) -> OperatorSpec:
    """Rows of ``k``; those with a ``v`` other than 0 are of the left input."""
    result = pa.schema([SCHEMA.field("k")])
    return SetOperationSpec(operation, counted, "v", SCHEMA, result, ttl_ms=ttl_ms)


def grouping(function: str, ttl_ms: int, folds: bool) -> OperatorSpec:
    of = AGGREGATES[function]
    result = of.type([BIGINT])
    assert result is not None
    made = make_accumulator(of, [BIGINT], result, distinct=False, retracts=True)
    out = pa.schema([("k", pa.string()), ("v", pa.int64())])
    return GroupAggregateSpec(
        ("k",),
        (Aggregated(made, ("v",), None),),
        SCHEMA,
        out,
        retracts=True,
        folds=folds,
        ttl_ms=ttl_ms,
    )


SPECS: dict[str, Callable[[int], OperatorSpec]] = {
    "ChangelogNormalize": lambda ttl: ChangelogNormalizeSpec(("k",), SCHEMA, ttl_ms=ttl),
    "ChangelogNormalize of micro-batches": lambda ttl: ChangelogNormalizeSpec(
        ("k",), SCHEMA, folds=True, ttl_ms=ttl
    ),
    "GroupAggregate over arrays": lambda ttl: grouping("SUM", ttl, False),
    "GroupAggregate over arrays, of micro-batches": lambda ttl: grouping("SUM", ttl, True),
    "GroupAggregate by row": lambda ttl: grouping("FIRST_VALUE", ttl, False),
    "GroupAggregate by row, of micro-batches": lambda ttl: grouping("FIRST_VALUE", ttl, True),
    "INTERSECT": lambda ttl: set_operation("INTERSECT", False, ttl),
    "INTERSECT ALL": lambda ttl: set_operation("INTERSECT", True, ttl),
    "EXCEPT": lambda ttl: set_operation("EXCEPT", False, ttl),
    "EXCEPT ALL": lambda ttl: set_operation("EXCEPT", True, ttl),
    "Limit": lambda ttl: LimitSpec(1, 3, SCHEMA, ttl),
    "SinkUpsertMaterializer": lambda ttl: UpsertMaterializerSpec(SCHEMA, None, ttl),
    "SinkUpsertMaterializer with a key": lambda ttl: UpsertMaterializerSpec(SCHEMA, ("k",), ttl),
}
every_operator = pytest.mark.parametrize("operator", SPECS)
every_backend = pytest.mark.parametrize("backend", ["heap", "paged"])


def harness(operator: str, backend: Backend = "heap", ttl_ms: int = TTL_MS) -> KeyedHarness:
    return KeyedHarness(SPECS[operator](ttl_ms), lambda row: row.k, backend=backend)


def make(kind: str, key: str, number: int) -> Row:
    row = row_of(("k", "v"), [key, number])
    row.set_row_kind(KINDS[kind])
    return row


def add(of: KeyedHarness, kind: str, key: str, number: int) -> list[str]:
    """The changes that a row makes."""
    of.clear_output()
    of.process(make(kind, key, number))
    return ["".join([each.get_row_kind().sign, *map(str, each)]) for each in of.output()]


def run(of: KeyedHarness, rows: Iterable[Given]) -> list[tuple[str, ...]]:
    """The changes that each row makes."""
    found = []
    for after_ms, kind, key, number in rows:
        of.advance_processing_time(of.clock() + after_ms)
        found.append(tuple(add(of, kind, key, number)))
    return found


def timers(of: KeyedHarness) -> list[int]:
    """The times of all timers, also of those that remove state."""
    return [timer.time_ms for timer in pending_timers(of._backend().processing_timers)]


kinds = st.sampled_from(["+I", "+U", "-U", "-D"])
rows = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 400, 999, 1000]), kinds, st.sampled_from("ab"), st.integers(0, 1)
    ),
    max_size=14,
)


@settings(max_examples=examples(40), deadline=None)
@given(rows, st.sampled_from(["heap", "paged"]), st.sampled_from([*SPECS]))
def test_nothing_is_left_after_the_time(rows: list[Given], backend: Any, operator: str) -> None:
    inserts = [(ms, "+I", key, v) for ms, _, key, v in rows]
    with harness(operator, backend) as of:
        run(of, inserts if operator == "Limit" else rows)
        of.advance_processing_time(of.clock() + LATEST_CLEANUP_MS)
        assert of.keys() == []
        assert timers(of) == []


@settings(max_examples=examples(60), deadline=None)
@given(rows, st.sampled_from([*SPECS]))
def test_a_life_after_the_time_is_as_the_first(rows: list[Given], operator: str) -> None:
    """Rows of one key, in parts: a long time between two of them."""
    inserts = [(ms % 400, "+I" if operator == "Limit" else kind, "a", v) for ms, kind, _, v in rows]
    with harness(operator) as once, harness(operator) as again:
        first = run(once, inserts)
        run(again, inserts)
        again.advance_processing_time(again.clock() + TTL_MS)
        assert run(again, inserts) == first


@settings(max_examples=examples(40), deadline=None)
@given(rows, st.integers(0, 14), st.sampled_from([*SPECS]))
def test_a_restart_changes_nothing(rows: list[Given], cut: int, operator: str) -> None:
    given = [(ms, "+I" if operator == "Limit" else kind, key, v) for ms, kind, key, v in rows]
    with harness(operator) as one, harness(operator, "paged") as two, harness(operator) as whole:
        before = run(one, given[:cut])
        two.restore(one.snapshot())
        assert before + run(two, given[cut:]) == run(whole, given)
        two.advance_processing_time(two.clock() + LATEST_CLEANUP_MS)
        assert two.keys() == []
        assert timers(two) == []


@every_operator
@every_backend
def test_the_time_begins_with_the_last_change(operator: str, backend: Backend) -> None:
    with harness(operator, backend) as of:
        run(of, [(0, "+I", "a", 1)])
        for _ in range(2):
            run(of, [(TTL_MS - 1, "+I", "a", 1)])
        of.advance_processing_time(of.clock() + TTL_MS - 1)
        assert of.keys() == ["a"]
        of.advance_processing_time(of.clock() + LATEST_CLEANUP_MS)
        assert of.keys() == []


@every_operator
def test_without_a_time_state_stays(operator: str) -> None:
    with harness(operator, ttl_ms=0) as of:
        add(of, "+I", "a", 1)
        of.advance_processing_time(10**12)
        assert of.keys() == ["a"]
        assert timers(of) == []


@every_operator
def test_few_timers_are_needed(operator: str) -> None:
    with harness(operator) as of:
        run(of, [(1, "+I", "a", 1)] * 500)
        assert len(timers(of)) <= 9


NORMALIZE = "ChangelogNormalize"


def test_a_row_after_its_time_is_new() -> None:
    with harness(NORMALIZE) as of:
        assert add(of, "+U", "a", 1) == ["+Ia1"]
        of.advance_processing_time(TTL_MS - 1)
        assert add(of, "+U", "a", 2) == ["-Ua1", "+Ua2"]
        of.advance_processing_time(2 * TTL_MS - 1)
        assert add(of, "-D", "a", 2) == []
        assert add(of, "+U", "a", 3) == ["+Ia3"]


def test_a_row_that_is_there_is_given_again() -> None:
    """So what is downstream keeps its state as long."""
    with harness(NORMALIZE) as of:
        add(of, "+U", "a", 1)
        assert add(of, "+U", "a", 1) == ["-Ua1", "+Ua1"]
    with harness(NORMALIZE, ttl_ms=0) as of:
        add(of, "+U", "a", 1)
        assert add(of, "+U", "a", 1) == []


def test_counting_of_a_limit_begins_anew() -> None:
    with harness("Limit") as of:
        found = [add(of, "+I", "a", each) for each in range(6)]
        assert found == [[], ["+Ia1"], ["+Ia2"], ["+Ia3"], [], []]
        of.advance_processing_time(TTL_MS - 1)
        assert add(of, "+I", "a", 6) == []  # it is not counted, so the time does not begin again
        of.advance_processing_time(TTL_MS)
        assert [add(of, "+I", "a", each) for each in (7, 8)] == [[], ["+Ia8"]]


def test_rows_after_their_time_are_not_found() -> None:
    for operator in ("SinkUpsertMaterializer", "SinkUpsertMaterializer with a key"):
        with harness(operator) as of:
            assert add(of, "+I", "a", 1) == ["+Ia1"]
            of.advance_processing_time(TTL_MS - 1)
            assert add(of, "-D", "b", 1) == []
            of.advance_processing_time(TTL_MS)
            assert add(of, "-D", "a", 1) == []
            assert add(of, "+I", "a", 3) == ["+Ia3"]


def test_a_row_that_is_not_found_does_not_begin_the_time_again() -> None:
    with harness("SinkUpsertMaterializer") as of:
        add(of, "+I", "a", 1)
        of.advance_processing_time(TTL_MS - 1)
        assert add(of, "-D", "a", 2) == []
        of.advance_processing_time(TTL_MS)
        assert add(of, "-D", "a", 1) == []


def test_the_rows_of_a_key_have_one_time() -> None:
    with harness("SinkUpsertMaterializer") as of:
        assert [add(of, "+I", "a", each) for each in (1, 2)] == [["+Ia1"], ["+Ua2"]]
        of.advance_processing_time(TTL_MS - 1)
        assert add(of, "-U", "a", 1) == []
        of.advance_processing_time(2 * TTL_MS - 2)
        assert add(of, "-U", "a", 2) == ["-Da2"]


@every_operator
@pytest.mark.parametrize(("before", "after"), [*pairwise([0, TTL_MS, 5 * TTL_MS, 0, 300])])
def test_the_time_may_change_between_runs(operator: str, before: int, after: int) -> None:
    with harness(operator, "paged", before) as one, harness(operator, "paged", after) as two:
        add(one, "+I", "a", 1)
        add(one, "+I", "b", 1)
        two.restore(one.snapshot())
        if after:
            two.advance_processing_time(after - 1)
            assert sorted(two.keys()) == ["a", "b"]
            two.advance_processing_time(2 * max(before, after))
            two.advance_processing_time(4 * max(before, after))
            assert two.keys() == []
            assert timers(two) == []
        else:
            two.advance_processing_time(100 * TTL_MS)
            assert sorted(two.keys()) == ["a", "b"]

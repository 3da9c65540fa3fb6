"""Columns go through several keyed stages, and give what rows give, however it is cut."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.common import Configuration, Time, Types, WatermarkStrategy
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.operators.reduce import ReduceOperator
from headrace.operators.windows.aligned.columns import ColumnWindowOperator
from headrace.operators.windows.aligned.operator import AlignedWindowOperator
from headrace.runtime.columns.selectors import TimestampColumn
from headrace.testing import run_pipeline
from tests.effort import examples
from tests.pipelines.test_folds_over_columns import small_pieces

__all__ = ["small_pieces"]

RECORDS = 150
TIMES = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimestampColumn("at"))


def records(indexes: Any) -> dict[str, Any]:
    users = indexes * 7919 % 11
    return {"user": users, "group": users % 3, "amount": indexes * 31 % 17 - 4, "at": indexes}


def rows() -> list[dict[str, Any]]:
    import numpy as np

    return pa.record_batch(records(np.arange(RECORDS))).to_pylist()


def source(columns: bool) -> DataStream:
    settings = {
        "headrace.columns.enabled": str(columns).lower(),
        "headrace.state.page-bytes": "200",
        "headrace.watermark.chunk-records": "17",
    }
    env = StreamExecutionEnvironment(Configuration.from_dict(settings))
    return env.from_source(DataGeneratorSource.of_columns(records, RECORDS), TIMES, "records")


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many records came to reductions and windows, as columns and as rows."""
    found: Counter[str] = Counter()

    def watch(kind: type[Any], method: str, what: str) -> None:
        inner = getattr(kind, method)

        def outer(self: Any, keys: Any, values: Any, *more: Any) -> None:
            found[what] += len(values)
            inner(self, keys, values, *more)

        monkeypatch.setattr(kind, method, outer)

    for kind, of_rows in ((ReduceOperator,) * 2, (ColumnWindowOperator, AlignedWindowOperator)):
        watch(of_rows, "process", "rows")
        watch(kind, "process_columns", "columns")
    return found


def rolling(columns: bool) -> DataStream:
    """The sums of each user, and of all these sums by group."""
    return source(columns).key_by("user").sum("amount").key_by("group").sum("amount")


def sums_of_sums() -> dict[int, int]:
    of_users, of_groups = defaultdict[int, int](int), defaultdict[int, int](int)
    for row in rows():
        of_users[row["user"]] += row["amount"]
        of_groups[row["group"]] += of_users[row["user"]]
    return dict(of_groups)


def windowed(columns: bool) -> DataStream:
    """The sums of each user in 10 ms, and of these by group in 30 ms."""
    small, large = (TumblingEventTimeWindows.of(Time.milliseconds(ms)) for ms in (10, 30))
    users = source(columns).key_by("user").window(small).sum("amount")
    return users.key_by("group").window(large).sum("amount")


def sums_of_windows() -> Counter[tuple[int, int]]:
    found = defaultdict[tuple[int, int], int](int)
    for row in rows():
        found[row["group"], row["at"] // 30] += row["amount"]
    return Counter((group, total) for (group, _), total in found.items())


CUTS = st.lists(st.integers(1, 60), max_size=8)


@settings(max_examples=examples(4), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CUTS, st.integers(1, 5), st.integers(1, 3))
def test_rolling_sums_in_two_stages(
    small_pieces: None, seen: Counter[str], cuts: list[int], groups: int, parallelism: int
) -> None:
    spread = {"key_groups": groups, "parallelism": parallelism}
    seen.clear()
    for how in (
        {"cuts": cuts},
        {"cuts": cuts, "backends": "paged", "restarts": True, **spread},
        {"cuts": cuts, "restarts": "savepoint", "regroup": [(3, 2), (groups, 1)], **spread},
    ):
        found = run_pipeline(rolling(columns=True), **how).only
        assert len(found) == RECORDS
        # Which of a group's sums comes last depends on the order of users; no total is beyond it.
        assert {row["group"]: row["amount"] for row in found} == sums_of_sums(), how
    assert seen["columns"] and not seen["rows"]


@settings(max_examples=examples(4), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CUTS, st.integers(1, 5), st.integers(1, 3), st.booleans())
def test_windows_in_two_stages(
    small_pieces: None,
    seen: Counter[str],
    cuts: list[int],
    groups: int,
    parallelism: int,
    columns: bool,
) -> None:
    spread = {"key_groups": groups, "parallelism": parallelism}
    seen.clear()
    for how in (
        {"cuts": cuts},
        {"cuts": cuts, "backends": "paged", "restarts": True, **spread},
        {"cuts": cuts, "restarts": "savepoint", "regroup": [(3, 2), (groups, 1)], **spread},
    ):
        found = run_pipeline(windowed(columns), **how).only
        assert Counter((row["group"], row["amount"]) for row in found) == sums_of_windows(), how
    assert seen["columns" if columns else "rows"]
    assert not (columns and cuts == [] and seen["rows"])


@pytest.mark.parametrize("mode", ["streaming", "batch"])
def test_columns_after_keys_go_to_subtasks(mode: Any) -> None:
    """Through union and rebalance, from keyed stages, to a function of batches."""
    named = Types.ROW_NAMED(["user", "group", "amount", "at"], [Types.LONG()] * 4)
    sizes: list[int] = []

    def double(batch: pa.RecordBatch) -> pa.RecordBatch:
        sizes.append(batch.num_rows)
        return batch.set_column(2, "amount", pa.array([2 * n.as_py() for n in batch["amount"]]))

    first = source(True)
    sums = first.key_by("user").sum("amount")
    both = sums.union(sums.rebalance().map_batches(lambda batch: batch, named, input_type=named))
    found = run_pipeline(
        both.rebalance().map_batches(double, input_type=named), parallelism=2, mode=mode
    ).only
    expected = run_pipeline(source(False).key_by("user").sum("amount"), mode=mode).only
    doubled = [[*{**row, "amount": 2 * row["amount"]}.values()] for row in [*expected, *expected]]
    assert sorted([*row] for row in found) == sorted(doubled) and found
    assert sum(sizes) == len(found)

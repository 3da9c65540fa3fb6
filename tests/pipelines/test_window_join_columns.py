"""Windowed joins over columns give the pairs that nested loops give, however they are cut."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.common import Configuration, Duration, Row, Time, WatermarkStrategy
from headrace.datastream import DataStream, JoinFields, StreamExecutionEnvironment
from headrace.datastream.connectors import _indexed as indexed
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.operators.windows.joins import join
from headrace.operators.windows.joins.join import WindowJoinOperator
from headrace.testing import run_pipeline
from tests.effort import examples

SIZE_MS, LATE_MS = 10, 4
FIELDS = JoinFields(["key", "n"], {"other": "n", "at": "at"})
Record = tuple[Any, int, int]


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many records came to joins, and how many pairs left as columns."""
    found: Counter[str] = Counter()
    of_rows, of_columns = (
        WindowJoinOperator._process_side,
        WindowJoinOperator._process_columns_of_side,
    )
    emit = WindowJoinOperator._emit

    def take(self: Any, side: int, keys: Any, values: Any, times: Any) -> None:
        found["rows"] += len(values)
        of_rows(self, side, keys, values, times)

    def take_columns(self: Any, side: int, keys: Any, columns: Any) -> None:
        found["columns"] += len(columns)
        of_columns(self, side, keys, columns)

    def emitting(self: Any, *sides: Any) -> None:
        found["pairs"] += len(sides[0].rows)
        emit(self, *sides)

    monkeypatch.setattr(WindowJoinOperator, "_process_side", take)
    monkeypatch.setattr(WindowJoinOperator, "_process_columns_of_side", take_columns)
    monkeypatch.setattr(WindowJoinOperator, "_emit", emitting)
    monkeypatch.setattr(join, "PAIRS_AT_ONCE", 5)
    monkeypatch.setattr(indexed, "COLUMNS_RECORDS", 7)
    monkeypatch.setattr(indexed, "RANGE_RECORDS", 5)
    return found


def drawn(seed: int, count: int = 60, keys: int = 4) -> tuple[list[Record], list[Record]]:
    """Two sides by a seed: key, number and time, out of order by less than ``LATE_MS``."""
    chance = random.Random(seed)
    sides: list[list[Record]] = []
    for side in range(2):
        moments = sorted(chance.randrange(-30, 90) for _ in range(count))
        moments = [moment + chance.randrange(LATE_MS) for moment in moments]
        sides.append(
            [
                (chance.choice([None, *range(keys)]), side * 1000 + number, moment)
                for number, moment in enumerate(moments)
            ]
        )
    return sides[0], sides[1]


def stream_of(
    env: StreamExecutionEnvironment, records: list[Record], kind: Any, as_columns: bool
) -> DataStream:
    batch = pa.record_batch(
        {
            "key": pa.array([key for key, _, _ in records], kind),
            "n": pa.array([number for _, number, _ in records], pa.int64()),
            "at": pa.array([at for _, _, at in records], pa.int64()),
        }
    )
    rows = batch.to_pylist()
    made = (
        DataGeneratorSource.of_columns(
            lambda indexes: batch.take(pa.array(indexes)), batch.num_rows
        )
        if as_columns
        else DataGeneratorSource(rows.__getitem__, batch.num_rows)
    )
    times = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(LATE_MS))
    return env.from_source(made, times.with_timestamp_assigner("at"), "records")


def joined(
    sides: tuple[list[Record], list[Record]],
    *,
    kinds: tuple[Any, Any] = (pa.int64(), pa.int64()),
    as_columns: tuple[bool, bool] = (True, True),
    enabled: bool = True,
    function: Any = FIELDS,
) -> DataStream:
    settings = {
        "headrace.columns.enabled": str(enabled).lower(),
        "headrace.state.page-bytes": "200",
        "headrace.watermark.chunk-records": "7",
    }
    env = StreamExecutionEnvironment(Configuration.from_dict(settings))
    first, second = map(stream_of, [env, env], sides, kinds, as_columns)
    windows = TumblingEventTimeWindows.of(Time.milliseconds(SIZE_MS), Time.milliseconds(3))
    return first.join(second).where("key").equal_to("key").window(windows).apply(function)


def nested(sides: tuple[list[Record], list[Record]]) -> list[Row]:
    def window(at: int) -> int:
        return (at - 3) // SIZE_MS

    return [
        Row(key=key, n=n, other=other, at=other_at)
        for key, n, at in sides[0]
        for other_key, other, other_at in sides[1]
        if key == other_key and window(at) == window(other_at)
    ]


def in_order(rows: list[Any]) -> dict[Any, list[Any]]:
    """The pairs of each key and window, in their order."""
    found: dict[Any, list[Any]] = {}
    for row in rows:
        found.setdefault((row["key"], (row["at"] - 3) // SIZE_MS), []).append(row)
    return found


def _moment(record: Record) -> int:
    return record[2]


CUTS = st.lists(st.integers(1, 60), max_size=8)


@settings(max_examples=examples(5), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 1 << 20),
    CUTS,
    st.integers(1, 5),
    st.integers(1, 3),
    st.tuples(st.booleans(), st.booleans()),
)
def test_the_property_of_joins(
    taken: Counter[str], seed: int, cuts: Any, groups: int, parallelism: int, as_columns: Any
) -> None:
    sides = drawn(seed)
    spread = {"key_groups": groups, "parallelism": parallelism}
    for how in (
        {"cuts": cuts},
        {"cuts": cuts, "backends": "paged", "restarts": True, **spread},
        {"cuts": cuts, "restarts": "savepoint", "regroup": [(3, 2), (groups, 1)], **spread},
    ):
        found = run_pipeline(joined(sides, as_columns=as_columns), **how).only
        assert in_order(found) == in_order(nested(sides)), (seed, how)
    # A batch takes records by their time.
    by_time = (sorted(sides[0], key=_moment), sorted(sides[1], key=_moment))
    found = run_pipeline(joined(sides, as_columns=as_columns), "batch", **spread).only
    assert in_order(found) == in_order(nested(by_time)), seed
    found = run_pipeline(joined(sides, enabled=False), cuts=cuts).only
    assert in_order(found) == in_order(nested(sides))


def test_pairs_are_found_in_columns(taken: Counter[str]) -> None:
    sides = drawn(7)
    found = run_pipeline(joined(sides))
    assert in_order(found.only) == in_order(nested(sides))
    assert taken["columns"] == 120 and not taken["rows"]
    assert taken["pairs"] == len(found.only)


def test_the_join_of_tagged_records_gives_the_same(taken: Counter[str]) -> None:
    """The general windows, whose function is a plain one."""
    sides = drawn(11)
    function = FIELDS.join
    found = run_pipeline(joined(sides, function=lambda one, two: function(one, two))).only
    assert in_order(found) == in_order(nested(sides)) and not taken


def test_a_program_goes_on_with_columns_turned_off_and_on(taken: Counter[str]) -> None:
    """What is open lies in one form in the state."""
    sides = drawn(13)
    off = joined(sides, enabled=False)
    how: Any = {"cuts": [9, 14, 3, 20], "backends": "paged", "restarts": True}
    found = run_pipeline(joined(sides), successors=[off], **how)
    assert in_order(found.only) == in_order(nested(sides))
    assert taken["pairs"] and taken["columns"] and taken["rows"]


@pytest.mark.parametrize(
    ("kinds", "in_columns"),
    [
        ((pa.int64(), pa.int16()), True),
        ((pa.string(), pa.large_string()), True),
        ((pa.dictionary(pa.int8(), pa.string()), pa.string()), True),
        ((pa.bool_(), pa.int64()), False),
        ((pa.float64(), pa.int64()), False),
        ((pa.uint64(), pa.int64()), False),
    ],
)
def test_keys_are_equal_as_in_python(
    taken: Counter[str], kinds: tuple[Any, Any], in_columns: bool
) -> None:
    texts = pa.types.is_string(kinds[1]) or pa.types.is_large_string(kinds[1])
    sides: Any = [
        [(str(key) if texts else key, n, at) for key, n, at in side if key in (0, 1)]
        for side in drawn(17)
    ]
    if pa.types.is_boolean(kinds[0]):
        sides[0] = [(bool(key), n, at) for key, n, at in sides[0]]
    found = run_pipeline(joined((sides[0], sides[1]), kinds=kinds)).only
    expected = nested((sides[0], sides[1]))
    assert Counter((row["n"], row["other"]) for row in found) == Counter(
        (row["n"], row["other"]) for row in expected
    )
    assert found and bool(taken["pairs"]) == in_columns


def test_late_records_are_counted(taken: Counter[str]) -> None:
    late = [(1, 1, 5), (1, 2, 50), (1, 3, 6), (1, 4, 55)]
    on_time = [(1, 10, 5), (1, 11, 51)]
    counts = []
    for enabled in (True, False):
        # One micro-batch a record: what is late does not depend on the pieces.
        found = run_pipeline(joined((late, on_time), enabled=enabled), cuts=[1] * 12)
        counts.append(found.counters["WindowJoin.numLateRecordsDropped"])
        assert {(row["n"], row["other"]) for row in found.only} == {(1, 10), (2, 11)}
    assert counts == [1, 1]


def test_an_empty_side_gives_nothing(taken: Counter[str]) -> None:
    first, _ = drawn(19)
    assert run_pipeline(joined((first, []))).only == []


def test_many_equal_keys_leave_in_pieces(taken: Counter[str]) -> None:
    first = [(1, n, 5) for n in range(20)]
    second = [(1, 100 + n, 6) for n in range(15)]
    found = run_pipeline(joined((first, second))).only
    assert [(row["n"], row["other"]) for row in found] == [
        (n, 100 + m) for n in range(20) for m in range(15)
    ]

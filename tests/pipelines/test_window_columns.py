"""Windows over columns come to what they come to over rows: results, and how many were late."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.common import Configuration, Duration, Types, WatermarkStrategy
from headrace.common.time import Time
from headrace.common.types import Row
from headrace.datastream import (
    DataStream,
    OutputTag,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.aggregates import Aggregates, Count, Max, Mean, Min, Sum
from headrace.datastream.connectors import _indexed as indexed
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from headrace.operators import combine_policy
from headrace.operators.windows.aligned import columns as aligned_columns
from headrace.operators.windows.combining import columns as combine_columns
from headrace.testing import run_pipeline
from tests.effort import examples

ms = Time.milliseconds
ALL = Aggregates(
    records=Count(),
    values=Count("value"),
    total=Sum("value"),
    low=Min("value"),
    high=Max("value"),
    mean=Mean("value"),
    last=Max("name"),
    first=Min("name"),
)
TIMES = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(3))
TUMBLING = TumblingEventTimeWindows.of(ms(10), ms(3))
SLIDING = SlidingEventTimeWindows.of(ms(12), ms(4))
INTS, FLOATS = pa.int64(), pa.float64()

Record = tuple[Any, Any, Any, int]

projected = {"combined": 0, "fired": 0}
"""How many records were combined as columns, and how many results were emitted as such."""


@pytest.fixture(autouse=True)
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Chunks of the same length for rows and columns, so that the same records are late."""
    projected.update(combined=0, fired=0)
    gather = combine_columns.CombineColumnsOperator._add_to_buffer
    emit = aligned_columns.ColumnWindowOperator._emit_columns

    def gathering(self: Any, found: Any) -> None:
        projected["combined"] += len(found)
        gather(self, found)

    def emitting(self: Any, batch: Any) -> None:
        projected["fired"] += batch.num_rows
        emit(self, batch)

    monkeypatch.setattr(combine_columns.CombineColumnsOperator, "_add_to_buffer", gathering)
    monkeypatch.setattr(aligned_columns.ColumnWindowOperator, "_emit_columns", emitting)
    for name in ("COLUMNS_RECORDS", "CHUNK_RECORDS", "RANGE_RECORDS"):
        monkeypatch.setattr(indexed, name, 7)
    yield


class Named(ProcessWindowFunction[Any, Any, Any, Any]):
    """With key and window, and how many windows of the key there were before."""

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        (row,) = elements
        yield key, context.window(), *row


def source(records: list[Record], values: Any, keys: Any) -> DataGeneratorSource:
    def columns(indexes: Any) -> dict[str, Any]:
        found = [records[index] for index in indexes.tolist()]
        kinds = zip(("key", "value", "name", "at"), (keys, values, pa.string(), INTS), strict=True)
        return {
            name: pa.array([each[place] for each in found], kind)
            for place, (name, kind) in enumerate(kinds)
        }

    return DataGeneratorSource.of_columns(columns, len(records))


def windows(
    records: list[Record],
    key: Any,
    aggregates: Aggregates = ALL,
    *,
    assigner: Any = TUMBLING,
    values: Any = INTS,
    keys: Any = INTS,
    function: Any = None,
    combining: bool = True,
) -> DataStream:
    settings = {
        "headrace.watermark.chunk-records": "7",
        "headrace.combining.enabled": str(combining).lower(),
    }
    env = StreamExecutionEnvironment(Configuration.from_dict(settings))
    times = TIMES.with_timestamp_assigner("at")
    stream = env.from_source(source(records, values, keys), times, "records")
    return stream.key_by(key).window(assigner).aggregate(aggregates, function)


def outcome(stream: DataStream, **how: Any) -> tuple[list[str], dict[Any, int]]:
    found = run_pipeline(stream, **how)
    late = {name: count for name, count in found.counters.items() if "Late" in str(name)}
    return sorted(map(repr, found.only)), late


def drawn(seed: int, keys: Any = (0, 1, 2, -1, None), count: int = 90) -> list[Record]:
    rng = random.Random(seed)
    return [
        (
            rng.choice(keys),
            rng.choice([None, number, -number]),
            rng.choice(["a", "é", None, "\U0001f40d"]),
            number // 3 + rng.choice([-20, -8, -3, -1, 0, 0, 1]),
        )
        for number in range(count)
    ]


@pytest.mark.parametrize("function", [None, Named()], ids=["rows", "named"])
@pytest.mark.parametrize("assigner", [TUMBLING, SLIDING], ids=["tumbling", "sliding"])
@pytest.mark.parametrize("most", [1, 20, 1 << 19])
def test_late_records_too(
    assigner: Any, function: Any, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(combine_columns, "MAX_RECORDS", most)
    monkeypatch.setattr(aligned_columns, "MAX_BUFFERED_ROWS", most)
    records = drawn(most)
    how = {"assigner": assigner, "function": function}
    rows, late = outcome(windows(records, lambda record: record["key"], combining=False, **how))
    assert not projected["combined"] and not projected["fired"]
    (dropped,) = late.values()
    assert dropped
    assert outcome(windows(records, "key", **how)) == (rows, late)
    assert projected["combined"] > len(records) // 2
    assert bool(projected["fired"]) is (assigner is TUMBLING and most > 1)
    assert outcome(windows(records, "key", combining=False, **how)) == (rows, late)


@settings(max_examples=examples(2), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 999), st.lists(st.integers(1, 40), max_size=6), st.integers(1, 4))
def test_property(seed: int, cuts: list[int], key_groups: int) -> None:
    records = [(key, value, name, abs(at)) for key, value, name, at in drawn(seed, "abc")]
    records.sort(key=lambda record: record[3])
    asked: dict[str, Any] = {"keys": pa.string(), "function": Named()}
    wanted, _ = outcome(windows(records, lambda record: record["key"], combining=False, **asked))
    spread = {"key_groups": key_groups, "parallelism": 2}
    for how in (
        {"cuts": cuts, **spread},
        {"cuts": cuts, "backends": "paged", "restarts": True, **spread},
        {"mode": "batch", **spread},
    ):
        projected.update(combined=0, fired=0)
        assert outcome(windows(records, "key", **asked), **how)[0] == wanted, how
        assert projected["combined"] or projected["fired"], how


def test_keys_that_do_not_repeat_go_as_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(combine_policy, "SAMPLE_RECORDS", 10)
    records = [(number, number, "x", number // 9) for number in range(200)]
    found, _ = outcome(windows(records, "key", function=Named()), cuts=[50] * 3)
    wanted, _ = outcome(windows(records, lambda record: record["key"], function=Named()))
    assert found == wanted
    assert projected["combined"] == 50


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1 << 62, INTS),
        ((1 << 64) - 1, pa.uint64()),
        (Decimal("0.10"), pa.decimal128(9, 2)),
        (math.nan, FLOATS),
        (0.5, FLOATS),
        (7, pa.int8()),
        (True, pa.bool_()),
    ],
    ids=str,
)
def test_values_are_those_of_rows(value: Any, kind: Any) -> None:
    """Integers do not overflow: where they could, records go as rows."""
    records = [(number % 3, value, "x", number // 4) for number in range(60)]
    asked: dict[str, Any] = {"values": kind, "function": Named()}
    found, _ = outcome(windows(records, "key", **asked), cuts=[25])
    assert found == outcome(windows(records, lambda record: record["key"], **asked))[0]
    assert bool(projected["combined"]) is (kind in (pa.int8(), FLOATS) and value == value)


def test_sums_that_only_several_chunks_make_too_large() -> None:
    """Each chunk of 7 fits 64 bits, two of them do not."""
    big = 1 << 60
    found = run_pipeline(windows([(1, big, "x", 4)] * 60, "key", Aggregates(total=Sum("value"))))
    assert found.only == [Row(total=60 * big)]
    assert projected["combined"] == 60


def test_sums_that_only_the_receiver_finds_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sum that is sent fits 64 bits."""
    monkeypatch.setattr(indexed, "COLUMNS_RECORDS", 3)
    monkeypatch.setattr(combine_columns, "MAX_RECORDS", 1)
    big = 1 << 61
    found = run_pipeline(windows([(1, big, "x", 4)] * 60, "key", Aggregates(total=Sum("value"))))
    assert found.only == [Row(total=60 * big)]
    assert projected == {"combined": 60, "fired": 0}


@pytest.mark.parametrize(
    ("keys", "kind"),
    [
        ([0.0, -0.0, 1.5], FLOATS),
        ([True, False, None], pa.bool_()),
        (["a", None, ""], pa.large_string()),
        (["a", "b"], pa.dictionary(pa.int8(), pa.string())),
    ],
    ids=["floats", "bools", "texts", "dictionary"],
)
def test_keys_are_those_of_rows(keys: list[Any], kind: Any) -> None:
    records = [(keys[number % len(keys)], 1, "x", number // 4) for number in range(60)]
    found, _ = outcome(windows(records, "key", keys=kind, function=Named()), cuts=[25])
    by_rows = windows(records, lambda record: record["key"], keys=kind, function=Named())
    assert found == outcome(by_rows)[0]
    assert bool(projected["combined"]) is (kind != FLOATS)


def test_what_the_window_keeps_for_a_key_goes_with_it() -> None:
    class Counting(ProcessWindowFunction[Any, Any, Any, Any]):
        def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
            from headrace.datastream.state import ValueStateDescriptor

            both = [context.window_state(), context.global_state()]
            states = [each.get_state(ValueStateDescriptor("n", Types.LONG())) for each in both]
            for state in states:
                state.update((state.value() or 0) + 1)
            yield key, *(state.value() for state in states)

        def clear(self, context: Any) -> None:
            cleared.append(context.window().start)

    cleared: list[int] = []
    records = drawn(5, (1, 2))
    function = Counting()
    by_columns = outcome(windows(records, "key", function=function))[0]
    assert projected["fired"]
    assert by_columns == outcome(windows(records, lambda each: each["key"], function=function))[0]


FIRST: dict[str, Any] = {
    "sum": lambda windows: windows.sum("value"),
    "min": lambda windows: windows.min("value"),
    "max": lambda windows: windows.max("name"),
}


def first_records(records: list[Record], key: Any, call: str, values: Any = INTS) -> DataStream:
    env = StreamExecutionEnvironment(
        Configuration.from_dict({"headrace.watermark.chunk-records": "7"})
    )
    times = TIMES.with_timestamp_assigner("at")
    stream = env.from_source(source(records, values, INTS), times, "records")
    return FIRST[call](stream.key_by(key).window(TUMBLING))


@pytest.mark.parametrize("most", [1, 1 << 19])
@pytest.mark.parametrize("call", FIRST)
def test_the_first_record_with_one_field_of_all(
    call: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(combine_columns, "MAX_RECORDS", most)
    records = [(k, v or 0, f"{n or ''}{at}", at) for k, v, n, at in drawn(most)]
    spread = {"cuts": [30, 1, 20], "key_groups": 3, "backends": "paged", "restarts": True}
    for how in ({}, spread):
        wanted = outcome(first_records(records, lambda record: record["key"], call), **how)
        projected.update(combined=0, fired=0)
        assert outcome(first_records(records, "key", call), **how) == wanted
        assert projected["combined"] > 45
        assert how or projected["fired"]


@pytest.mark.parametrize("call", ["sum", "min"])
def test_the_field_that_is_computed_may_be_the_key(call: str) -> None:
    """A key is that of its records, whatever their field comes to."""
    records = [(0, value, "x", at) for at, value in enumerate([1, 1, 2, 2, 2, 4, 1, 3])]
    for how in ({}, {"cuts": [3], "key_groups": 3}):
        wanted = outcome(first_records(records, lambda record: record["value"], call), **how)
        projected.update(combined=0)
        assert outcome(first_records(records, "value", call), **how) == wanted
        assert projected["combined"]


def test_first_records_whose_sum_columns_cannot_hold() -> None:
    for value, kind in ((1 << 62, INTS), (Decimal("0.1"), pa.decimal128(9, 2))):
        records = [(number % 3, value, "x", number // 4) for number in range(60)]
        found = outcome(first_records(records, "key", "sum", kind))[0]
        by_rows = first_records(records, lambda record: record["key"], "sum", kind)
        assert found == outcome(by_rows)[0]
        assert not projected["combined"]


def test_the_plan_shows_it() -> None:
    records = drawn(1)
    assert "Combine columns for" in windows(records, "key").explain()
    by_rows = windows(records, lambda record: record["key"]).explain()
    assert "Combine for" in by_rows


def test_results_as_batches() -> None:
    """Results that come of columns stay columns; others are rows of the declared type."""
    names = ["records", "values", "total"]
    wanted = Aggregates(records=Count(), values=Count("value"), total=Sum("value"))
    declared = Types.ROW_NAMED(names, [Types.LONG()] * 3)

    def doubled(batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch.select(names)

    records = drawn(3)
    stream = windows(records, "key", wanted)
    found = outcome(stream.map_batches(doubled, input_type=declared), cuts=[30, 20])[0]
    assert found == outcome(windows(records, "key", wanted), cuts=[30, 20])[0]


def test_rows_have_the_names() -> None:
    records = [(1, 5, "x", 1), (1, None, "y", 2)]
    (row,) = run_pipeline(windows(records, "key")).only
    assert row == Row(records=2, values=1, total=5, low=5, high=5, mean=5.0, last="y", first="x")


@settings(max_examples=examples(4), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 1 << 20), st.lists(st.integers(1, 12), max_size=12))
def test_late_columns_go_to_the_side_output(seed: int, cuts: list[int]) -> None:
    """As columns, where what reads them takes columns: the same records as with columns off."""
    chance = random.Random(seed)
    records = [
        (chance.randrange(3), number, "x", 3 * number - chance.choice([0, 0, 0, 30]))
        for number in range(60)
    ]
    types = Types.ROW_NAMED(
        ["key", "value", "name", "at"], [Types.LONG(), Types.LONG(), Types.STRING(), Types.LONG()]
    )
    given: list[str] = []

    def noted(batch: pa.RecordBatch) -> pa.RecordBatch:
        given.append(type(batch).__name__)
        return batch

    found: list[Any] = []
    for enabled in (True, False):
        settings = {
            "headrace.columns.enabled": str(enabled).lower(),
            "headrace.watermark.chunk-records": "7",
        }
        env = StreamExecutionEnvironment(Configuration.from_dict(settings))
        times = TIMES.with_timestamp_assigner("at")
        stream = env.from_source(source(records, INTS, INTS), times, "records")
        late = OutputTag("late")
        sums = stream.key_by("key").window(TUMBLING).side_output_late_data(late)
        total = sums.aggregate(Aggregates(total=Sum("value")))
        beside = total.get_side_output(late).map_batches(noted, types, input_type=types)
        results = run_pipeline({"sums": total, "late": beside}, cuts=cuts)
        found.append([sorted(map(repr, results[name])) for name in ("sums", "late")])
    assert found[0] == found[1]
    assert len(found[0][1]) == 0 or given

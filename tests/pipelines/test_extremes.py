"""Least and greatest values are the same on every path, also of NaN, infinities and -0.0.

Records come as rows or as columns, in one phase or in two, as a stream that is cut or as a batch.
Results are compared by ``repr``: it shows NaN, and the sign of a zero.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from headrace.common import Configuration, Duration, WatermarkStrategy
from headrace.common.types import Row
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.aggregates import Aggregates, Count, Max, Mean, Min, Sum
from headrace.datastream.connectors import _indexed as indexed
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from headrace.testing import run_pipeline
from tests.effort import examples

VALUES = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, -2.0, 3.0]
"""Sums of these are exact, so that they do not depend on the order."""
BOUND_MS = 40
ALL = Aggregates(
    count=Count("value"),
    low=Min("value"),
    high=Max("value"),
    total=Sum("value"),
    mean=Mean("value"),
)
TIMES = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(BOUND_MS))
ASSIGNERS: dict[str, Any] = {
    "tumbling": TumblingEventTimeWindows.of(10),
    "sliding": SlidingEventTimeWindows.of(12, 4),
    "session": EventTimeSessionWindows.with_gap(100),
}
ROLLING = ("min", "max", "min_by", "max_by")

Record = tuple[str, float, int]
RECORDS = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from(VALUES), st.integers(0, BOUND_MS)),
    min_size=1,
    max_size=24,
)
HOW = st.one_of(
    st.just({"mode": "batch"}),
    st.fixed_dictionaries(
        {"cuts": st.lists(st.integers(1, 9), max_size=4), "key_groups": st.integers(1, 3)},
        optional={"backends": st.just("paged"), "restarts": st.just(True)},
    ).filter(lambda how: "backends" in how or "restarts" not in how),
)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLUMNS_RECORDS", "CHUNK_RECORDS", "RANGE_RECORDS"):
        monkeypatch.setattr(indexed, name, 3)


def stream_of(records: list[Record], columns: bool, combining: bool = True) -> DataStream:
    def fields(indexes: Any) -> dict[str, Any]:
        found = [*zip(*[records[index] for index in indexes.tolist()], strict=True)]
        kinds = (pa.string(), pa.float64(), pa.int64())
        return {
            name: pa.array(values, kind)
            for name, values, kind in zip(("key", "value", "at"), found, kinds, strict=True)
        }

    def row(index: int) -> dict[str, Any]:
        return dict(zip(("key", "value", "at"), records[index], strict=True))

    count = len(records)
    source = DataGeneratorSource.of_columns(fields, count) if columns else (
        DataGeneratorSource(row, count)
    )  # fmt: skip
    configuration = {"headrace.combining.enabled": str(combining).lower()}
    env = StreamExecutionEnvironment(Configuration.from_dict(configuration))
    times = TIMES.with_timestamp_assigner("at")
    return env.from_source(source, times, "records").key_by("key")


def place(value: float) -> tuple[bool, float, float]:
    """Flink compares by ``Double.compareTo``."""
    return (True, 0.0, 0.0) if math.isnan(value) else (False, value, math.copysign(1.0, value))


def total(values: list[float]) -> float:
    """The sum, from the first value on: that of -0.0 alone is -0.0."""
    first, *others = values
    for value in others:
        first += value
    return first


def windows_of(kind: str, at: int) -> list[int]:
    if kind == "tumbling":
        return [at // 10 * 10]
    return [0] if kind == "session" else [at // 4 * 4 - 4 * back for back in range(3)]


@settings(max_examples=examples(12), suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(
    [("a", math.nan, 0)] * 6 + [("a", math.inf, 10)], "tumbling", True, True, {"mode": "batch"}
)
@given(RECORDS, st.sampled_from([*ASSIGNERS]), st.booleans(), st.booleans(), HOW)
def test_aggregates(
    records: list[Record], kind: str, columns: bool, combining: bool, how: Any
) -> None:
    groups: dict[Any, list[float]] = defaultdict(list)
    for key, value, at in records:
        for start in windows_of(kind, at):
            groups[key, start].append(value)
    wanted = [
        Row(
            count=len(values),
            low=min(values, key=place),
            high=max(values, key=place),
            total=total(values),
            mean=total(values) / len(values),
        )
        for values in groups.values()
    ]
    stream = stream_of(records, columns, combining).window(ASSIGNERS[kind]).aggregate(ALL)
    found = run_pipeline(stream, **how).only
    assert sorted(map(repr, found)) == sorted(map(repr, wanted))


@settings(max_examples=examples(12), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(RECORDS, st.sampled_from(ROLLING), st.booleans(), st.booleans(), HOW)
def test_reductions(
    records: list[Record], call: str, columns: bool, windowed: bool, how: Any
) -> None:
    """Of records of one moment the first is kept: moments are made different."""
    records = [(key, value, at) for at, (key, value, _) in enumerate(records)]
    choose = min if call.startswith("min") else max
    wanted: dict[str, list[dict[str, Any]]] = defaultdict(list)
    values: dict[str, list[float]] = defaultdict(list)
    first: dict[str, dict[str, Any]] = {}
    for key, value, at in records:
        record = {"key": key, "value": value, "at": at}
        values[key].append(value)
        best = choose(values[key], key=place)
        held = first.setdefault(key, record)
        if call.endswith("_by") and place(best) != place(held["value"]):
            held = first[key] = record
        wanted[key].append({**held, "value": best})
    stream = stream_of(records, columns)
    if windowed:
        stream = stream.window(TumblingEventTimeWindows.of(100))
    last_only = windowed or how.get("mode") == "batch"
    found: dict[str, list[Any]] = defaultdict(list)
    for record in run_pipeline(getattr(stream, call)("value"), **how).only:
        found[record["key"]].append(record)
    expected = {key: each[-1:] if last_only else each for key, each in wanted.items()}
    assert {key: [*map(repr, each)] for key, each in found.items()} == {
        key: [*map(repr, each)] for key, each in expected.items()
    }

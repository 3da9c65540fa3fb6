"""Aggregates over arrays give what the same aggregates give row by row."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.operators.columns.accumulator import Aggregated
from headrace.operators.columns.changes import Changes, changed_rows
from headrace.operators.columns.gathering import last_rows
from headrace.operators.columns.group_aggregate import GroupAggregateSpec
from headrace.operators.columns.group_rows import RowAggregates, RowGroupOperator
from headrace.operators.columns.partials import grouped, partials_of_rows, parts_of
from headrace.operators.columns.vectors import VectorAggregates
from headrace.runtime.columns.batch import Columns
from headrace.runtime.columns.shapes import NAMED_ROWS
from headrace.sql.aggregates.table import AGGREGATES, make_accumulator
from headrace.sql.types import (
    BIGINT,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    DecimalType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    TimeType,
    to_arrow,
)
from tests.effort import examples

FIELDS: dict[str, SqlType] = {
    "k": INT,
    "i": INT,
    "s": SMALLINT,
    "l": BIGINT,
    "d": DOUBLE,
    "r": FLOAT,
    "n": DecimalType(5, 2),
    "m": DecimalType(24, 3),
    "w": DecimalType(38, 0),
    "t": TimestampType(3),
    "u": TimestampLtzType(9),
    "y": DATE,
    "h": TimeType(0),
}
SCHEMA = pa.schema(
    [*(pa.field(name, to_arrow(kind)) for name, kind in FIELDS.items()), ("f", pa.bool_())]
)
CALLS = [
    *[("COUNT", ()), ("COUNT", ("d",))],
    *[(name, (field,)) for name in ("SUM", "AVG", "SUM0") for field in "isldnmw"],
    *[(name, (field,)) for name in ("MIN", "MAX") for field in "isldrntuyh"],
]
RETRACTED = [(name, fields) for name, fields in CALLS if name[0] != "M" and "d" not in fields]


def spec(calls: Any, filters: bool, retracts: bool, updates_before: bool) -> GroupAggregateSpec:
    aggregates, results = [], [pa.field("k", pa.int32())]
    for number, (name, fields) in enumerate(calls):
        function, types = AGGREGATES[name], [FIELDS[each] for each in fields]
        kind = function.type(types)
        assert kind is not None
        made = make_accumulator(function, types, kind, distinct=False, retracts=retracts)
        kept = "f" if filters and number % 2 else None
        aggregates.append(Aggregated(made, fields, kept))
        results.append(pa.field(f"r{number}", to_arrow(kind)))
    return GroupAggregateSpec(
        ("k",), (*aggregates,), SCHEMA, pa.schema(results), retracts, updates_before
    )


def shown(columns: Columns | None) -> list[Any]:
    if columns is None:
        return []
    kinds = [0] * len(columns) if columns.kinds is None else columns.kinds.tolist()
    return [*zip(kinds, map(str, columns.batch.to_pylist()), strict=True)]


FLOATS = [0.0, 1.0, -1.5, 3e300, 1e-310, float("inf"), float("-inf"), float("nan")]
BOUNDS = datetime(1700, 1, 1), datetime(2200, 1, 1)


def decimals(digits: int, scale: int) -> st.SearchStrategy[Decimal]:
    most = 10**digits - 1
    whole = st.one_of(st.integers(-5, 5), st.integers(-most, most), st.sampled_from([most, -most]))
    return whole.map(lambda number: Decimal(number).scaleb(-scale, Context(prec=60)))


def time_of_day(seconds: int) -> time:
    return (datetime.min + timedelta(seconds=seconds)).time()


values = st.tuples(
    st.integers(0, 3),
    st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([2**31 - 1, -(2**31)])),
    st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([2**15 - 1, -(2**15)])),
    st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([2**63 - 1, -(2**63)])),
    st.one_of(st.none(), st.sampled_from(FLOATS)),
    st.one_of(st.none(), st.sampled_from(FLOATS)),
    *[
        st.one_of(st.none(), decimals(digits, scale))
        for digits, scale in ((5, 2), (24, 3), (38, 0))
    ],
    st.one_of(st.none(), st.datetimes(*BOUNDS)),
    st.one_of(st.none(), st.datetimes(*BOUNDS, timezones=st.just(UTC))),
    st.one_of(st.none(), st.dates()),
    st.one_of(st.none(), st.integers(0, 86_399).map(time_of_day)),
    st.one_of(st.none(), st.booleans()),
)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.lists(values, min_size=1, max_size=12), min_size=1, max_size=4),
    st.lists(st.integers(0, 10), max_size=20),
    st.booleans(),
    st.booleans(),
)
def test_at_once_as_one_by_one(
    blocks: list[list[Any]], taken_back: list[int], filters: bool, updates_before: bool
) -> None:
    retracts = bool(taken_back)
    described = spec(RETRACTED if retracts else CALLS, filters, retracts, updates_before)
    vectors = VectorAggregates.of(described.aggregates, SCHEMA, retracts)
    assert vectors is not None
    row_by_row = RowAggregates(described)
    none = vectors.packed(vectors.zeros(1))[0]
    at_once: dict[int, bytes] = {}
    one_by_one: dict[int, Any] = {}
    added: list[Any] = []
    for rows in blocks:
        block, kinds = [], []
        for row in rows:
            block.append(row)
            kinds.append(0)
            added.append(row)
            if taken_back and added:
                again = added.pop(taken_back.pop() % len(added))
                block.append(again)
                kinds.append(3)
        arrays = [
            pa.array(each, field.type)
            for each, field in zip(zip(*block, strict=True), SCHEMA, strict=True)
        ]
        batch = pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
        columns = Columns(batch, NAMED_ROWS, None, np.array(kinds, np.int8))
        keys = [*dict.fromkeys(row[0] for row in block)]
        codes = np.array([keys.index(row[0]) for row in block])
        minus = None if columns.kinds is None else columns.kinds == 3
        before = vectors.unpacked([at_once.get(key, none) for key in keys])
        after, previous = vectors.running(codes, vectors.contributions(batch, minus), before)
        last = [part[last_rows(codes, len(keys))] for part in after]
        at_once.update(zip(keys, vectors.packed(last), strict=True))
        made = changed_rows(described, batch, vectors, before, after, previous)
        states = [one_by_one.get(key) for key in keys]
        changes = Changes(updates_before)
        row_by_row.take(batch, codes, minus, states, changes)
        one_by_one.update(zip(keys, states, strict=True))
        one = changes.columns(batch, described) if changes.rows else None
        assert shown(made) == shown(one)
        stored = vectors.store(vectors.unpacked([*at_once.values()]))
        results = [
            {key: state and row_by_row.results(state) for key, state in each.items()}
            for each in (dict(zip(at_once, stored, strict=True)), one_by_one)
        ]
        assert str(results[0]) == str(results[1])


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.lists(values, min_size=1, max_size=12), min_size=1, max_size=3),
    st.sampled_from([("k",), ("k", "f")]),
    st.lists(st.sampled_from(CALLS), min_size=1, max_size=4),
)
def test_partial_results_are_put_together_as_one_by_one(
    blocks: list[list[Any]], keys: tuple[str, ...], calls: list[Any]
) -> None:
    described = spec(calls, False, False, True)
    vectors = VectorAggregates.of(described.aggregates, SCHEMA, retracts=False)
    assert vectors is not None
    accumulators = [each.accumulator for each in described.aggregates]
    names = SCHEMA.names
    one_by_one: dict[tuple[Any, ...], list[Any]] = {}
    parts: dict[tuple[Any, ...], Any] = {}
    for block in blocks:
        partials = []
        # As in Flink, the order of merging counts: 1 is the greatest of NaN and 1 if NaN is merged
        # with something else before.
        of_block: dict[tuple[Any, ...], list[Any]] = {}
        for row in block:
            arrays = [pa.array([v], f.type) for v, f in zip(row, SCHEMA, strict=True)]
            batch = pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
            partials.append(partials_of_rows(vectors, batch, keys, None))
            key = tuple(row[names.index(name)] for name in keys)
            states = of_block.setdefault(key, [each.zero() for each in accumulators])
            for place, aggregated in enumerate(described.aggregates):
                given_values = tuple(row[names.index(name)] for name in aggregated.arguments)
                accumulator = accumulators[place]
                own = accumulator.add(accumulator.zero(), given_values)
                states[place] = accumulator.merge(states[place], own)
        for key, states in of_block.items():
            before = one_by_one.get(key, [each.zero() for each in accumulators])
            merged = zip(accumulators, before, states, strict=True)
            one_by_one[key] = [each.merge(first, second) for each, first, second in merged]
        together = grouped(vectors, pa.Table.from_batches(partials), keys)
        added = parts_of(together, vectors)
        for row_number, key_row in enumerate(together.select([*keys]).to_pylist()):
            key = tuple(key_row.values())
            own_parts = [part[row_number : row_number + 1] for part in added]
            parts[key] = vectors.merged(parts.get(key, vectors.zeros(1)), own_parts)
    found = {
        key: [each.to_pylist()[0] for each in vectors.results(own)] for key, own in parts.items()
    }
    expected = {}
    for key, states in one_by_one.items():
        results = [each.result(state) for each, state in zip(accumulators, states, strict=True)]
        fields = [*described.result][1:]
        expected[key] = [
            pa.array([result], field.type).to_pylist()[0]
            for result, field in zip(results, fields, strict=True)
        ]
    assert shown_results(found) == shown_results(expected)


def shown_results(results: dict[Any, list[Any]]) -> dict[str, str]:
    return {str(key): str(values) for key, values in results.items()}


@pytest.mark.parametrize("name", ["MIN", "MAX"])
def test_extremes_of_long_decimals_are_one_by_one(name: str) -> None:
    assert type(spec([(name, ("w",))], False, False, True).build()) is RowGroupOperator


def test_floats_are_taken_back_one_by_one() -> None:
    described = spec([("SUM", ("d",))], False, True, True)
    assert VectorAggregates.of(described.aggregates, SCHEMA, retracts=True) is None

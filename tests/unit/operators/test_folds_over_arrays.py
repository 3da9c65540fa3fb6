"""Folding arrays gives what folding one record after another gives, bit for bit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common.types import Row
from headrace.operators.aggregates.aggregate import (
    ExtremeRecord,
    FieldAggregate,
    FirstRecord,
    RecordFold,
)
from headrace.operators.aggregates.kernels import (
    column_index,
    exact_numbers,
    final_results,
    running_results,
)
from headrace.operators.combine_columns import ColumnCombiner
from headrace.operators.reduce_columns import ColumnReducer
from headrace.runtime.columns.batch import Columns
from headrace.runtime.columns.keys import ColumnKeys
from headrace.runtime.columns.shapes import DICTS, NAMED_ROWS, PlainValues, Shape, Tuples
from headrace.runtime.state.heap import HeapBackend
from tests.effort import examples


def first_record(how: Any, field: int | str = "n") -> FirstRecord:
    return FirstRecord(FieldAggregate(how, field))


def extreme_record(how: Any, field: int | str = "n") -> ExtremeRecord:
    return ExtremeRecord(FieldAggregate(how, field))


FOLDS: list[RecordFold] = [
    *map(first_record, ("sum", "min", "max")),
    *map(extreme_record, ("min", "max")),
]
SLOT = "reduced"


INTS = st.one_of(st.integers(-5, 5), st.sampled_from([1 << 61, -(1 << 63), (1 << 63) - 1]))
FLOATS = st.one_of(
    st.integers(-3, 3).map(float), st.floats(), st.sampled_from([0.1, -0.0, 1e16, math.nan])
)


def rows_of(numbers: Any) -> Any:
    return st.lists(st.tuples(st.sampled_from("abc"), numbers, st.text("xy", max_size=1)))


def columns_of(rows: list[Any], kind: Any, shape: Shape, times: Any = None) -> Columns:
    schema = pa.schema([("key", pa.string()), ("n", kind), ("other", pa.string())])
    arrays = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)]
    return Columns(pa.RecordBatch.from_arrays(arrays, schema=schema), shape, times)


SHAPES = st.sampled_from([DICTS, NAMED_ROWS, Tuples()])
BLOCKS = st.one_of(
    st.tuples(st.just(pa.int64()), st.lists(rows_of(INTS), max_size=4)),
    st.tuples(st.just(pa.float64()), st.lists(rows_of(FLOATS), max_size=4)),
    st.tuples(st.just(pa.int16()), st.lists(rows_of(st.integers(-9, 9)), max_size=4)),
    st.tuples(st.just(pa.int64()), st.lists(rows_of(st.none() | INTS), max_size=2)),
)  # fmt: skip


def by_records(
    function: Any, blocks: list[list[Any]], key: Any
) -> tuple[list[Any], dict[Any, Any]]:
    """Every result in order, and the last one of each key."""
    found: list[Any] = []
    held: dict[Any, Any] = {}
    for record in (record for block in blocks for record in block):
        at = key(record)
        held[at] = function(held[at], record) if at in held else record
        found.append(held[at])
    return found, held


@settings(max_examples=examples(32), deadline=None)
@given(BLOCKS, SHAPES, st.sampled_from(FOLDS), st.booleans(), st.booleans())
def test_a_reduction_over_columns_is_that_over_records(
    blocks: Any, shape: Shape, fold: RecordFold, by_position: bool, only_last: bool
) -> None:
    """Block by block; one that cannot be folded is reduced as records."""
    kind, lists = blocks
    field = 1 if by_position or isinstance(shape, Tuples) else "n"
    if isinstance(shape, type(DICTS)):
        field = "n"
    fold = type(fold)(FieldAggregate(fold.aggregate.kind, field))
    backend = HeapBackend()
    reduction = ColumnReducer(fold, SLOT)
    found: list[Any] = []
    records: list[list[Any]] = []
    for rows in lists:
        columns = columns_of(rows, kind, shape)
        records.append(columns.rows())
        keys = ColumnKeys(columns, ("key",))
        try:
            reduced = reduction.reduce(keys, columns, backend, only_last) if rows else columns
        except TypeError as error:
            raise AssertionError from error
        if reduced is not None:
            found += [] if only_last else reduced.rows()
            continue
        for key, record in zip(keys, columns.rows(), strict=True):
            entry = backend.enter(key)
            try:
                value = fold.add(entry[SLOT][0], record) if SLOT in entry else record
            except TypeError:
                return  # None cannot be added: records fail, too
            entry[SLOT] = (value, None)
            found += [] if only_last else [value]
    key_at: Any = 0 if isinstance(shape, Tuples) else "key"
    every, held = by_records(fold, records, lambda record: record[key_at])
    assert repr(found) == repr([] if only_last else every)
    stored = {key: backend.enter(key)[SLOT][0] for key in [*backend.keys()]}
    assert repr(stored) == repr(held)


@settings(max_examples=examples(24), deadline=None)
@given(BLOCKS, st.sampled_from(FOLDS), st.integers(1, 6))
def test_combined_columns_stand_for_their_records(
    blocks: Any, fold: RecordFold, gathered_rows: int
) -> None:
    kind, lists = blocks
    gathered, sent, records = ColumnCombiner(fold, ("key",)), list[Any](), list[list[Any]]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headrace.operators.combine_columns.FOLD_ROWS", gathered_rows)
        for rows in lists:
            foldable = gathered.foldable(columns_of(rows, kind, DICTS)) if rows else None
            if foldable is None:
                continue  # its records are sent as they are
            assert gathered.can_add(foldable)
            gathered.add(foldable)
            records.append(foldable.rows())
        for columns in gathered.flush():
            sent += columns.rows()
    assert not gathered
    _, held = by_records(fold, records, lambda record: record["key"])
    if len(sent) == len(held):
        assert repr(sent) == repr([*held.values()])
    else:  # sums that may not fit in 64 bits
        _, again = by_records(fold, [sent], lambda record: record["key"])
        assert fold.aggregate.kind == "sum" and kind == pa.int64()
        assert repr(again) == repr(held)


@pytest.mark.parametrize("times", [None, [3, None, 5]])
def test_the_last_time_of_a_key_is_kept(times: Any) -> None:
    stamps = None if times is None else pa.array(times, pa.int64())
    columns = columns_of([("a", 1, ""), ("b", 2, ""), ("a", 3, "")], pa.int64(), DICTS, stamps)
    backend = HeapBackend()
    keys = ColumnKeys(columns, ("key",))
    reduced = ColumnReducer(FOLDS[0], SLOT).reduce(keys, columns, backend, False)
    assert reduced is not None and reduced.times == stamps
    assert [row["n"] for row in reduced.rows()] == [1, 2, 4]
    assert [backend.enter(key)[SLOT][1] for key in "ab"] == (times or [None] * 3)[2:0:-1]


@pytest.mark.parametrize(
    ("held", "shape"),
    [
        ({"key": "a", "n": 1.0, "other": "x"}, DICTS),  # a float among integers
        ({"key": "a", "n": True, "other": "x"}, DICTS),
        ({"key": "a", "n": 1 << 64, "other": "x"}, DICTS),
        ({"key": "a", "n": 1, "other": 7}, DICTS),  # a number among texts
        ({"n": 1, "key": "a", "other": "x"}, DICTS),  # another order of fields
        ({"key": "a", "n": 1}, DICTS),
        (Row(key="a", n=1), NAMED_ROWS),
        (Row("a", 1, "x"), NAMED_ROWS),
        (("a", 1, "x"), NAMED_ROWS),
        (["a", 1, "x"], Tuples()),
    ],
)
def test_a_held_record_that_columns_cannot_hold(held: Any, shape: Shape) -> None:
    """Then nothing changes, and records must be reduced."""
    field: Any = 1 if isinstance(shape, Tuples) else "n"
    columns, backend = columns_of([("a", 2, "y")], pa.int64(), shape), HeapBackend()
    backend.enter("a")[SLOT] = (held, None)
    reduction = ColumnReducer(first_record("sum", field), SLOT)
    assert reduction.reduce(ColumnKeys(columns, ("key",)), columns, backend, False) is None
    assert backend.enter("a")[SLOT] == (held, None)


def test_what_only_records_can_tell() -> None:
    columns = columns_of([("a", 2, "y")], pa.int64(), DICTS)
    assert column_index(columns, "missing") is None
    assert column_index(columns, 1) is None  # dicts have no positions
    assert column_index(Columns(columns.batch.select(["n"]), PlainValues()), 0) is None
    assert exact_numbers(extreme_record("min", "other"), columns.batch.column("other")) is None
    last = ExtremeRecord(FieldAggregate("min", "n"), last=True)
    assert exact_numbers(last, columns.batch.column("n")) is None
    kinded = Columns(columns.batch, NAMED_ROWS, kinds=np.array([3], np.int8))
    assert column_index(kinded, "n") is None


def test_sums_near_the_end_of_64_bits_are_not_guessed() -> None:
    sums, codes = first_record("sum"), np.zeros(2, np.int32)
    values = np.array([(1 << 63) - 1, 1])
    assert (
        running_results(sums, codes, values, 0) is None
        and final_results(sums, codes, values, 0, 1) is None
    )
    fits = running_results(sums, codes, np.array([(1 << 63) - 3, 1]), 1)
    assert fits is not None and fits.values.tolist() == [(1 << 63) - 3, (1 << 63) - 2]


def test_sums_that_would_change_the_key_are_not_combined() -> None:
    columns = columns_of([("a", 2, "y")], pa.int64(), DICTS)
    assert ColumnCombiner(first_record("sum"), ("n",)).foldable(columns) is None
    assert ColumnCombiner(extreme_record("max"), ("n",)).foldable(columns) is not None

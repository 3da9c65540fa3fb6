"""What arrays may compute: only what is the same as in Python."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

from headrace.runtime.columns.exactness import (
    AggregateKind,
    have_exact_keys,
    sums_fit,
    to_exact_array,
    to_foldable_numbers,
    to_groupable_column,
)

LARGE = (1 << 63) - 1


@pytest.mark.parametrize(
    ("values", "kind", "how", "in_turn", "by_group"),
    [
        ([1, 2], pa.int16(), "sum", True, True),
        ([1, None], pa.int64(), "sum", False, True),
        ([LARGE, 1], pa.int64(), "sum", True, False),  # in turn: see sums_fit
        ([LARGE, 1], pa.int64(), "max", True, True),
        ([1, 2], pa.uint64(), "min", False, False),
        ([True, False], pa.bool_(), "sum", False, False),
        ([0.5, math.nan], pa.float32(), "sum", True, True),
        ([0.5, math.nan], pa.float64(), "min", False, False),
        ([0.0, -0.0], pa.float64(), "sum", True, False),  # Arrow adds up from 0.0
        ([0.0, -0.0], pa.float64(), "max", False, False),
        (["a", "b"], pa.string(), "min", False, True),
        (["a", "b"], pa.string(), "sum", False, False),
        ([b"a"], pa.binary(), "max", False, False),
        ([b"a"], pa.binary(), "count", False, True),
    ],
)
def test_what_is_computed_of_a_column(
    values: list[Any], kind: Any, how: AggregateKind, in_turn: bool, by_group: bool
) -> None:
    column = pa.array(values, kind)
    assert (to_foldable_numbers(column, how) is not None) is in_turn
    assert (to_groupable_column(column, how) is not None) is by_group


def test_sums_of_results_and_numbers_fit_to_the_last() -> None:
    numbers = to_foldable_numbers(pa.array([LARGE - 4, 2]), "sum")
    assert numbers is not None
    assert sums_fit(numbers, 1, 2) and not sums_fit(numbers, 1, 3)
    assert not sums_fit(numbers, 0, 2)


def test_keys_are_there_and_compare_as_in_python() -> None:
    texts = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema({"id": pa.int64(), "name": texts, "price": pa.decimal128(9, 2)})
    assert have_exact_keys(schema, ("id", "name"))
    assert not have_exact_keys(schema, ("id", "price"))
    assert not have_exact_keys(schema, ("id", "missing"))


@pytest.mark.parametrize(
    ("values", "kind", "equal"),
    [
        ([1.5, None], pa.float64(), True),
        ([1.5, 2], pa.float64(), False),  # the integer would read as 2.0
        ([0.5, 1.5], pa.float32(), True),
        ([0.1], pa.float32(), False),  # it would be rounded
        ([1, 2], pa.int64(), True),
        ([True, 2], pa.int64(), False),
        (["a", None], pa.string(), True),
    ],
)
def test_an_array_is_made_where_it_reads_as_the_values(
    values: list[Any], kind: Any, equal: bool
) -> None:
    array = to_exact_array(values, kind)
    assert (array is not None) is equal
    assert array is None or array.to_pylist() == values


def test_no_array_of_a_type_that_arrow_cannot_make() -> None:
    """Its errors are no ``ValueError``: folds of columns with unions go on with rows."""
    ints, texts = pa.array([1, 2]), pa.array(["a", "b"])
    union = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [ints, texts])
    assert to_exact_array(union.to_pylist(), union.type) is None

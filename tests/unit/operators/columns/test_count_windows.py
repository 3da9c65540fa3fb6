"""Windows of a number of rows, by key."""

from __future__ import annotations

from collections import defaultdict
from typing import Literal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common.types import row_of
from headrace.operators.columns.accumulator import Aggregated
from headrace.operators.columns.count_windows import CountWindowSpec
from headrace.sql.aggregates.accumulators import ListOfValues
from headrace.testing import KeyedHarness

SCHEMA = pa.schema([("k", pa.int64()), ("n", pa.int64()), ("kept", pa.bool_())])
RESULT = pa.schema([("k", pa.int64()), ("ns", pa.list_(pa.int64()))])


def windows(
    keys: list[int],
    size: int,
    slide: int,
    *,
    cuts: tuple[int, ...] = (),
    backend: Literal["heap", "paged"] = "heap",
    every: int = 1,
) -> list[tuple[int, list[int]]]:
    """Return the windows of rows with these keys and rising numbers, cut into micro-batches."""
    aggregates = (Aggregated(ListOfValues(), ("n",), "kept"),)
    spec = CountWindowSpec(("k",), size, slide, aggregates, SCHEMA, RESULT)
    with KeyedHarness(spec, lambda row: row.k, backend=backend) as harness:
        for n, key in enumerate(keys):
            if n in cuts:
                harness.restore(harness.snapshot())
            harness.process(row_of(("k", "n", "kept"), [key, n, n % every == 0]))
        return [(each.k, each.ns) for each in harness.output()]


@pytest.mark.parametrize(
    ("size", "slide", "found"),
    [
        (2, 2, [[0, 1], [2, 3], [4, 5]]),
        (3, 2, [[0, 1, 2], [2, 3, 4]]),
        (3, 1, [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]]),
        (2, 3, [[0, 1], [3, 4]]),
        (7, 7, []),
    ],
)
def test_only_full_windows_are_given(size: int, slide: int, found: list[list[int]]) -> None:
    assert [numbers for _, numbers in windows([1] * 6, size, slide)] == found


def test_each_key_has_its_windows_and_rows_that_are_filtered_out_count() -> None:
    assert windows([1, 2, 1, 2, 2, 1, 1], 2, 2) == [(1, [0, 2]), (2, [1, 3]), (1, [5, 6])]
    assert windows([1] * 4, 2, 2, every=2) == [(1, [0]), (1, [2])]


@pytest.mark.parametrize("backend", ["heap", "paged"])
@given(
    keys=st.lists(st.integers(0, 2), max_size=30),
    size=st.integers(1, 5),
    slide=st.integers(1, 6),
    cuts=st.lists(st.integers(0, 30), max_size=4),
)
def test_cuts_change_nothing(
    backend: Literal["heap", "paged"], keys: list[int], size: int, slide: int, cuts: list[int]
) -> None:
    rows = defaultdict[int, list[int]](list)
    expected = []
    for n, key in enumerate(keys):
        rows[key].append(n)
        first = len(rows[key]) - size
        if first >= 0 and first % slide == 0:
            expected.append((key, rows[key][first:]))
    found = windows(keys, size, slide, cuts=tuple(cuts), backend=backend)
    assert found == expected

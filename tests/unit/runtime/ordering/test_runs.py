"""The order in which blocks of columns are read: that of the same blocks as rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.runtime.block import Block, records_of
from headrace.runtime.columns.batch import Columns
from headrace.runtime.columns.keys import ColumnKeys
from headrace.runtime.ordering.batches import merge_batch_blocks
from headrace.runtime.ordering.run import Run
from headrace.runtime.ordering.streams import merge_stream_blocks
from tests.unit.runtime.programs import Mark, channel

stamps = st.lists(st.none() | st.integers(-9, 9), min_size=1, max_size=9)


def block(stamps: list[int | None] | None, number: int, count: int = 0, **other: Any) -> Block:
    numbers = [100 * number + at for at in range(len(stamps or []) or count)]
    times = None if stamps is None else pa.array(stamps, pa.int64())
    columns = Columns(pa.record_batch({"n": numbers}), times=times)
    parts = {"marks": [], "first_watermark_ms": None, "now_ms": 0, **other}
    return Block(ColumnKeys(columns, ("n",)), columns, columns.timestamps, False, **parts)


def as_rows(block: Block) -> Block:
    times = block.timestamps and [*block.timestamps]
    return block._replace(values=records_of(block), keys=[*(block.keys or ())], timestamps=times)


def flat(reads: Any) -> tuple[list[Any], set[type]]:
    found: list[Any] = []
    kinds: set[type] = set()
    for read in reads:
        if not isinstance(read, Run):
            found.append(read)
            continue
        kinds.add(type(read.values))
        times = read.timestamps or [None] * len(read.values)
        found += zip(read.keys or (), read.values, times, strict=True)
    return found, kinds


@given(st.lists(st.none() | stamps, min_size=1, max_size=4))
def test_a_batch_is_read_in_the_order_of_time(drawn: list[list[int | None] | None]) -> None:
    blocks = [block(stamps, number, 3) for number, stamps in enumerate(drawn)]
    found, kinds = flat(merge_batch_blocks(blocks, []))
    expected, _ = flat(merge_batch_blocks([*map(as_rows, blocks)], []))
    assert found == expected and kinds == {Columns}


@given(
    st.lists(st.tuples(stamps, st.integers(0, 9), st.integers(0, 50)), min_size=1, max_size=5),
    st.booleans(),
)
def test_a_stream_is_read_by_watermark(
    drawn: list[tuple[list[int | None], int, int]], merged: bool
) -> None:
    blocks = [
        block(
            found,
            number,
            marks=[Mark(min(at, len(found)), "x", watermark)],
            merged_channel=channel("x") if merged else None,
            first_watermark_ms=watermark // 2 if merged else None,
        )
        for number, (found, at, watermark) in enumerate(drawn)
    ]
    senders = [*range(len(blocks))]
    found, kinds = flat(merge_stream_blocks(blocks, senders, {}))
    expected, _ = flat(merge_stream_blocks([*map(as_rows, blocks)], senders, {}))
    assert found == expected and kinds == {Columns}


@pytest.mark.parametrize("other", ["rows", "columns", "key"])
def test_what_does_not_fit_together_is_read_as_rows(other: str) -> None:
    first, second = block([3, 1], 0), block([2], 1)
    if other == "rows":
        second = as_rows(second)
    else:
        batch = pa.record_batch({"n": [100], "m": ["x"]})
        columns = Columns(batch, times=pa.array([2], pa.int64()))
        keys = ColumnKeys(columns, ("n",))
        if other == "key":
            first_values: Any = first.values
            columns = Columns(first_values.batch[:1], times=columns.times)
            keys = ColumnKeys(columns, ("n", "n"))
        second = second._replace(keys=keys, values=columns, timestamps=columns.timestamps)
    found, kinds = flat(merge_batch_blocks([first, second], []))
    expected, _ = flat(merge_batch_blocks([as_rows(first), as_rows(second)], []))
    assert found == expected and kinds == {list}

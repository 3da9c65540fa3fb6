"""Watermarks within columns: a record is as late as it would be after a watermark of each."""

from __future__ import annotations

from functools import partial
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from headrace.common.watermark_strategy import BoundedOutOfOrderness, WatermarkStrategy
from headrace.operators.timestamps import TimestampsSpec
from headrace.runtime.columns.batch import Columns
from headrace.runtime.columns.shapes import NAMED_ROWS
from headrace.runtime.operator import Outputs

BOUND_MS = 3


def late(chunks: list[list[int]], before_late: bool) -> list[int]:
    """The records that come after a watermark that is not below them."""
    factory = partial(BoundedOutOfOrderness, BOUND_MS, before_late=before_late)
    operator: Any = TimestampsSpec(WatermarkStrategy(factory)).build()
    operator.node = None
    operator.restore(None)
    found: list[int] = []
    reached = [-1]

    def see(columns: Columns) -> None:
        found.extend(each for each in columns.times.to_pylist() if each <= reached[0])  # type: ignore[union-attr]

    def signal(watermark: int, idle: bool) -> None:
        reached[0] = watermark

    outputs = Outputs(lambda value, timestamp: None, {}, signal)
    outputs.columns = see
    push = operator.bind_columns(outputs)
    for times in chunks:
        batch = pa.record_batch({"at": times})
        push(Columns(batch, NAMED_ROWS, pa.array(times, pa.int64())))
        operator.tick()
    return found


@given(st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=12), max_size=4))
def test_a_record_is_late_wherever_columns_are_cut(chunks: list[list[int]]) -> None:
    each = [[time] for times in chunks for time in times]
    assert late(chunks, before_late=True) == late(each, before_late=False)


def test_streams_have_watermarks_after_columns_only() -> None:
    assert late([[10, 20, 1], [2]], before_late=False) == [2]
    assert late([[10, 20, 1], [2]], before_late=True) == [1, 2]

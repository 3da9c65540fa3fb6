"""The time that windows with timers go by."""

from __future__ import annotations

import pyarrow as pa
import pytest

from headrace.errors import MissingWatermarksError
from headrace.operators.columns.window_time import WindowTime, event_times
from headrace.operators.columns.window_zones import LocalTime
from headrace.runtime.columns.batch import Columns
from headrace.runtime.columns.shapes import NAMED_ROWS
from headrace.runtime.state.backend import Timer

SPRING_MS = 1_774_746_000_000
"""2026-03-29 01:00 UTC: 02:00 in Berlin, where clocks are put to 03:00."""


def rows(*times: int | None) -> Columns:
    batch = pa.RecordBatch.from_pydict({"a": [*range(len(times))]})
    return Columns(batch, NAMED_ROWS, pa.array(times, pa.int64()))


def test_the_timestamps_of_rows() -> None:
    assert event_times(rows(3, 1)).tolist() == [3, 1]


def test_a_row_without_a_timestamp_is_refused() -> None:
    with pytest.raises(MissingWatermarksError):
        event_times(rows(3, None))


@pytest.mark.parametrize(("processing_time", "due"), [(False, 9), (True, 10)])
def test_a_window_ends_with_its_timer(processing_time: bool, due: int) -> None:
    time = WindowTime(processing_time, None)
    assert time.due(9) == due
    assert time.reached_by(Timer(due, "key")) == 9


def test_local_time_that_does_not_occur_is_over_with_the_gap() -> None:
    time = WindowTime(False, LocalTime("Europe/Berlin"))
    local_ms = SPRING_MS + 2 * 3_600_000  # 03:00, the first moment after the gap
    assert time.due(local_ms) == SPRING_MS
    assert time.reached_by(Timer(SPRING_MS, "key")) == local_ms

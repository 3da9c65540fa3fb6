"""A stream, a query over it, and a stream of its rows in one job: state before, in and after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common import Configuration, Row, Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor
from headrace.table import EnvironmentSettings, Schema, StreamTableEnvironment
from headrace.testing import run_pipeline
from tests.effort import examples
from tests.pipelines.running import SETTINGS, in_small_pieces

EVENT = Types.ROW_NAMED(["k", "n", "at"], [Types.STRING(), Types.LONG(), Types.LONG()])
TIMED = (
    Schema.new_builder()
    .column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")
    .watermark("rowtime", "SOURCE_WATERMARK()")
    .build()
)
ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 4)), min_size=1, max_size=25).map(
    lambda pairs: [(k, n, at * 400) for at, (k, n) in enumerate(pairs)]
)


class Times(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value.at)


class First(KeyedProcessFunction):
    """Only the first event of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.BOOLEAN()))

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        if not self.seen.value():
            self.seen.update(True)
            yield value


class Follow(KeyedProcessFunction):
    """The row of each key after each change; a change must fit to the row."""

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ValueStateDescriptor("row", Types.PICKLED_BYTE_ARRAY())
        self.row = runtime_context.get_state(descriptor)

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if value.get_row_kind().name in ("UPDATE_BEFORE", "DELETE"):
            assert self.row.value() == tuple(value)
            self.row.clear()
        else:
            assert self.row.value() is None
            self.row.update(tuple(value))
            yield tuple(value)


class WithTime(KeyedProcessFunction):
    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield value.k, value.s, ctx.timestamp()


@pytest.fixture(scope="module", autouse=True)
def small_pieces() -> Iterator[None]:
    with in_small_pieces():
        yield


def program(rows: list[Any], batch: bool) -> dict[str, DataStream]:
    env = StreamExecutionEnvironment(Configuration.from_dict(SETTINGS))
    mode = EnvironmentSettings.in_batch_mode() if batch else EnvironmentSettings.in_streaming_mode()
    table_env = StreamTableEnvironment.create(env, mode)
    events = env.from_collection([Row(*row) for row in rows], EVENT)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Times())
    events = events.assign_timestamps_and_watermarks(strategy)
    first = events.key_by(lambda row: f"{row.k}{row.n}").process(First(), EVENT).uid("first")
    table_env.create_temporary_view("t", table_env.from_data_stream(first, TIMED))
    sums = table_env.sql_query("SELECT k, COUNT(*) AS c, SUM(n) AS s FROM t GROUP BY k")
    windows = table_env.sql_query(
        "SELECT k, SUM(n) AS s, window_time FROM"
        " TABLE(TUMBLE(TABLE t, DESCRIPTOR(rowtime), INTERVAL '1' SECOND))"
        " GROUP BY k, window_start, window_end, window_time"
    )
    changes = table_env.to_changelog_stream(sums)
    return {
        "sums": changes.key_by(lambda row: row.k).process(Follow()).uid("follow"),
        "windows": table_env.to_data_stream(windows).key_by(lambda row: row.k).process(WithTime()),
    }


def first_of(rows: list[Any]) -> list[Any]:
    return list({(k, n): (k, n, at) for k, n, at in reversed(rows)}.values())


NO_TIME = -(1 << 63)
"""The timestamp that PyFlink gives a record without one."""

cuts = st.lists(st.integers(1, 6), max_size=6)


@settings(max_examples=examples(12), deadline=None)
@given(ROWS, cuts, cuts)
def test_a_job_gives_the_same_however_it_is_run(
    rows: list[Any], some: list[int], other: list[int]
) -> None:
    sums: dict[str, list[int]] = {}
    windows: Counter[tuple[str, int]] = Counter()
    for k, n, at in first_of(rows):
        sums.setdefault(k, []).append(n)
        windows[k, at // 1000] += n
    hows: list[dict[str, Any]] = [
        {},
        {"mode": "batch"},
        {"cuts": some, "backends": "paged", "restarts": True, "key_groups": 3, "parallelism": 2},
        {
            "cuts": other,
            "backends": "paged",
            "restarts": "savepoint",
            "key_groups": 2,
            "regroup": [(5, 2)],
        },
    ]
    for how in hows:
        batch = how.get("mode") == "batch"
        found = run_pipeline(lambda _, batch=batch: program(rows, batch), **how)
        last = {k: (count, total) for k, count, total in found["sums"]}
        assert last == {k: (len(each), sum(each)) for k, each in sums.items()}, how
        timed = Counter((k, total, at) for k, total, at in found["windows"])
        ends = {(k, w): NO_TIME if batch else w * 1000 + 999 for k, w in windows}
        assert timed == Counter((k, s, ends[k, w]) for (k, w), s in windows.items()), how

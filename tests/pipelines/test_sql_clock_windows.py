"""Windows of SQL by processing time, by a clock that the test moves: however a job is cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common import Configuration, Types
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.table import Schema, StreamTableEnvironment
from headrace.testing import run_pipeline
from tests.effort import examples
from tests.pipelines.running import SETTINGS, in_small_pieces

Rows = list[tuple[str, int]]
Found = Counter[tuple[Any, ...]]

WINDOWS = {
    "tumble": "TUMBLE(TABLE t, DESCRIPTOR(p), INTERVAL '0.010' SECOND)",
    "hop": "HOP(TABLE t, DESCRIPTOR(p), INTERVAL '0.004' SECOND, INTERVAL '0.012' SECOND)",
    "cumulate": "CUMULATE(TABLE t, DESCRIPTOR(p), INTERVAL '0.005' SECOND,"
    " INTERVAL '0.015' SECOND)",
    "session": "SESSION(TABLE t PARTITION BY k, DESCRIPTOR(p), INTERVAL '0.006' SECOND)",
}
CALLS = {"sums": "COUNT(*), SUM(n)", "row by row": "COUNT(DISTINCT id), SUM(n)"}

ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 4)), min_size=1, max_size=20)
cuts = st.lists(st.integers(1, 4), min_size=2, max_size=10)
steps = st.lists(st.integers(0, 9), min_size=1, max_size=12)
"""By how much the clock goes on before each micro-batch (ms)."""


@pytest.fixture(scope="module", autouse=True)
def small_pieces() -> Iterator[None]:
    with in_small_pieces():
        yield


class Clock:
    """Each reading is a step after the one before it; the last step is repeated."""

    def __init__(self, steps: list[int]) -> None:
        self.now_ms = 0
        self._steps = iter(steps)
        self._last = steps[-1]

    def __call__(self) -> int:
        self.now_ms += next(self._steps, self._last)
        return self.now_ms


def tables(options: dict[str, str], rows: Rows) -> StreamTableEnvironment:
    env = StreamExecutionEnvironment(Configuration.from_dict({**SETTINGS, **options}))
    table_env = StreamTableEnvironment.create(env)
    kind = Types.ROW_NAMED(["id", "k", "n"], [Types.INT(), Types.STRING(), Types.INT()])
    stream = env.from_collection([(at, *row) for at, row in enumerate(rows)], kind)
    schema = Schema.new_builder().column_by_expression("p", "PROCTIME()").build()
    table_env.create_temporary_view("t", table_env.from_data_stream(stream, schema))
    return table_env


def program(rows: Rows, query: str, **options: str) -> Any:
    """A program that gives the rows of a query, and the processing time of each row."""

    def made(_: Any) -> dict[str, DataStream]:
        table_env = tables(options, rows)
        times = table_env.sql_query("SELECT id, CAST(p AS TIMESTAMP(3)) FROM t")
        return {
            "found": table_env.to_changelog_stream(table_env.sql_query(query)),
            "times": table_env.to_changelog_stream(times),
        }

    return made


def ms(time: Any) -> int:
    return int(time.timestamp() * 1000) if time.tzinfo else time.microsecond // 1000


def run(made: Any, moves: list[int], **how: Any) -> tuple[list[Any], dict[int, int], int]:
    """The rows of a query, the times of the rows, and the time at the end."""
    clock = Clock(moves)
    results = run_pipeline(made, clock=clock, **how)
    times = {number: ms(time) for number, time in results["times"]}
    return results["found"], times, clock.now_ms


def ends_of(window: str, at: int) -> Any:
    return {
        "tumble": [at // 10 * 10 + 10],
        "hop": range((at // 4 + 1) * 4, at // 4 * 4 + 13, 4),
        "cumulate": range((at // 5 + 1) * 5, at // 15 * 15 + 16, 5),
    }[window]


def expected(window: str, rows: Rows, times: dict[int, int], now_ms: int) -> Found:
    """Key, number of rows, sum and end of each window that has ended."""
    groups: dict[tuple[str, int], list[int]] = {}
    if window == "session":
        for key in {key for key, _ in rows}:
            at = sorted((times[each], n) for each, (k, n) in enumerate(rows) if k == key)
            begins = [i for i, row in enumerate(at) if not i or row[0] - at[i - 1][0] >= 6]
            for begin, stop in pairwise([*begins, len(at)]):
                groups[key, at[stop - 1][0] + 6] = [n for _, n in at[begin:stop]]
    else:
        for each, (key, n) in enumerate(rows):
            for end in ends_of(window, times[each]):
                groups.setdefault((key, end), []).append(n)
    return Counter(
        (key, len(numbers), sum(numbers), end)
        for (key, end), numbers in groups.items()
        if end <= now_ms
    )


def folded(changes: list[Any]) -> Found:
    """The rows that changes add up to."""
    left: Found = Counter()
    for row in changes:
        shown = (*row[:-1], ms(row[-1]))
        if row.get_row_kind().name in ("INSERT", "UPDATE_AFTER"):
            left[shown] += 1
        else:
            assert left[shown] == 1, "a row is taken back that was not given"
            left[shown] -= 1
    return +left


def ways(some: list[int], other: list[int]) -> list[dict[str, Any]]:
    return [
        {"cuts": some},
        {"cuts": some, "backends": "paged", "restarts": True, "key_groups": 3, "parallelism": 2},
        {
            "cuts": other,
            "backends": "paged",
            "restarts": "savepoint",
            "key_groups": 2,
            "regroup": [(5, 2)],
        },
    ]


@settings(max_examples=examples(12), deadline=None)
@given(st.sampled_from(sorted(WINDOWS)), st.sampled_from(sorted(CALLS)), ROWS, steps, *(cuts, cuts))
def test_windows_give_what_the_clock_says(
    window: str, calls: str, rows: Rows, moves: list[int], some: list[int], other: list[int]
) -> None:
    query = (
        f"SELECT k, {CALLS[calls]}, window_end FROM TABLE({WINDOWS[window]})"
        " GROUP BY k, window_start, window_end"
    )
    for how in ways(some, other):
        found, times, now_ms = run(program(rows, query), moves, **how)
        shown = Counter((*row[:-1], ms(row[-1])) for row in found)
        assert shown == expected(window, rows, times, now_ms), how


@settings(max_examples=examples(6), deadline=None)
@given(ROWS, steps, cuts)
def test_a_second_aggregation_has_the_same_windows(
    rows: Rows, moves: list[int], some: list[int]
) -> None:
    query = (
        "SELECT SUM(c), window_end FROM (SELECT k, COUNT(*) AS c, window_start, window_end"
        f" FROM TABLE({WINDOWS['hop']}) GROUP BY k, window_start, window_end)"
        " GROUP BY window_start, window_end"
    )
    found, times, now_ms = run(
        program(rows, query), moves, cuts=some, backends="paged", restarts=True, key_groups=2
    )
    counts: Counter[int] = Counter()
    for _, count, _, end in expected("hop", rows, times, now_ms):
        counts[end] += count
    assert folded(found) == Counter((count, end) for end, count in counts.items())


@settings(max_examples=examples(6), deadline=None)
@given(ROWS, steps, cuts, st.sampled_from(["0 s", "5 ms"]))
def test_early_results_are_replaced_by_the_last_one(
    rows: Rows, moves: list[int], some: list[int], delay: str
) -> None:
    query = (
        "SELECT k, COUNT(*), SUM(n), TUMBLE_END(p, INTERVAL '0.010' SECOND) FROM t"
        " GROUP BY k, TUMBLE(p, INTERVAL '0.010' SECOND)"
    )
    options = {
        "table.exec.emit.early-fire.enabled": "true",
        "table.exec.emit.early-fire.delay": delay,
    }
    found, times, now_ms = run(
        program(rows, query, **options),
        moves,
        cuts=some,
        backends="paged",
        restarts=True,
        key_groups=2,
    )
    left = folded(found)
    ended = Counter({row: n for row, n in left.items() if row[-1] <= now_ms})
    assert ended == expected("tumble", rows, times, now_ms)
    if delay == "0 s":
        assert left == expected("tumble", rows, times, 1 << 40)


def test_early_results_come_at_intervals_of_the_clock() -> None:
    query = (
        "SELECT COUNT(*), TUMBLE_END(p, INTERVAL '0.020' SECOND) FROM t"
        " GROUP BY TUMBLE(p, INTERVAL '0.020' SECOND)"
    )
    options = {
        "table.exec.emit.early-fire.enabled": "true",
        "table.exec.emit.early-fire.delay": "6 ms",
    }
    rows = [("a", 1)] * 12
    found, times, _ = run(program(rows, query, **options), [2], cuts=[1] * 11)
    assert [*times.values()] == [*range(4, 28, 2)]
    shown = [(row.get_row_kind().name, row[0], ms(row[1])) for row in found]
    # Results 6 ms and 12 ms after the first row, before the rows of these moments, and at the end;
    # the next window is open when the input ends.
    assert shown == [
        ("INSERT", 3, 20),
        ("UPDATE_BEFORE", 3, 20),
        ("UPDATE_AFTER", 6, 20),
        ("UPDATE_BEFORE", 6, 20),
        ("UPDATE_AFTER", 8, 20),
        ("INSERT", 3, 40),
    ]


@settings(max_examples=examples(5), deadline=None)
@given(ROWS, steps, cuts)
def test_rows_of_sessions(rows: Rows, moves: list[int], some: list[int]) -> None:
    """Rows of the last moment of a session begin another one: it has ended before them."""
    query = f"SELECT id, k, window_end FROM TABLE({WINDOWS['session']})"
    found, times, now_ms = run(
        program(rows, query), moves, cuts=some, backends="paged", restarts=True, key_groups=2
    )
    wanted = set()
    for key in {key for key, _ in rows}:
        at = sorted((times[each], each) for each, (k, _) in enumerate(rows) if k == key)
        begins = [i for i, row in enumerate(at) if not i or row[0] - at[i - 1][0] >= 5]
        for begin, stop in pairwise([*begins, len(at)]):
            end = at[stop - 1][0] + 6
            wanted |= {(each, key, end) for _, each in at[begin:stop] if end - 1 <= now_ms}
    shown = [(each, key, ms(end)) for each, key, end in found]
    assert sorted(shown) == sorted(wanted)

"""Windows of SQL: the same rows however a statement is run, in one phase or two."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common import Configuration
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.table import StreamTableEnvironment
from headrace.testing import run_pipeline
from tests.effort import examples
from tests.pipelines.running import SETTINGS, in_small_pieces

Found = list[tuple[Any, ...]]

WINDOWS = {
    "tumble": (
        "TUMBLE(TABLE t, DESCRIPTOR(rt), INTERVAL '0.010' SECOND, INTERVAL '0.003' SECOND)",
        "[(m + 7) // 10 * 10 + 3]",
    ),
    "hop": (
        "HOP(TABLE t, DESCRIPTOR(rt), INTERVAL '0.004' SECOND, INTERVAL '0.012' SECOND)",
        "range((m // 4 + 1) * 4, m // 4 * 4 + 13, 4)",
    ),
    "cumulate": (
        "CUMULATE(TABLE t, DESCRIPTOR(rt), INTERVAL '0.005' SECOND, INTERVAL '0.015' SECOND)",
        "range((m // 5 + 1) * 5, m // 15 * 15 + 16, 5)",
    ),
}
"""Each with the ends of a row's windows, as DuckDB computes them."""

SESSIONS = "SESSION(TABLE t PARTITION BY k, DESCRIPTOR(rt), INTERVAL '0.005' SECOND)"

CALLS = {
    "sums": "COUNT(*), SUM(n), MAX(n)",
    "filtered": "COUNT(n) FILTER (WHERE n > 1), MIN(n)",
    "distinct": "COUNT(DISTINCT n), SUM(n)",
    "of texts": "MIN(w), COUNT(w)",
}
GROUPS = ["k", "k, w", ""]

ROWS = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.one_of(st.none(), st.integers(0, 4)),
        st.sampled_from(["x", "y", None]),
        st.integers(0, 40),
    ),
    min_size=1,
    max_size=25,
)


FOLDER = Path()


@pytest.fixture(scope="module", autouse=True)
def small_pieces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    global FOLDER
    FOLDER = tmp_path_factory.mktemp("rows")
    with in_small_pieces():
        yield


def stream_of(
    rows: list[Any],
    window: str,
    group: str,
    calls: str,
    delay_ms: int | None,
    combining: bool = True,
) -> DataStream:
    """``delay_ms``: None: some rows have a watermark, which is their time."""
    delayed = "CASE WHEN n > 1 THEN rt END"
    if delay_ms is not None:
        delayed = f"rt - INTERVAL '0.{delay_ms:03}' SECOND"
    options = {**SETTINGS, "headrace.combining.enabled": str(combining).lower()}
    env = StreamExecutionEnvironment(Configuration.from_dict(options))
    table_env = StreamTableEnvironment.create(env)
    path = FOLDER / f"{hashlib.sha256(repr(rows).encode()).hexdigest()}.json"
    if not path.exists():
        names = ("k", "n", "w", "m")
        lines = (json.dumps(dict(zip(names, row, strict=True))) for row in rows)
        path.write_text("\n".join(lines) + "\n")
    table_env.execute_sql(f"""
        CREATE TABLE t (
            k STRING, n INT, w STRING, m BIGINT, rt AS TO_TIMESTAMP_LTZ(m, 3),
            WATERMARK FOR rt AS {delayed}
        ) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json')""")
    keys = f"{group}, " if group else ""
    of_rows = SESSIONS if window == "session" else WINDOWS[window][0]
    found = table_env.sql_query(
        f"SELECT {keys}{calls}, window_end FROM TABLE({of_rows})"
        f" GROUP BY {keys}window_start, window_end"
    )
    return table_env.to_changelog_stream(found)


def shown(rows: list[Any]) -> Counter[tuple[Any, ...]]:
    """Rows with the ends of windows in ms."""
    return Counter((*row[:-1], row[-1].second * 1000 + row[-1].microsecond // 1000) for row in rows)


def of_duckdb(rows: list[Any], window: str, group: str, calls: str) -> Counter[tuple[Any, ...]]:
    keys = f"{group}, " if group else ""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (k VARCHAR, n INTEGER, w VARCHAR, m BIGINT)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        found = connection.execute(
            f"SELECT {keys}{calls}, e FROM (SELECT *, unnest({WINDOWS[window][1]}) AS e FROM t)"
            f" GROUP BY {keys}e"
        )
        return Counter(found.fetchall())


cuts = st.lists(st.integers(1, 6), max_size=6)


@pytest.mark.capability("SQL: windows of event time", runners="local")
@settings(max_examples=examples(15), deadline=None)
@given(
    st.sampled_from(sorted(WINDOWS)),
    st.sampled_from(GROUPS),
    st.sampled_from(sorted(CALLS)),
    ROWS,
    *(cuts, cuts),
)
def test_windows_have_the_same_rows_however_they_are_run(
    window: str, group: str, calls: str, rows: list[Any], some: list[int], other: list[int]
) -> None:
    def made(_: Any) -> dict[str, DataStream]:
        return {"found": stream_of(rows, window, group, CALLS[calls], delay_ms=50)}

    expected = of_duckdb(rows, window, group, CALLS[calls])
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
        found = run_pipeline(made, **how)["found"]
        assert shown(found) == expected, how


@settings(max_examples=examples(15), deadline=None)
@given(st.sampled_from([*sorted(WINDOWS), "session"]), ROWS, st.integers(0, 8), cuts)
def test_late_rows_are_the_same_in_one_phase_and_in_two(
    window: str, rows: list[Any], delay_ms: int, cuts: list[int]
) -> None:
    def outcome(calls: str, combining: bool, **how: Any) -> tuple[Any, Any]:
        stream = stream_of(rows, window, "k", calls, delay_ms, combining)
        found = run_pipeline(stream, **how)
        late = sum(count for name, count in found.counters.items() if "Late" in str(name))
        return shown([(*row,) for row in found.only]), late

    calls = "COUNT(*), SUM(n)"
    how: dict[str, Any] = {"cuts": cuts, "backends": "paged"}
    one = outcome(calls, False, **how)
    assert outcome(calls, True, **how) == one
    row_by_row, late = outcome(f"COUNT(DISTINCT w), {calls}", True, **how)
    without = Counter[Any]()
    for row, count in row_by_row.items():
        without[(row[0], *row[2:])] += count
    assert (without, late) == one


@settings(max_examples=examples(10), deadline=None)
@given(st.sampled_from(sorted(WINDOWS)), ROWS, cuts)
def test_watermarks_of_single_rows_make_the_same_rows_late(
    window: str, rows: list[Any], cuts: list[int]
) -> None:
    def outcome(**how: Any) -> tuple[Any, Any]:
        found = run_pipeline(stream_of(rows, window, "k", "COUNT(*)", None), **how)
        late = sum(count for name, count in found.counters.items() if "Late" in str(name))
        return shown(found.only), late

    how: dict[str, Any] = {"backends": "paged", "restarts": "savepoint"}
    assert outcome(cuts=cuts, **how) == outcome()


def sessions(rows: list[Any]) -> Counter[tuple[Any, ...]]:
    """Key, number of rows, sum, and end of each session."""
    found: Counter[tuple[Any, ...]] = Counter()
    for key in {row[0] for row in rows}:
        of_key = sorted((row[3], row[1]) for row in rows if row[0] == key)
        begins = [at for at, row in enumerate(of_key) if not at or row[0] - of_key[at - 1][0] > 5]
        for begin, stop in pairwise([*begins, len(of_key)]):
            numbers = [number for _, number in of_key[begin:stop] if number is not None]
            total = sum(numbers) if numbers else None
            found[key, stop - begin, total, of_key[stop - 1][0] + 5] += 1
    return found


@settings(max_examples=examples(10), deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 4), st.none(), st.integers(0, 60)),
        min_size=1,
        max_size=15,
    ),
    *(cuts, cuts),
)
def test_sessions_have_the_same_rows_however_they_are_run(
    rows: list[Any], some: list[int], other: list[int]
) -> None:
    def made(_: Any) -> dict[str, DataStream]:
        return {"found": stream_of(rows, "session", "k", "COUNT(*), SUM(n)", delay_ms=80)}

    hows: list[dict[str, Any]] = [
        {},
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
        assert shown(run_pipeline(made, **how)["found"]) == sessions(rows), how

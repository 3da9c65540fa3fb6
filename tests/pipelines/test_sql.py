"""A statement gives the same table however it is run: cut, restarted, in other key groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
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

QUERIES = {
    "sums": "SELECT k, COUNT(*), SUM(n), MAX(n) FROM t GROUP BY k",
    "of sums": (
        "SELECT c, COUNT(*), SUM(s) FROM (SELECT k, COUNT(*) AS c, SUM(n) AS s FROM t GROUP BY k)"
        " GROUP BY c"
    ),
    "distinct": "SELECT DISTINCT n FROM t",
    "of texts": "SELECT k, MIN(w), COUNT(DISTINCT w) FROM t GROUP BY k",
    "sets": "SELECT k, n, COUNT(*) FROM t GROUP BY GROUPING SETS ((k), (n), ())",
    "intersect": "SELECT n FROM t WHERE k = 'a' INTERSECT SELECT n FROM t WHERE k <> 'a'",
    "intersect all": "SELECT n, w FROM t INTERSECT ALL SELECT 1, w FROM t WHERE k = 'b'",
    "except": "SELECT n, w FROM t WHERE k = 'a' EXCEPT SELECT n, w FROM t WHERE k <> 'a'",
    "except all": "SELECT n FROM t WHERE k <> 'c' EXCEPT ALL SELECT n FROM t WHERE k = 'c'",
    "except of sums": (
        "SELECT k, SUM(n) FROM t GROUP BY k EXCEPT SELECT w, COUNT(*) FROM t GROUP BY w"
    ),
    "subqueries": (
        "SELECT n, (SELECT MAX(x) FROM (VALUES (1), (2)) AS v(x)) FROM t WHERE n NOT IN"
        " (SELECT x FROM (VALUES (2), (3)) AS v(x)) AND EXISTS (SELECT 1)"
    ),
    "having": "SELECT k, SUM(n) FROM t GROUP BY k HAVING SUM(n) > 3",
}
ROWS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 4), st.sampled_from(["x", "y", None])),
    min_size=1,
    max_size=25,
)


@pytest.fixture(scope="module", autouse=True)
def small_pieces() -> Iterator[None]:
    with in_small_pieces():
        yield


def program(
    query: str, rows: list[Any], mini: bool, ttl: str = "0 s"
) -> Callable[[Any], dict[str, DataStream]]:
    def made(_: Any) -> dict[str, DataStream]:
        options = {**SETTINGS, "table.exec.mini-batch.enabled": str(mini).lower()}
        options["table.exec.state.ttl"] = ttl
        env = StreamExecutionEnvironment(Configuration.from_dict(options))
        table_env = StreamTableEnvironment.create(env)
        values = ", ".join(
            f"('{k}', {n}, {'CAST(NULL AS STRING)' if w is None else repr(w)})" for k, n, w in rows
        )
        table_env.execute_sql(
            f"CREATE TEMPORARY VIEW t AS SELECT * FROM (VALUES {values}) AS v(k, n, w)"
        )
        return {"found": table_env.to_changelog_stream(table_env.sql_query(query))}

    return made


def folded(rows: list[Any]) -> dict[tuple[Any, ...], int]:
    """The table that changes make; a row is taken back only after it was given."""
    table: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        table[tuple(row)] += 1 if row.get_row_kind().name in ("INSERT", "UPDATE_AFTER") else -1
        assert table[tuple(row)] >= 0, row
    return {row: count for row, count in table.items() if count}


def of_duckdb(query: str, rows: list[Any]) -> dict[tuple[Any, ...], int]:
    """The answer of another engine over all rows."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (k VARCHAR, n INTEGER, w VARCHAR)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        return dict(Counter(connection.execute(query).fetchall()))


cuts = st.lists(st.integers(1, 6), max_size=6)


@pytest.mark.capability(
    "SQL: GROUP BY and its changes, row by row and in mini-batches", runners="local"
)
@settings(max_examples=examples(12), deadline=None)
@given(
    st.sampled_from(sorted(QUERIES)),
    ROWS,
    st.booleans(),
    st.sampled_from(["0 s", "1 h"]),
    cuts,
    cuts,
)
def test_a_statement_gives_the_same_table_however_it_is_run(
    name: str, rows: list[Any], mini: bool, ttl: str, some: list[int], other: list[int]
) -> None:
    made = program(QUERIES[name], rows, mini, ttl)
    expected = of_duckdb(QUERIES[name], rows)
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
        assert folded(run_pipeline(made, **how)["found"]) == expected, (name, how)


@settings(max_examples=examples(10), deadline=None)
@given(
    st.sampled_from(sorted(QUERIES)), ROWS, st.booleans(), st.lists(st.integers(1, 6), min_size=1)
)
def test_changes_add_up_to_the_answer_over_the_rows_so_far(
    name: str, rows: list[Any], mini: bool, cuts: list[int]
) -> None:
    """After each micro-batch, with a restart in other key groups before it."""
    how: dict[str, Any] = {"backends": "paged", "restarts": "savepoint", "key_groups": 3}
    read = min(sum(cuts), len(rows))
    made = program(QUERIES[name], rows, mini)
    found = run_pipeline(made, cuts=cuts, micro_batches=len(cuts), regroup=[(5, 2)], **how)["found"]
    assert folded(found) == of_duckdb(QUERIES[name], rows[:read])

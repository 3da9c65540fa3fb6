"""ORDER BY a time attribute gives a stream's rows in order, however it is run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common import Configuration
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.table import StreamTableEnvironment
from headrace.testing import run_pipeline
from tests.effort import examples
from tests.pipelines.running import SETTINGS, in_small_pieces

DELAY_S = 10
"""Rows come at most so much later than the latest one before them, so none is late."""

ROWS = st.lists(st.tuples(st.integers(0, DELAY_S - 1), st.integers(0, 3)), min_size=1, max_size=25)
cuts = st.lists(st.integers(1, 6), max_size=6)


@pytest.fixture(scope="module", autouse=True)
def small_pieces() -> Iterator[None]:
    with in_small_pieces():
        yield


def program(folder: Path) -> Callable[[Any], dict[str, DataStream]]:
    def made(_: Any) -> dict[str, DataStream]:
        env = StreamExecutionEnvironment(Configuration.from_dict(SETTINGS))
        table_env = StreamTableEnvironment.create(env)
        table_env.execute_sql(
            "CREATE TABLE t (n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL"
            f" '{DELAY_S}' SECOND) WITH ('connector' = 'filesystem', 'path' = '{folder}',"
            " 'format' = 'json')"
        )
        query = table_env.sql_query("SELECT n, ts FROM t ORDER BY ts, n DESC")
        return {"found": table_env.to_changelog_stream(query)}

    return made


@settings(max_examples=examples(8), deadline=None)
@given(ROWS, cuts, cuts)
def test_rows_come_in_the_order_of_their_time(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[int, int]],
    some: list[int],
    other: list[int],
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    found = [(each + at // 2, n) for at, (each, n) in enumerate(rows)]
    text = "".join(
        json.dumps({"n": n, "ts": f"2026-01-01 00:00:{second:02}"}) + "\n" for second, n in found
    )
    (folder / "rows.json").write_text(text, encoding="utf-8")
    expected = sorted(found, key=lambda row: (row[0], -row[1]))
    hows: list[dict[str, Any]] = [
        {},
        {"cuts": some, "backends": "paged", "restarts": True, "key_groups": 3, "parallelism": 2},
        {"cuts": other, "backends": "paged", "restarts": "savepoint", "key_groups": 2},
    ]
    for how in hows:
        given = [(row[1].second, row[0]) for row in run_pipeline(program(folder), **how)["found"]]
        assert given == expected, how

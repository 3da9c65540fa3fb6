"""Changes that may come twice give the last row of each key, however a statement is run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.common import Configuration
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.table import StreamTableEnvironment
from headrace.testing import run_pipeline
from tests.effort import examples
from tests.pipelines.running import SETTINGS, in_small_pieces
from tests.pipelines.test_sql import folded

Message = tuple[int, tuple[str, int | None] | None]
"""A key, and its row; None: the row is deleted."""

MESSAGES = st.lists(
    st.tuples(
        st.integers(1, 4),
        st.none() | st.tuples(st.sampled_from("ab"), st.none() | st.integers(0, 3)),
    ),
    min_size=1,
    max_size=25,
)
Rows = dict[int, tuple[str, int | None]]
QUERIES: dict[str, Callable[[Rows], dict[tuple[Any, ...], int]]] = {
    "SELECT * FROM t": lambda rows: {(key, *row): 1 for key, row in rows.items()},
    "SELECT id, v FROM t WHERE v > 1": lambda rows: {
        (key, v): 1 for key, (_, v) in rows.items() if v is not None and v > 1
    },
    "SELECT k, COUNT(*), SUM(v) FROM t GROUP BY k": lambda rows: {
        (k, len(found), sum(v for v in found if v is not None) if any_of(found) else None): 1
        for k in "ab"
        if (found := [v for one, v in rows.values() if one == k])
    },
}


def any_of(values: list[int | None]) -> bool:
    return any(each is not None for each in values)


@pytest.fixture(scope="module", autouse=True)
def small_pieces() -> Iterator[None]:
    with in_small_pieces():
        yield


def program(query: str, path: Path, mini: bool, ttl: str) -> Callable[[Any], dict[str, DataStream]]:
    def made(_: Any) -> dict[str, DataStream]:
        options = {
            **SETTINGS,
            "table.exec.mini-batch.enabled": str(mini).lower(),
            "table.exec.source.cdc-events-duplicate": "true",
            "table.exec.state.ttl": ttl,
        }
        env = StreamExecutionEnvironment(Configuration.from_dict(options))
        table_env = StreamTableEnvironment.create(env)
        table_env.execute_sql(
            "CREATE TABLE t (id INT, k STRING, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH"
            f" ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'debezium-json')"
        )
        return {"found": table_env.to_changelog_stream(table_env.sql_query(query))}

    return made


def line(key: int, row: tuple[str, int | None] | None) -> str:
    """A change; of a row that is deleted only the key is right."""
    k, v = row or ("?", 0)
    value = {"id": key, "k": k, "v": v}
    if row is None:
        return json.dumps({"before": value, "after": None, "op": "d"})
    return json.dumps({"before": {**value, "k": "?"}, "after": value, "op": "u"})


cuts = st.lists(st.integers(1, 6), max_size=6)


@settings(
    max_examples=examples(10),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.sampled_from(sorted(QUERIES)),
    MESSAGES,
    st.booleans(),
    st.sampled_from(["0 s", "1 h"]),
    cuts,
    cuts,
)
def test_the_last_row_of_each_key_counts(
    tmp_path: Path,
    query: str,
    messages: list[Message],
    mini: bool,
    ttl: str,
    some: list[int],
    other: list[int],
) -> None:
    path = tmp_path / "changes.json"
    path.write_text("".join(f"{line(*each)}\n" for each in messages), encoding="utf-8")
    rows: Rows = {}
    for key, row in messages:
        rows.pop(key, None)
        if row is not None:
            rows[key] = row
    made, expected = program(query, path, mini, ttl), QUERIES[query](rows)
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
        assert folded(run_pipeline(made, **how)["found"]) == expected, how

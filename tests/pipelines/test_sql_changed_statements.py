"""A changed statement goes on from a savepoint if it means the same, and is refused if not."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.errors import CheckpointError
from headrace.runners.clock import RunClock
from headrace.runners.local import LocalRun
from headrace.runtime.savepoint.records import decode_key
from headrace.runtime.savepoint.savepoint import MemorySavepoint
from headrace.table import StreamTableEnvironment
from headrace.testing import ManualClock, run_pipeline
from headrace.testing import _pipeline as pipeline
from headrace.testing._savepoints import stored
from tests.pipelines.test_sql import folded

ROWS = [
    {"k": k, "n": n, "w": w, "at": f"2026-01-02 00:00:{second:02}"}
    for second, (k, n, w) in enumerate(
        [("a", 1, "x"), ("b", 2, "y"), ("a", 2, None), ("c", 1, "x"), ("b", 2, "y"), ("a", 5, "z")]
        * 3
    )
]
COLUMNS = ("k STRING", "n INT", "w STRING", "`at` TIMESTAMP(3)")
SECONDS = "INTERVAL '4' SECOND"

Build = Callable[[StreamExecutionEnvironment | None], dict[str, DataStream]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), "utf-8")
    changes = [
        {"before": None, "after": {key: row[key] for key in "knw"}, "op": "c"} for row in ROWS
    ]
    (tmp_path / "changes").write_text("".join(f"{json.dumps(row)}\n" for row in changes), "utf-8")
    return tmp_path


def program(
    query: str,
    folder: Path,
    *before: str,
    settings: Mapping[str, str] = {},
    columns: tuple[str, ...] = COLUMNS,
    delay: str = "0",
    options: str = "",
) -> Build:
    """A job with the changes of a query over tables of files."""

    def made(_: StreamExecutionEnvironment | None) -> dict[str, DataStream]:
        config = {"headrace.watermark.chunk-records": "1", **settings}
        env = StreamExecutionEnvironment(Configuration.from_dict(config))
        table_env = StreamTableEnvironment.create(env)
        table_env.execute_sql(
            f"CREATE TABLE t ({', '.join(columns)}, WATERMARK FOR `at` AS `at` - INTERVAL '{delay}'"
            f" SECOND) WITH ('connector' = 'filesystem', 'path' = '{folder}/rows',"
            f" 'format' = 'json'{options})"
        )
        table_env.execute_sql(
            "CREATE TABLE c (k STRING, n INT, w STRING, PRIMARY KEY (k) NOT ENFORCED) WITH"
            f" ('connector' = 'filesystem', 'path' = '{folder}/changes',"
            " 'format' = 'debezium-json')"
        )
        for statement in before:
            table_env.execute_sql(statement)
        return {"found": table_env.to_changelog_stream(table_env.sql_query(query))}

    return made


class Run:
    """A run of a program on the local runner, from its beginning or from a savepoint."""

    def __init__(
        self,
        build: Build,
        savepoint: MemorySavepoint | None = None,
        *,
        ignore_unclaimed: bool = False,
        groups: tuple[int, int] = (3, 2),
        now_ms: int = 0,
    ) -> None:
        plan, streams = pipeline._make_planner(build, False)
        job = plan(*groups)
        if savepoint is not None:
            job = job.as_successor_of(savepoint.manifest.offset["program"], copied=True)
        self.rows = streams["found"]
        self.clock = ManualClock(now_ms)
        self.budget = 30
        self.run = LocalRun(
            job,
            pipeline._CollectingDelivery(streams),
            RunClock(self.clock),
            iter(lambda: self.budget, None),
            one_key_group=False,
        )
        if savepoint is not None:
            self.run.restore(savepoint, ignore_unclaimed)

    def savepoint(self) -> MemorySavepoint:
        """A savepoint after a part of the input, as it comes back from its folder."""
        self.run.step()
        assert not self.run.ended
        made = stored(self.run.savepoint())
        self.run.close()
        return made

    def to_end(self) -> list[Any]:
        """The rows of the rest of the input."""
        self.budget = 1000
        while not self.run.ended:
            self.run.step()
        self.run.close()
        return self.rows


def changelog(rows: list[Any]) -> list[Any]:
    return [(row.get_row_kind().name, *row) for row in rows]


GROUPED = "SELECT k, COUNT(*) AS c, SUM(n) AS s FROM t WHERE n > 0 AND k <> 'z' GROUP BY k"
WINDOWED = (
    "SELECT window_start, k, COUNT(*) AS c FROM"
    f" TABLE(TUMBLE(TABLE t, DESCRIPTOR(`at`), {SECONDS})) GROUP BY window_start, window_end, k"
)
SESSIONS = (
    "SELECT k, n, window_end FROM"
    f" TABLE(SESSION(TABLE t PARTITION BY k, DESCRIPTOR(`at`), {SECONDS}))"
)
EXCEPT = "SELECT n, w FROM t WHERE k = 'a' EXCEPT ALL SELECT n, w FROM t WHERE k = 'b'"
VIEW = "CREATE TEMPORARY VIEW v AS SELECT n AS m, k AS l, w, `at` FROM t WHERE k <> 'z'"

SAME: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "names": (
        GROUPED,
        "SELECT o.k AS kk, COUNT(*) AS cc, SUM(o.n) AS ss FROM t AS o"
        " WHERE o.n > 0 AND o.k <> 'z' GROUP BY o.k",
        (),
    ),
    "order of conditions": (
        GROUPED,
        "SELECT k, COUNT(*), SUM(n) FROM t WHERE k <> 'z' AND n > 0 GROUP BY k",
        (),
    ),
    "layout of the text": (GROUPED, GROUPED.replace(" ", "\n  /* and */ "), ()),
    "a view": (GROUPED, "SELECT l, COUNT(*), SUM(m) FROM v WHERE m > 0 GROUP BY l", (VIEW,)),
    "a subquery": (
        GROUPED,
        "SELECT k, COUNT(*), SUM(n) FROM (SELECT n, k FROM t WHERE n > 0) WHERE k <> 'z'"
        " GROUP BY k",
        (),
    ),
    "WITH": (
        GROUPED,
        "WITH r AS (SELECT * FROM t WHERE k <> 'z' AND n > 0)"
        " SELECT k, COUNT(*), SUM(n) FROM r GROUP BY k",
        (),
    ),
    "DISTINCT": (
        "SELECT DISTINCT k, n + 1 AS m FROM t",
        "SELECT DISTINCT l, m + 1 FROM v0",
        ("CREATE TEMPORARY VIEW v0 AS SELECT k AS l, n AS m, w FROM t",),
    ),
    "of an aggregation": (
        "SELECT c, COUNT(*) FROM (SELECT k, COUNT(*) AS c FROM t GROUP BY k) GROUP BY c",
        "SELECT x, COUNT(*) FROM (SELECT COUNT(*) AS x, k AS y FROM t GROUP BY k) GROUP BY x",
        (),
    ),
    "of a window": (
        WINDOWED,
        "SELECT window_start AS begins, l, COUNT(*) FROM"
        f" TABLE(TUMBLE(TABLE w0, DESCRIPTOR(`at`), {SECONDS}))"
        " GROUP BY window_start, window_end, l",
        ("CREATE TEMPORARY VIEW w0 AS SELECT n, k AS l, `at` FROM t",),
    ),
    "of sessions": (
        SESSIONS,
        "SELECT l, m, window_end FROM"
        f" TABLE(SESSION(TABLE s0 PARTITION BY l, DESCRIPTOR(`ts`), {SECONDS}))",
        ("CREATE TEMPORARY VIEW s0 AS SELECT k AS l, n AS m, w, `at` AS ts FROM t",),
    ),
    "of EXCEPT": (
        EXCEPT,
        "SELECT m, w FROM v WHERE l = 'a' EXCEPT ALL SELECT n AS a, w AS b FROM t WHERE k = 'b'",
        ("CREATE TEMPORARY VIEW v AS SELECT n AS m, k AS l, w FROM t",),
    ),
    "of ORDER BY": (
        "SELECT `at`, n FROM t ORDER BY `at`, n",
        "SELECT ts, m FROM (SELECT `at` AS ts, n AS m FROM t) ORDER BY ts, m",
        (),
    ),
    "of LIMIT": ("SELECT k FROM t LIMIT 9", "SELECT l FROM (SELECT k AS l FROM t) LIMIT 9", ()),
    "of rows by key": (
        "SELECT k, n FROM c WHERE n > 1 AND k <> 'z'",
        "SELECT l, m FROM v WHERE m > 1",
        ("CREATE TEMPORARY VIEW v AS SELECT k AS l, n AS m FROM c WHERE k <> 'z'",),
    ),
}
BY_KEY = {"table.exec.source.cdc-events-duplicate": "true"}


@pytest.mark.capability("SQL: savepoints, other key groups, changed statements", runners="local")
@pytest.mark.parametrize("name", SAME)
def test_a_statement_with_the_same_meaning_goes_on(name: str, folder: Path) -> None:
    query, changed, before = SAME[name]
    one = (1, 1)
    whole = Run(program(query, folder, settings=BY_KEY), groups=one).to_end()
    first = Run(program(query, folder, settings=BY_KEY), groups=one)
    savepoint = first.savepoint()
    assert any(entry.kinds() for entry in savepoint.manifest.operators)
    then = program(changed, folder, *before, settings=BY_KEY)
    rest = Run(then, savepoint, groups=one).to_end()
    assert changelog(first.rows + rest) == changelog(whole)
    spread = Run(then, savepoint, groups=(4, 2)).to_end()
    assert folded(first.rows + spread) == folded(whole)


OTHER: dict[str, tuple[str, str, str]] = {
    "keys": (GROUPED, GROUPED.replace("GROUP BY k", "GROUP BY k, w"), "GroupAggregate"),
    "an aggregate": (GROUPED, GROUPED.replace("SUM", "MAX"), "GroupAggregate"),
    "DISTINCT": (GROUPED, GROUPED.replace("SUM(n)", "SUM(DISTINCT n)"), "GroupAggregate"),
    "a condition": (GROUPED, GROUPED.replace("n > 0", "n > 1"), "GroupAggregate"),
    "an expression": (GROUPED, GROUPED.replace("SUM(n)", "SUM(n + 1)"), "GroupAggregate"),
    "no aggregation": (GROUPED, "SELECT k FROM t", "GroupAggregate"),
    "a size": (WINDOWED, WINDOWED.replace("'4'", "'5'"), "WindowAggregate"),
    "a kind of window": (
        WINDOWED,
        WINDOWED.replace("TUMBLE(", "HOP(").replace("SECOND)", "SECOND, INTERVAL '8' SECOND)"),
        "WindowAggregate",
    ),
    "a gap": (SESSIONS, SESSIONS.replace("'4'", "'5'"), "WindowTableFunction"),
    "ALL": (EXCEPT, EXCEPT.replace(" ALL", ""), "SetOperation"),
    "a limit": ("SELECT k FROM t LIMIT 9", "SELECT k FROM t LIMIT 10", "Limit"),
}


@pytest.mark.parametrize("name", OTHER)
def test_a_statement_with_another_meaning_is_refused(name: str, folder: Path) -> None:
    query, changed, operator = OTHER[name]
    savepoint = Run(program(query, folder)).savepoint()
    with pytest.raises(CheckpointError) as refused:
        Run(program(changed, folder), savepoint)
    said = str(refused.value)
    assert f"the program has no operator {operator!r}" in said
    assert ("it was:" in said) is (operator != "Limit"), "a limit has no description"
    assert "headrace run --allow-non-restored-state" in said
    left_out = Run(program(changed, folder), savepoint, ignore_unclaimed=True)
    assert left_out.to_end(), "it begins without the state, and reads on"


def test_what_leaves_state_as_it_is_may_change_in_a_table(folder: Path) -> None:
    whole = Run(program(WINDOWED, folder)).to_end()
    first = Run(program(WINDOWED, folder))
    savepoint = first.savepoint()
    changed = program(
        WINDOWED,
        folder,
        columns=("more STRING", *COLUMNS),
        delay="1",
        options=", 'json.ignore-parse-errors' = 'true'",
    )
    assert folded(first.rows + Run(changed, savepoint).to_end()) == folded(whole)


MINI = {"table.exec.mini-batch.enabled": "true"}
SETTINGS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "mini-batches on": ({}, MINI),
    "mini-batches off": (MINI, {}),
    "in one phase": (MINI, {**MINI, "headrace.combining.enabled": "false"}),
    "in two phases": ({**MINI, "headrace.combining.enabled": "false"}, MINI),
    "Flink's phases": ({}, {"table.optimizer.agg-phase-strategy": "ONE_PHASE"}),
    "ttl added": ({}, {"table.exec.state.ttl": "1 h"}),
    "ttl removed": ({"table.exec.state.ttl": "1 h"}, {}),
    "ttl longer": ({"table.exec.state.ttl": "1 h"}, {"table.exec.state.ttl": "1 d"}),
    "ttl shorter": ({"table.exec.state.ttl": "1 d"}, {"table.exec.state.ttl": "1 h"}),
    "ttl and mini-batches": (MINI, {"table.exec.state.ttl": "1 h"}),
    "duplicates": ({}, BY_KEY),
}
KEYED = "SELECT k, n FROM c WHERE n > 1"
BY_ROWS = "SELECT k, MIN(w) AS m, COUNT(DISTINCT w) AS c FROM t GROUP BY k"


@pytest.mark.parametrize("groups", [(3, 2), (5, 1)], ids=str)
@pytest.mark.parametrize("query", [GROUPED, BY_ROWS, WINDOWED], ids=["arrays", "rows", "windows"])
@pytest.mark.parametrize("name", SETTINGS)
def test_settings_may_change(name: str, query: str, groups: tuple[int, int], folder: Path) -> None:
    before, after = SETTINGS[name]
    whole = Run(program(query, folder)).to_end()
    first = Run(program(query, folder, settings=before))
    savepoint = first.savepoint()
    then = Run(program(query, folder, settings=after), savepoint, groups=groups, now_ms=1000)
    assert folded(first.rows + then.to_end()) == folded(whole)


@pytest.mark.parametrize("groups", [(3, 2), (5, 1)], ids=str)
@pytest.mark.parametrize(
    "query",
    [EXCEPT, EXCEPT.replace(" ALL", ""), KEYED],
    ids=["except all", "except", "rows by key"],
)
@pytest.mark.parametrize("name", [each for each in SETTINGS if "ttl" in each])
def test_the_time_to_live_may_change(
    name: str, query: str, groups: tuple[int, int], folder: Path
) -> None:
    before, after = ({**BY_KEY, **each} for each in SETTINGS[name])
    whole = Run(program(query, folder, settings=BY_KEY)).to_end()
    first = Run(program(query, folder, settings=before))
    savepoint = first.savepoint()
    then = Run(program(query, folder, settings=after), savepoint, groups=groups, now_ms=1000)
    assert folded(first.rows + then.to_end()) == folded(whole)


OVER_DISTINCT = "SELECT COUNT(*), MAX(n) FROM (SELECT DISTINCT n, w FROM t)"


def test_a_time_to_live_that_makes_rows_change_is_another_meaning_of_what_reads_them(
    folder: Path,
) -> None:
    """MAX over rows that are only added keeps one value, over others all of them."""
    changed = program(OVER_DISTINCT, folder, settings={"table.exec.state.ttl": "1 h"})
    whole = folded(Run(program(OVER_DISTINCT, folder)).to_end())
    assert folded(Run(changed).to_end()) == whole
    savepoint = Run(program(OVER_DISTINCT, folder)).savepoint()
    with pytest.raises(CheckpointError, match="no operator 'GroupAggregate'"):
        Run(changed, savepoint)
    first = Run(changed)
    longer = program(OVER_DISTINCT, folder, settings={"table.exec.state.ttl": "1 d"})
    rest = Run(longer, first.savepoint()).to_end()
    assert folded(first.rows + rest) == whole


EXPIRING: dict[str, tuple[str, int]] = {
    "groups": (GROUPED, 3),
    "groups by row": (BY_ROWS, 3),
    "rows by key": ("SELECT k, n FROM c", 3),
    "except": ("SELECT k FROM t EXCEPT SELECT 'z' FROM t", 3),
    "except all": ("SELECT k FROM t EXCEPT ALL SELECT 'z' FROM t WHERE n < 0", 3),
    "limit": ("SELECT k FROM t LIMIT 9", 1),
}


@pytest.mark.parametrize("name", EXPIRING)
@pytest.mark.parametrize("groups", [(3, 2), (1, 1)], ids=str)
def test_state_is_gone_after_a_restart_beyond_its_time(
    name: str, groups: tuple[int, int], folder: Path
) -> None:
    query, keys = EXPIRING[name]
    settings = {**BY_KEY, "table.exec.state.ttl": "10 s"}
    first = Run(program(query, folder, settings=settings))
    savepoint = first.savepoint()
    assert len(keys_in(savepoint)) >= keys
    then = Run(program(query, folder, settings=settings), savepoint, groups=groups, now_ms=60_000)
    then.budget = 1
    then.run.step()  # timers fire after the rows
    assert len(keys_of(then.run)) <= 2
    then.to_end()
    again = [row for row in then.rows if row.get_row_kind().name == "INSERT"]
    assert len(again) >= keys, "what came before is forgotten"


@pytest.mark.parametrize("query", [GROUPED, BY_ROWS, WINDOWED], ids=["arrays", "rows", "windows"])
@pytest.mark.parametrize("restarts", [True, "savepoint"])
def test_settings_may_come_and_go(query: str, restarts: Any, folder: Path) -> None:
    """At each restart on pages: also of key groups that have not been reached in between."""
    settings = [
        {"table.exec.state.ttl": "1 h"},
        MINI,
        {"table.exec.state.ttl": "1 d", **MINI},
        {"table.exec.state.ttl": "2 h", "headrace.state.page-bytes": "200"},
    ]
    later = [program(query, folder, settings=each) for each in settings]
    clock = ManualClock()
    results = run_pipeline(
        program(query, folder),
        cuts=[9] * 12,
        clock=lambda: clock.advance(1000),
        backends="paged",
        key_groups=7,
        restarts=restarts,
        successors=later,
    )
    assert results.micro_batches > 5
    assert folded(results["found"]) == folded(Run(program(query, folder)).to_end())


@pytest.mark.parametrize("query", [GROUPED, BY_ROWS], ids=["arrays", "rows"])
@pytest.mark.parametrize("before", ["0 s", "1 s", "9 s"])
def test_state_is_gone_after_the_time_that_was_set_last(
    query: str, before: str, folder: Path
) -> None:
    first = Run(program(query, folder, settings={"table.exec.state.ttl": before}))
    savepoint = first.savepoint()
    now = {"table.exec.state.ttl": "10 s"}
    then = Run(program(query, folder, settings=now), savepoint, now_ms=500)
    then.budget = 1
    then.run.step()
    assert keys_of(then.run) == {"a", "b", "c"}
    then.clock.advance(9_000)
    then.run.step()
    assert keys_of(then.run) == {"a", "b", "c"}
    then.clock.advance(3_000)
    then.run.step()
    assert len(keys_of(then.run)) < 3
    then.run.close()


def keys_of(run: LocalRun) -> set[Any]:
    """The keys that have state."""
    return keys_in(run.savepoint())


def keys_in(savepoint: MemorySavepoint) -> set[Any]:
    """The keys that have state in a savepoint."""
    records = (
        r
        for name in savepoint.manifest.parts
        if name.startswith("states/")
        for r in savepoint.read(name)
    )
    return {decode_key(record.key) for record in records}


def test_operators_of_one_meaning_have_states_of_their_own(folder: Path) -> None:
    """With other names, or another time to live."""
    query = (
        "SELECT k, COUNT(*) AS c FROM t GROUP BY k UNION ALL"
        " SELECT l, COUNT(*) AS d FROM (SELECT k AS l FROM t) GROUP BY l UNION ALL"
        " SELECT /*+ STATE_TTL('t' = '1 h') */ k, COUNT(*) FROM t GROUP BY k"
    )
    whole = Run(program(query, folder)).to_end()
    first = Run(program(query, folder))
    savepoint = first.savepoint()
    assert len({entry.uid for entry in savepoint.manifest.operators}) == 3
    rest = Run(program(query, folder), savepoint, groups=(2, 2)).to_end()
    assert folded(first.rows + rest) == folded(whole)

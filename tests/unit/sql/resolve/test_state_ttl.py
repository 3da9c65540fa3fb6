"""How long aggregations keep state, and whether EXPLAIN warns of it."""

from __future__ import annotations

import pytest

from headrace.errors import SqlValidationError, UnsupportedError
from headrace.sql.rel import Aggregate, walk
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.table_environment import TableEnvironment

TABLE = "CREATE TABLE orders (k STRING, v BIGINT) WITH ('connector' = 'datagen')"
DAY_MS = 86_400_000
GROUPED = "SELECT {} k, COUNT(*) AS n FROM orders {} GROUP BY k"
OF_ORDERS = GROUPED.format("/*+ STATE_TTL('orders' = '1 d') */", "")


@pytest.fixture
def env() -> TableEnvironment:
    made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    made.execute_sql(TABLE)
    return made


def kept(env: TableEnvironment, query: str) -> list[int | None]:
    """How long the aggregations of a query keep state, the outer ones first."""
    rel = env.sql_query(query)._rel
    return [each.ttl_ms for each in walk(rel) if isinstance(each, Aggregate)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (GROUPED.format("", ""), [None]),
        (OF_ORDERS, [DAY_MS]),
        (GROUPED.format("/*+ STATE_TTL('o' = '0 s') */", "AS o"), [0]),
        (GROUPED.format("/*+ STATE_TTL(orders = '1 d') */", ""), [DAY_MS]),
        ("SELECT /*+ STATE_TTL('orders' = '1 d') */ DISTINCT k FROM orders", [DAY_MS]),
        (
            "SELECT /*+ STATE_TTL('orders' = '1 d') */ SUM(v) FROM orders HAVING SUM(v) > 1",
            [DAY_MS],
        ),
        (f"SELECT /*+ STATE_TTL('t' = '2 d') */ * FROM ({OF_ORDERS}) AS t", [DAY_MS]),
        (
            f"SELECT /*+ STATE_TTL('t' = '2 d') */ n, COUNT(*) FROM ({OF_ORDERS}) AS t GROUP BY n",
            [2 * DAY_MS, DAY_MS],
        ),
    ],
)
def test_a_hint_is_for_the_aggregations_of_its_select(
    env: TableEnvironment, query: str, expected: list[int | None]
) -> None:
    assert kept(env, query) == expected


@pytest.mark.parametrize(
    ("hint", "problem"),
    [
        ("STATE_TTL('o' = '1 d')", "names 'o', which is not a table of this query"),
        ("STATE_TTL('orders' = 'long')", "'long', which is not a duration"),
    ],
)
def test_a_wrong_hint_is_refused(env: TableEnvironment, hint: str, problem: str) -> None:
    with pytest.raises(SqlValidationError, match=problem):
        env.sql_query(GROUPED.format(f"/*+ {hint} */", ""))


def test_the_plan_warns_of_state_without_end(env: TableEnvironment) -> None:
    grouped = GROUPED.format("", "")
    warning = "GroupAggregate(groupBy=[k]) keeps the state of each key without end"
    assert warning in env.explain_sql(grouped)
    assert "Warning" not in env.explain_sql(OF_ORDERS)
    assert "Warning" not in env.explain_sql("SELECT COUNT(*) FROM orders")
    assert "Warning" not in env.explain_sql(
        "SELECT k, COUNT(*) FROM (VALUES (1)) AS t(k) GROUP BY k"
    )
    env.get_config().set("table.exec.state.ttl", "1 h")
    assert "Warning" not in env.explain_sql(grouped)
    assert warning in env.explain_sql(OF_ORDERS.replace("1 d", "0 s"))


def test_the_plan_warns_of_a_sink_that_keeps_rows(env: TableEnvironment) -> None:
    env.execute_sql(
        "CREATE TABLE counted (n BIGINT, k STRING, PRIMARY KEY (n) NOT ENFORCED) WITH"
        " ('connector' = 'print')"
    )
    insert = "INSERT INTO counted SELECT n, k FROM ({}) AS t ON CONFLICT DO DEDUPLICATE"
    plan = env.explain_sql(insert.format(OF_ORDERS))
    assert plan.count("== Warning ==") == 1
    assert "counted]) keeps the rows of each primary key without end" in plan
    env.get_config().set("table.exec.state.ttl", "1 h")
    assert "Warning" not in env.explain_sql(insert.format(OF_ORDERS))


@pytest.mark.parametrize(
    "query", ["SELECT DISTINCT k FROM orders", "SELECT k FROM orders INTERSECT SELECT 'a'"]
)
@pytest.mark.parametrize("ttl", ["0 s", "1 h"])
def test_aggregations_need_a_table_that_takes_updates(
    env: TableEnvironment, query: str, ttl: str
) -> None:
    """As in Flink, also if no result can change."""
    env.execute_sql(
        "CREATE TABLE files (k STRING) WITH"
        " ('connector' = 'filesystem', 'path' = '/tmp/none', 'format' = 'json')"
    )
    env.get_config().set("table.exec.state.ttl", ttl)
    with pytest.raises(SqlValidationError, match="does not accept the changes of this query"):
        env.explain_sql(f"INSERT INTO files {query}")


@pytest.mark.parametrize(
    "query", ["SELECT DISTINCT k FROM orders", "SELECT k FROM orders INTERSECT SELECT 'a'"]
)
def test_the_first_of_rows_that_do_not_change(env: TableEnvironment, query: str) -> None:
    assert "Limit" in env.explain_sql(f"SELECT * FROM ({query}) AS t LIMIT 3")
    env.get_config().set("table.exec.state.ttl", "1 h")
    with pytest.raises(UnsupportedError, match="LIMIT of rows that change"):
        env.explain_sql(f"SELECT * FROM ({query}) AS t LIMIT 3")


def test_an_operator_keeps_its_uid_when_the_time_changes(env: TableEnvironment) -> None:
    (one,) = [r for r in walk(env.sql_query(OF_ORDERS)._rel) if isinstance(r, Aggregate)]
    (other,) = [
        r
        for r in walk(env.sql_query(OF_ORDERS.replace("1 d", "2 d"))._rel)
        if isinstance(r, Aggregate)
    ]
    assert one != other
    assert repr(one) == repr(other)

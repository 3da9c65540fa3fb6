"""Databases on Spark: what workers write and read, and how many connections they open."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.postgres import PostgresSink, PostgresSnapshotSource
from headrace.datastream.connectors.redis import RedisCommand, RedisSink

psycopg = pytest.importorskip("psycopg", reason="missing: psycopg, pip install headrace[postgres]")
pytestmark = pytest.mark.spark

ROWS = 400
TASKS = 2
PROCESSES = 2 * TASKS
"""Python's processes: a task of Spark reads in one, and writes in another."""


@pytest.mark.capability("Redis and PostgreSQL as sinks, exactly once", runners="batch, streaming")
@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_a_table_to_redis_and_another_table(
    redis: Any, database: Any, tmp_path: Path, mode: str
) -> None:
    database.execute("CREATE TABLE given (id int PRIMARY KEY)")
    database.execute(f"INSERT INTO given SELECT generate_series(1, {ROWS})")
    elsewhere, url = database_for_rows(database, f"taken_{mode}".lower())
    settings = {
        "parallelism.default": str(TASKS),
        "execution.runtime-mode": mode,
        "execution.checkpointing.dir": str(tmp_path / "checkpoint"),
        "headrace.source.max-records-per-batch": "25",
        "pipeline.name": "databases",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    source = PostgresSnapshotSource(database.url, "given")
    database.execute("DELETE FROM given WHERE id > 10")  # the snapshot has them
    ids = env.from_source(source, WatermarkStrategy.no_watermarks(), "given").map(lambda r: r.id)
    ids.sink_to(RedisSink(redis.url, lambda n: RedisCommand.hincrby("sums", n % 3, n)))
    pairs = ids.map(lambda n: (n,))
    pairs.sink_to(PostgresSink(url, table="taken", columns=["id"]))
    before = redis.info("stats")["total_connections_received"]
    env.execute("databases")
    source.close()
    opened = redis.info("stats")["total_connections_received"] - before
    expected = {str(k): str(sum(n for n in range(1, ROWS + 1) if n % 3 == k)) for k in range(3)}
    assert redis.hgetall("sums") == expected
    assert 1 <= opened <= PROCESSES
    assert 1 <= sessions(database, elsewhere) <= PROCESSES
    with psycopg.connect(url) as rows:
        taken = rows.execute("SELECT id FROM taken ORDER BY id").fetchall()
        found = rows.execute("SELECT max(batch_id) FROM headrace_markers").fetchone()
    assert taken == [(n,) for n in range(1, ROWS + 1)]
    if mode == "STREAMING":
        assert found is not None and found[0] > 2 * PROCESSES  # of which each has a writer


def database_for_rows(connection: Any, name: str) -> tuple[str, str]:
    """A database that only the sink and this function connect to: its name and URL."""
    connection.execute(f"CREATE DATABASE {name}")
    url = connection.url.partition("?")[0].replace("/postgres", f"/{name}")
    with psycopg.connect(url, autocommit=True) as made:
        made.execute("CREATE TABLE taken (id int)")
    return name, url


def sessions(connection: Any, database: str) -> int:
    """How many connections a database has had, but for the one that made its table.

    PostgreSQL counts them at their end at the latest, and workers outlive the job.
    """
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
    connection.execute(end, (database,))
    left = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
    until = time.monotonic() + 30
    while connection.execute(left, (database,)).fetchone()[0] and time.monotonic() < until:
        time.sleep(0.1)
    counted = "SELECT sessions FROM pg_stat_database WHERE datname = %s"
    return int(connection.execute(counted, (database,)).fetchone()[0]) - 1

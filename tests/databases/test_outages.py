"""Servers that are killed while a program uses them, and come back with their data.

The moments are chosen here; ``make proof-databases`` keeps them away for a minute, under Spark.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from headrace.common import Time
from headrace.connector import (
    CommitterContext,
    DeliveryGuarantee,
    Sink,
    WorkerResources,
    WriterContext,
)
from headrace.datastream import AsyncDataStream, StreamExecutionEnvironment
from headrace.datastream.connectors._redis import client
from headrace.datastream.connectors.postgres import PostgresLookup, PostgresSink
from headrace.datastream.connectors.redis import RedisCommand, RedisLookup, RedisSink
from headrace.testing import run_pipeline
from tests.servers import Server, serving

pytestmark = pytest.mark.spark

AWAY_S = 0.2
_strikes: dict[int, Callable[[], None]] = {}
"""What is done when a record of this number passes. The program's functions are copied."""


def passing(number: int) -> int:
    _strikes.pop(number, lambda: None)()
    return number


def away(server: Server) -> None:
    """Kill it; it comes back a moment later."""
    server.kill()
    threading.Timer(AWAY_S, server.start).start()


def write(sink: Sink, values: Sequence[Any], batch: int, worker: WorkerResources) -> None:
    writer = sink.writer(WriterContext("sink", "job", batch, 0, "a", 1, worker))
    writer.write(values, [None] * len(values))
    writer.prepare_commit()


@pytest.fixture
def worker() -> Iterator[WorkerResources]:
    made = WorkerResources()
    yield made
    made.close()


@pytest.fixture(scope="module")
def mortal_postgres() -> Iterator[Server]:
    pytest.importorskip("psycopg", reason="missing: psycopg, pip install headrace[postgres]")
    with serving("postgres") as server:
        yield server


@pytest.fixture
def mortal_redis() -> Iterator[Server]:
    pytest.importorskip("redis", reason="missing: redis, pip install headrace[redis]")
    with serving("redis") as server:
        yield server


def test_a_program_outlives_its_postgres(mortal_postgres: Server) -> None:
    """It is away for the first lookup of a micro-batch, and before the rows of one are written."""
    import psycopg

    url = mortal_postgres.url
    with psycopg.connect(url, autocommit=True) as database:
        database.execute(
            "CREATE TABLE names AS SELECT k, 'n' || k AS name FROM generate_series(0, 2) k"
        )
        database.execute(
            "CREATE TABLE log (id int, name text); CREATE TABLE sums (k text UNIQUE, n int)"
        )
    add = "INSERT INTO sums VALUES (%s, %s) ON CONFLICT (k) DO UPDATE SET n = sums.n + EXCLUDED.n"

    def program(env: StreamExecutionEnvironment) -> Any:
        lookup = PostgresLookup(
            url,
            "SELECT name FROM names WHERE k = %s",
            key=lambda n: n % 3,
            join=lambda n, found: [(n, row.name) for row in found],
        )
        numbers = env.from_collection([*range(40)]).map(passing)
        named = AsyncDataStream.ordered_wait(numbers, lookup, Time.minutes(1))
        named = named.map(lambda pair: (passing(pair[0] + 1000) - 1000, pair[1]))
        named.sink_to(PostgresSink(url, table="log", columns=["id", "name"]))
        named.sink_to(PostgresSink(url, sql=add, values=lambda pair: (pair[1], pair[0])))
        return named

    _strikes.update({12: lambda: away(mortal_postgres), 1025: lambda: away(mortal_postgres)})
    expected = [(n, f"n{n % 3}") for n in range(40)]
    assert run_pipeline(program, cuts=[10] * 3).only == expected
    assert not _strikes
    with psycopg.connect(url) as database:
        assert database.execute("SELECT * FROM log ORDER BY id").fetchall() == expected
        sums = database.execute("SELECT * FROM sums ORDER BY k").fetchall()
    assert sums == [(f"n{k}", sum(range(k, 40, 3))) for k in range(3)]


def test_postgres_is_killed_between_a_commit_and_its_answer(
    mortal_postgres: Server, worker: WorkerResources
) -> None:
    import psycopg

    with psycopg.connect(mortal_postgres.url, autocommit=True) as database:
        database.execute("CREATE TABLE counted (n int)")
    sink = PostgresSink(mortal_postgres.url, table="counted", columns=["n"], values=lambda n: [n])
    write(sink, [0], 0, worker)
    connection: Any = worker.get(("sink", "connection"), pytest.fail)
    inner = connection.transaction

    @contextmanager
    def transaction() -> Iterator[None]:
        with inner():
            yield
        away(mortal_postgres)
        connection.execute("SELECT 1")  # as the answer would, it never comes

    connection.transaction = transaction
    write(sink, [1, 2], 1, worker)
    with psycopg.connect(mortal_postgres.url) as database:
        assert database.execute("SELECT n FROM counted ORDER BY n").fetchall() == [(0,), (1,), (2,)]


def test_the_last_micro_batch_is_asked_for_until_a_server_is_back(
    mortal_postgres: Server, mortal_redis: Server
) -> None:
    url, context = mortal_postgres.url, CommitterContext("sink", "job")
    rows: dict[str, Any] = {"table": "asked", "columns": ["n"], "values": lambda n: [n]}
    in_rows = PostgresSink(url, **rows, markers="asked_markers")
    in_keys = RedisSink(mortal_redis.url, lambda n: RedisCommand.set("asked", n))
    with psycopg_of(url) as database:
        database.execute("CREATE TABLE asked (n int)")
    sinks: list[tuple[Sink, Server]] = [(in_rows, mortal_postgres), (in_keys, mortal_redis)]
    for sink, server in sinks:
        assert sink.last_batch(context) == -1
        mine = WorkerResources()
        write(sink, [0], 6, mine)
        mine.close()
        away(server)
        assert sink.last_batch(context) == 6
    at_least_once = PostgresSink(url, **rows, guarantee=DeliveryGuarantee.AT_LEAST_ONCE)
    assert at_least_once.last_batch(context) is None


def psycopg_of(url: str) -> Any:
    import psycopg

    return psycopg.connect(url, autocommit=True)


def test_a_program_outlives_its_redis(mortal_redis: Server) -> None:
    from redis import Redis

    url = mortal_redis.url
    with Redis.from_url(url) as known:
        known.mset({f"k{k}": f"n{k}" for k in range(3)})

    def program(env: StreamExecutionEnvironment) -> Any:
        lookup = RedisLookup(url, lambda n: f"k{n % 3}", join=lambda n, found: [(n, *found)])
        numbers = env.from_collection([*range(40)]).map(passing)
        named = AsyncDataStream.ordered_wait(numbers, lookup, Time.minutes(1))
        named = named.map(lambda pair: (passing(pair[0] + 1000) - 1000, pair[1]))
        named.sink_to(RedisSink(url, lambda pair: RedisCommand.hincrby("counts", pair[1])))
        return named

    _strikes.update({12: lambda: away(mortal_redis), 1025: lambda: away(mortal_redis)})
    assert run_pipeline(program, cuts=[10] * 3).only == [(n, f"n{n % 3}") for n in range(40)]
    assert not _strikes
    with Redis.from_url(url, decode_responses=True) as known:
        assert known.hgetall("counts") == {"n0": "14", "n1": "13", "n2": "13"}


def test_redis_is_killed_in_the_middle_of_a_transaction(
    mortal_redis: Server, worker: WorkerResources
) -> None:
    """Of the commands of a micro-batch it keeps all, or none: each counts once in the end."""
    from redis import Redis

    sink = RedisSink(mortal_redis.url, lambda n: RedisCommand.hincrby("counts", n))
    numbers = [*range(10_000)]
    for batch, after_s in enumerate((0.02, 0.06, 0.1, 0.14)):
        task = threading.Thread(target=write, args=(sink, numbers, batch, worker))
        task.start()
        task.join(timeout=after_s)
        mortal_redis.kill()
        mortal_redis.start()
        rewrite_log(mortal_redis)
        task.join(timeout=60)
    with Redis.from_url(mortal_redis.url, decode_responses=True) as known:
        assert {*known.hgetall("counts").values()} == {"4"}


def rewrite_log(server: Server) -> None:
    """Let Redis write its log anew, as docs/guarantees.md advises after a crash.

    Redis 7.0.15 that was killed while it wrote half a command of a transaction leaves the commands
    before that in its log. The start after the next one carries them out with the next transaction.
    """
    from redis import Redis

    with Redis.from_url(server.url) as known:
        known.bgrewriteaof()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            found = known.info("persistence")
            if not found["aof_rewrite_in_progress"] and not found["aof_rewrite_scheduled"]:
                assert found["aof_last_bgrewrite_status"] == "ok"
                return
            time.sleep(0.02)
    raise AssertionError("Redis did not finish to write its log anew")


def test_redis_stands_still_for_longer_than_an_answer_may_take(
    mortal_redis: Server, worker: WorkerResources, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It carries out what it was sent before, and then what is sent again: one of them counts."""
    from redis import Redis

    monkeypatch.setattr(client, "ANSWER_TIMEOUT_S", 0.1)
    sink = RedisSink(mortal_redis.url, lambda n: RedisCommand.hincrby("counts", n))
    write(sink, ["a"], 0, worker)
    assert mortal_redis.running is not None
    pid = mortal_redis.running.process.pid
    os.kill(pid, signal.SIGSTOP)
    back = threading.Timer(0.6, os.kill, (pid, signal.SIGCONT))
    back.start()
    write(sink, ["a", "b"], 1, worker)
    back.join()
    write(sink, ["a", "b"], 1, worker)
    with Redis.from_url(mortal_redis.url, decode_responses=True) as known:
        assert known.hgetall("counts") == {"a": "2", "b": "1"}

"""``python -m tests.proof.databases_job FOLDER ADDRESSES``: looks up and writes, on Spark.

Numbers from a log are looked up in Redis, in PostgreSQL and over HTTP, and go into other databases:
counts in Redis, rows and sums in PostgreSQL. ADDRESSES are JSON. The
job has no end, and is not restarted.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from headrace.common import Configuration, Time, WatermarkStrategy
from headrace.datastream import AsyncDataStream, StreamExecutionEnvironment
from headrace.datastream.connectors.http import HttpLookup
from headrace.datastream.connectors.postgres import PostgresLookup, PostgresSink
from headrace.datastream.connectors.redis import RedisCommand, RedisLookup, RedisSink
from tests.connectors.sqlite_log import SqliteLogSource

KEYS = 7
TASKS = 2
TABLES = """
    CREATE TABLE taken (id int, name text, price int, rate int);
    CREATE TABLE kept (id int PRIMARY KEY, name text);
    CREATE TABLE sums (k int PRIMARY KEY, n bigint, times int);
"""
PRICES = f"""
    CREATE TABLE prices (k int, price int);
    INSERT INTO prices SELECT k, 100 * k FROM generate_series(0, {KEYS - 1}) k
"""
ADD = """INSERT INTO sums VALUES (%s, %s, 1)
    ON CONFLICT (k) DO UPDATE SET n = sums.n + EXCLUDED.n, times = sums.times + 1"""


def main() -> None:
    folder, at = Path(sys.argv[1]), json.loads(sys.argv[2])
    settings = {
        "parallelism.default": str(TASKS),
        "headrace.source.max-records-per-batch": "200",
        "execution.checkpointing.dir": str(folder / "checkpoint"),
        "restart-strategy.type": "none",
        "headrace.spark.conf.spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    source = SqliteLogSource(str(folder / "given.db"), bounded=False)
    found: Any = env.from_source(source, WatermarkStrategy.no_watermarks(), "log")
    patience = Time.minutes(5)
    names = RedisLookup(
        at["redis lookup"],
        key=lambda n: f"name:{n % KEYS}",
        join=lambda n, names: [(n, *names)],
    )
    found = AsyncDataStream.unordered_wait(found, names, patience)
    prices = PostgresLookup(
        at["postgres lookup"],
        "SELECT price FROM prices WHERE k = %s",
        key=lambda record: record[0] % KEYS,
        join=lambda record, rows: [(*record, *(row.price for row in rows))],
    )
    found = AsyncDataStream.unordered_wait(found, prices, patience)
    rates = HttpLookup(
        at["http lookup"] + "/{}",
        key=lambda record: record[0] % KEYS,
        join=lambda record, rates: [(*record, *(each["rate"] for each in rates))],
    )
    found = AsyncDataStream.unordered_wait(found, rates, patience)
    found.sink_to(RedisSink(at["redis sink"], lambda r: RedisCommand.hincrby("counts", r[0])))
    database = at["postgres sink"]
    columns = ["id", "name", "price", "rate"]
    found.sink_to(PostgresSink(database, table="taken", columns=columns)).uid("taken")
    kept = found.map(lambda record: record[:2])
    kept.sink_to(PostgresSink(database, table="kept", columns=columns[:2], key=["id"])).uid("kept")
    added = PostgresSink(database, sql=ADD, values=lambda record: (record[0] % KEYS, record[0]))
    found.sink_to(added).uid("sums")
    env.execute("databases")


if __name__ == "__main__":
    main()

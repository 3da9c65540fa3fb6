"""The window jobs in Flink SQL: its table functions for windows, all of it in the JVM."""

from __future__ import annotations

from typing import Any

from bench import workload
from bench.peers import flink
from bench.peers.protocol import Task

JOBS = ("wt", "ws", "we")
CHECKED_RECORDS = 1_000_000
"""All blocks of keys have had a session in them, and tumbling windows have followed each other."""
SETTINGS = {
    # A window's bounds are those of the epoch; another zone would cost a shift for each record.
    "table.local-time-zone": "UTC",
}
_ASSIGNERS = {
    "wt": (
        f"TUMBLE(TABLE timed, DESCRIPTOR(`at`), INTERVAL '{workload.TUMBLING_MS // 1000}' SECOND)"
    ),
    "ws": (
        f"HOP(TABLE timed, DESCRIPTOR(`at`), INTERVAL '{workload.SLIDE_MS // 60_000}' MINUTE,"
        f" INTERVAL '{workload.SLIDING_MS // 60_000}' MINUTE)"
    ),
    "we": (
        "SESSION(TABLE timed PARTITION BY k, DESCRIPTOR(`at`),"
        f" INTERVAL '{workload.GAP_MS // 1000}' SECOND)"
    ),
}


def statement(job: str) -> str:
    """Count and sum of each key and window; reads the view ``timed``."""
    return (
        f"SELECT k, COUNT(*) AS c, SUM(v) AS s FROM {_ASSIGNERS[job]}"
        f" GROUP BY window_start, window_end, k"
    )


def written(made: Any, task: Task) -> list[int]:
    """The tally of what Flink writes into files: 100,000 rows collected one by one take minutes."""
    folder = task.folder / "checked"
    made.execute_sql(
        "CREATE TEMPORARY TABLE files (k BIGINT, c BIGINT, s BIGINT) WITH"
        f" ('connector' = 'filesystem', 'path' = '{folder.as_uri()}', 'format' = 'csv')"
    )
    made.execute_sql(f"INSERT INTO files {statement(task.job)}").wait()
    tally = [0, 0, 0, 0]
    # A name with a dot in front is of a file that Flink has not published.
    for path in folder.rglob("[!.]*"):
        for line in path.read_text().splitlines() if path.is_file() else ():
            numbers = 1, *map(int, line.split(","))
            tally = [a + b for a, b in zip(tally, numbers, strict=True)]
    return tally


def timed_view(made: Any, env: Any, task: Task, records: int) -> None:
    """The view ``timed`` with event time and watermarks, over the JVM's numbers.

    Each of the source's two tasks reads a half of the numbers; taken in turns their indexes are at
    the same event time, so that no record is late. The columns are expressions of a schema: a query
    that made them would have its rows converted once more before they get their watermarks.
    """
    from pyflink.table import Schema

    key, value, time_ms = columns(task.job, task.keys, records)
    schema = (
        Schema.new_builder()
        .column("f0", "BIGINT NOT NULL")
        .column_by_expression("k", key)
        .column_by_expression("v", value)
        .column_by_expression("at", f"TO_TIMESTAMP_LTZ({time_ms}, 3)")
        .watermark("at", f"`at` - INTERVAL '{workload.DISORDER_MS // 1000}' SECOND")
        .build()
    )
    made.create_temporary_view("timed", flink.numbers(env, records), schema)


def columns(job: str, keys: int, records: int) -> tuple[str, str, str]:
    """Key, value and event time in ms of the number ``f0``, in SQL."""
    index = f"({workload.INTERLEAVED_SQL.format(number='f0', half=records // 2)})"
    rate = workload.rate_per_ms(keys)
    time_ms = workload.TIME_SQL.format(index=index, rate=rate)
    value = workload.VALUE_SQL.format(index=index)
    if job != "we":
        return workload.UNIFORM_SQL.format(index=index, keys=keys), value, time_ms
    blocks, turn = workload.SESSION_BLOCKS, rate * workload.SESSION_TURN_MS
    block = keys // blocks
    active = f"MOD(CAST(({index} - MOD({index}, {turn})) / {turn} AS BIGINT), {blocks})"
    key = f"{active} * {block} + {workload.UNIFORM_SQL.format(index=index, keys=block)}"
    return key, value, time_ms

"""Flink SQL: ``GROUP BY`` in the JVM, with no Python near a record; job (a) only.

The timed statement writes to Flink's black hole, which cannot count. So a second one, not timed,
over the first records is read back and checked: the tally is of ``facts.checked_records``.

Options: ``backend``; ``minibatch=1`` lets Flink give out a group's sum only now and then, which is
less work than the job's, and leaves the filter nothing to say: the final sums are checked instead.
"""

from __future__ import annotations

import time
from typing import Any

from bench import workload
from bench.peers import flink
from bench.peers.protocol import Outcome, Task, answer

CHECKED_RECORDS = 100_000
MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 s",
    "table.exec.mini-batch.size": "50000",
    "table.optimizer.agg-phase-strategy": "TWO_PHASE",
}


def grouped(view: str, keys: int, filtered: bool) -> str:
    """Count and sum by key, and one in a hundred of them."""
    key = workload.UNIFORM_SQL.format(index="f0", keys=keys)
    value = workload.VALUE_SQL.format(index="f0")
    sums = (
        f"SELECT k, COUNT(*) AS c, SUM(v) AS s"
        f" FROM (SELECT {key} AS k, {value} AS v FROM {view}) GROUP BY k"
    )
    if not filtered:
        return sums
    return f"SELECT k, c, s FROM ({sums}) WHERE MOD(k + c, {workload.OUTPUT_EVERY}) = 0"


def tables(task: Task, records: int) -> Any:
    """A table environment with the view ``numbers``."""
    from pyflink.table import StreamTableEnvironment

    env = flink.environment(flink.settings(task))
    made = StreamTableEnvironment.create(env)
    if task.option("minibatch", "0") == "1":
        for key, value in MINI_BATCH.items():
            made.get_config().set(key, value)
    made.create_temporary_view("numbers", flink.numbers(env, records))
    return made


def checked(task: Task, filtered: bool, records: int) -> list[int]:
    """The tally of the same statement over fewer records.

    Without the filter: the sums that are left in the end, whatever came in between.
    """
    from pyflink.common import RowKind

    made = tables(task, records)
    rows = made.execute_sql(grouped("numbers", task.keys, filtered))
    tally = [0, 0, 0, 0]
    with rows.collect() as results:
        for row in results:
            added = row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER)
            sign = 1 if added else 0 if filtered else -1
            numbers = (1, row[0], row[1], row[2])
            tally = [a + sign * b for a, b in zip(tally, numbers, strict=True)]
    return tally


def run(task: Task) -> Outcome:
    """Run the statement to its end, then check it on less."""
    if task.job != "a" or task.distribution != "uniform":
        raise SystemExit("Flink SQL runs job a with uniform keys only")
    flink.use_this_python()
    filtered = task.option("minibatch", "0") != "1"
    made = tables(task, task.records)
    columns = "k BIGINT, c BIGINT, s BIGINT"
    made.execute_sql(f"CREATE TEMPORARY TABLE hole ({columns}) WITH ('connector' = 'blackhole')")
    started = time.perf_counter()
    made.execute_sql(f"INSERT INTO hole {grouped('numbers', task.keys, filtered)}").wait()
    seconds = time.perf_counter() - started
    few = min(task.records, CHECKED_RECORDS)
    started = time.perf_counter()
    tally = checked(task, filtered, few)
    facts = {
        "checked_records": few,
        "checked": "outputs" if filtered else "final sums",
        "check_seconds": time.perf_counter() - started,
    }
    return Outcome(seconds, tally, facts)


if __name__ == "__main__":
    answer(run)

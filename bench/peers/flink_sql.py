"""Flink SQL: ``GROUP BY`` in the JVM, with no Python near a record; job (a), and windows.

The timed statement writes to Flink's black hole, which cannot count. So a second one, not timed,
over the first records is read back and checked: the tally is of ``facts.checked_records``.

Options: ``backend``; ``minibatch=1`` lets Flink give out a group's sum only now and then, which is
less work than the job's, and leaves the filter nothing to say: the final sums are checked instead.
"""

from __future__ import annotations

import time
from typing import Any

from bench import workload
from bench.peers import flink, flink_sql_windows
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
    """A table environment with the view that the statement reads."""
    from pyflink.table import StreamTableEnvironment

    env = flink.environment(flink.settings(task))
    made = StreamTableEnvironment.create(env)
    settings = flink_sql_windows.SETTINGS if is_windowed(task) else {}
    if minibatch(task):
        settings = {**settings, **MINI_BATCH}
    for key, value in settings.items():
        made.get_config().set(key, value)
    if is_windowed(task):
        flink_sql_windows.timed_view(made, env, task, records)
    else:
        made.create_temporary_view("numbers", flink.numbers(env, records))
    return made


def is_windowed(task: Task) -> bool:
    """Whether the job is one of windows."""
    return task.job in flink_sql_windows.JOBS


def minibatch(task: Task) -> bool:
    """Whether records are grouped in batches."""
    return task.option("minibatch", "0") == "1"


def statement(task: Task) -> str:
    """The job's query."""
    if is_windowed(task):
        return flink_sql_windows.statement(task.job)
    return grouped("numbers", task.keys, filtered=not minibatch(task))


def checked(task: Task, records: int) -> list[int]:
    """The tally of the same statement over fewer records.

    Of (a) in batches: the sums that are left in the end, whatever came in between.
    """
    from pyflink.common import RowKind

    final = checks_final_sums(task)
    made = tables(task, records)
    if is_windowed(task):
        return flink_sql_windows.written(made, task)
    tally = [0, 0, 0, 0]
    with made.execute_sql(statement(task)).collect() as results:
        for row in results:
            added = row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER)
            sign = 1 if added else -1 if final else 0
            numbers = (1, row[0], row[1], row[2])
            tally = [a + sign * b for a, b in zip(tally, numbers, strict=True)]
    return tally


def checks_final_sums(task: Task) -> bool:
    """Whether there is no more to check than what is left in the end."""
    return minibatch(task) and not is_windowed(task)


def run(task: Task) -> Outcome:
    """Run the statement to its end, then check it on less."""
    if (task.job != "a" and not is_windowed(task)) or task.distribution != "uniform":
        jobs = ", ".join(("a", *flink_sql_windows.JOBS))
        raise SystemExit(f"Flink SQL runs jobs {jobs} with uniform keys only")
    flink.use_this_python()
    made = tables(task, task.records)
    columns = "k BIGINT, c BIGINT, s BIGINT"
    made.execute_sql(f"CREATE TEMPORARY TABLE hole ({columns}) WITH ('connector' = 'blackhole')")
    started = time.perf_counter()
    made.execute_sql(f"INSERT INTO hole {statement(task)}").wait()
    seconds = time.perf_counter() - started
    few = flink_sql_windows.CHECKED_RECORDS if is_windowed(task) else CHECKED_RECORDS
    few = min(task.records, few)
    started = time.perf_counter()
    tally = checked(task, few)
    facts = {
        "checked_records": few,
        "checked": "final sums" if checks_final_sums(task) else "outputs",
        "check_seconds": time.perf_counter() - started,
    }
    return Outcome(seconds, tally, facts)


if __name__ == "__main__":
    answer(run)

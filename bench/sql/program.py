"""The program of the SQL jobs: the same text for PyFlink and for Headrace.

``package`` is ``pyflink`` or ``headrace``: the first word of the imports. The timed statement
writes to a black hole, which cannot count; so a second one, not timed, adds up the results over the
first records, and its tally is of ``facts.checked_records``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from bench.peers.protocol import Outcome, Task
from bench.sql import statements

MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 s",
    "table.exec.mini-batch.size": "50000",
    "table.optimizer.agg-phase-strategy": "TWO_PHASE",
}
IN_UTC = {"table.local-time-zone": "UTC"}
"""Windows have the bounds of the epoch; another zone would cost a shift for each record."""

TIMED = "timed"

Settings = Callable[[str], Mapping[str, str]]
"""The configuration of an environment; its argument names a folder for its checkpoints."""


def score(key: Any, value: Any) -> Any:
    """What the Python functions compute, of two integers or of two pandas Series."""
    return (value * 31 + key) % 1009


def environment(package: str, values: Mapping[str, str]) -> Any:
    """A table environment of a stream with these settings."""
    table = import_module(f"{package}.table")
    configuration = import_module(f"{package}.common").Configuration()
    for key, value in values.items():
        configuration.set_string(key, value)
    settings = table.EnvironmentSettings.new_instance().in_streaming_mode()
    return table.TableEnvironment.create(settings.with_configuration(configuration).build())


def prepared(package: str, task: Task, values: Mapping[str, str], records: int) -> Any:
    """An environment with the tables, and the function, of a job."""
    made = environment(package, values)
    made.execute_sql(statements.source(task.job, records, task.keys, task.scratch))
    made.execute_sql(statements.sink(task.job))
    if task.job in statements.PYTHON_JOBS:
        made.create_temporary_function("score", function(package, task.job))
    return made


def function(package: str, job: str) -> Any:
    """The Python function of a job."""
    table = import_module(f"{package}.table")
    udf = import_module(f"{package}.table.udf").udf
    number = table.DataTypes.BIGINT()
    kind = {"func_type": "pandas"} if job == "sp" else {}
    return udf(score, input_types=[number, number], result_type=number, **kind)


def tally(made: Any, job: str) -> list[int]:
    """The number of results and the sum of each column."""
    with made.execute_sql(statements.check(job)).collect() as rows:
        last = [[*row] for row in rows][-1]
    return [int(each or 0) for each in last]


def run(
    package: str, task: Task, settings: Settings, note: Callable[[], None] = lambda: None
) -> Outcome:
    """Run the statement of a job to its end, then check it on less.

    ``note`` is called before the timed statement and after it.
    """
    given = dict(MINI_BATCH) if task.option("minibatch", "0") == "1" else {}
    made = prepared(package, task, {**settings(TIMED), **IN_UTC, **given}, task.records)
    insert = f"INSERT INTO hole {statements.QUERIES[task.job]}"
    note()
    started = time.perf_counter()
    made.execute_sql(insert).wait()
    seconds = time.perf_counter() - started
    note()
    few = statements.checked_records(task.job, task.records)
    # Where the job itself has no state, the sums of the check need not be updated row by row.
    folded = MINI_BATCH if task.job in statements.STATELESS_JOBS else given
    started = time.perf_counter()
    checking = prepared(package, task, {**settings("checked"), **IN_UTC, **folded}, few)
    found = tally(checking, task.job)
    facts = {"checked_records": few, "check_seconds": time.perf_counter() - started}
    return Outcome(seconds, found, facts)

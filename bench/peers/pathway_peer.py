"""Pathway over CSV files with two threads and no state kept for a crash; jobs csv and csvw.

It reads the files as one closed table, which is its fastest way: it then gives out each result
once, at the end. Tallies are worked out by Pathway as well, from all results, since a call of
Python for each would be the dearer way.

Options: ``windows`` (operator: its operator for windows, grouped: grouping by key and number of
the window, which says the same).
"""

from __future__ import annotations

import os
import time
from typing import Any

from bench import workload
from bench.peers.protocol import Outcome, Task, answer

THREADS = "2"


def use_two_threads() -> None:
    """Choose the threads, which Pathway reads when it is imported; nothing is reported home."""
    os.environ["PATHWAY_THREADS"] = THREADS
    for name in ("PATHWAY_LICENSE_KEY", "PATHWAY_MONITORING_SERVER"):
        os.environ.pop(name, None)  # without these it sends no telemetry


def results(task: Task) -> Any:
    """The table of key and sum, or of key, count and sum of each window."""
    import pathway as pw

    schema = pw.schema_from_types(**dict.fromkeys(workload.CSV_HEADER.split(","), int))
    folder = workload.csv_folder(task.records, task.keys, task.scratch)
    rows = pw.io.csv.read(folder, schema=schema, mode="static")
    count, total = pw.reducers.count(), pw.reducers.sum(rows.value)
    if task.job == "csv":
        return rows.groupby(rows.key).reduce(rows.key, total=total)
    if task.option("windows", "operator") == "grouped":
        numbered = rows.select(rows.key, rows.value, number=rows.time // workload.TUMBLING_MS)
        total = pw.reducers.sum(numbered.value)
        groups = numbered.groupby(numbered.key, numbered.number)
        return groups.reduce(numbered.key, count=count, total=total)
    window = pw.temporal.tumbling(duration=workload.TUMBLING_MS)
    windows = rows.windowby(rows.time, window=window, instance=rows.key)
    total = pw.reducers.sum(pw.this.value)
    return windows.reduce(key=pw.this._pw_instance, count=count, total=total)


def counted(table: Any) -> list[int]:
    """The number of results and the sum of each of their columns; filled when Pathway runs."""
    import pathway as pw

    sums = {name: pw.reducers.sum(table[name]) for name in table.column_names()}
    tally: list[int] = []

    def take(key: Any, row: dict[str, int], time: int, is_addition: bool) -> None:
        if is_addition:
            tally[:] = row.values()

    pw.io.subscribe(table.reduce(outputs=pw.reducers.count(), **sums), take)
    return tally


def run(task: Task) -> Outcome:
    """Run the job to its end."""
    if task.job not in ("csv", "csvw"):
        raise SystemExit("Pathway runs jobs csv and csvw only")
    use_two_threads()
    import pathway as pw

    tally = counted(results(task))
    started = time.perf_counter()
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    seconds = time.perf_counter() - started
    return Outcome(seconds, tally)


if __name__ == "__main__":
    answer(run)

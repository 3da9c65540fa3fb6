"""What the peers of the window benchmarks are given: the same records."""

from __future__ import annotations

import sqlite3

import pytest

from bench import workload
from bench.peers import flink_sql_windows


@pytest.mark.parametrize("job", flink_sql_windows.JOBS)
def test_sql_says_the_same_records(job: str) -> None:
    records, keys = 1_001, 40
    made = workload.timed_record_function(job, keys)
    start = 3 * workload.SESSION_TURN_MS  # the last turns of the blocks are among them
    database = sqlite3.connect(":memory:")
    database.create_function("MOD", 2, lambda a, b: a % b)
    columns = ", ".join(flink_sql_windows.columns(job, keys, start + records))
    numbers = [(number,) for number in range(start, start + records)]
    database.execute("CREATE TABLE numbers (f0 BIGINT)")
    database.executemany("INSERT INTO numbers VALUES (?)", numbers)
    found = database.execute(f"SELECT {columns} FROM numbers").fetchall()
    half = (start + records) // 2
    assert found == [made(workload.interleaved(number, half)) for (number,) in numbers]


@pytest.mark.parametrize("records", [2, 8, 100])
def test_interleaved_numbers_are_all_indexes(records: int) -> None:
    found = {workload.interleaved(number, records // 2) for number in range(records)}
    assert found == set(range(records))


@pytest.mark.parametrize("job", flink_sql_windows.JOBS)
def test_a_statement_names_the_view_that_has_the_times(job: str) -> None:
    assert "FROM" in flink_sql_windows.statement(job)
    assert "TABLE timed" in flink_sql_windows.statement(job)

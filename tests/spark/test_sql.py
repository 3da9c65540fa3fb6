"""SQL on Spark: a table of files, its aggregates and windows, in a stream and in a batch."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest

from headrace.common import Configuration
from headrace.table import EnvironmentSettings, TableEnvironment
from headrace.table.udf import AggregateFunction, FunctionContext, ScalarFunction, udaf, udf, udtf

pytestmark = pytest.mark.spark

ROWS = [(f"k{number % 7}", number % 5, number) for number in range(300)]
"""A key, a number, and a time in seconds."""


def environment(folder: Path, batch: bool, mini_batch: bool = False) -> TableEnvironment:
    lines = [f"{key},{number},2026-01-01 00:{at // 60:02}:{at % 60:02}" for key, number, at in ROWS]
    (folder / "rows").mkdir()
    (folder / "rows" / "part.csv").write_text("\n".join(lines) + "\n")
    config = Configuration()
    config.set_string("parallelism.default", "2")
    config.set_string("table.exec.mini-batch.enabled", str(mini_batch).lower())
    made = EnvironmentSettings.new_instance().with_configuration(config)
    made = made.in_batch_mode() if batch else made.in_streaming_mode()
    env = TableEnvironment.create(made.build())
    env.execute_sql(
        "CREATE TABLE t (k STRING, n INT, ts TIMESTAMP(3),"
        " WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)"
        f" WITH ('connector' = 'filesystem', 'path' = '{folder}/rows', 'format' = 'csv')"
    )
    return env


@pytest.mark.capability(
    "SQL: GROUP BY and its changes, row by row and in mini-batches", runners="batch, streaming"
)
@pytest.mark.parametrize(("batch", "mini_batch"), [(False, False), (False, True), (True, False)])
def test_sums_by_key_in_the_end(tmp_path: Path, batch: bool, mini_batch: bool) -> None:
    env = environment(tmp_path, batch, mini_batch)
    table: Counter[tuple[str, int, int]] = Counter()
    with env.execute_sql("SELECT k, COUNT(*), SUM(n) FROM t GROUP BY k").collect() as rows:
        for row in rows:
            kind = row.get_row_kind().name
            table[tuple(row)] += 1 if kind in ("INSERT", "UPDATE_AFTER") else -1
            assert min(table.values()) >= 0  # no row is taken back before it was given
    found = {row: count for row, count in table.items() if count}
    expected = {
        (key, len(numbers), sum(numbers)): 1
        for key in {key for key, _, _ in ROWS}
        for numbers in [[number for name, number, _ in ROWS if name == key]]
    }
    assert found == expected


@pytest.mark.capability("SQL: windows of event time", runners="streaming")
def test_windows(tmp_path: Path) -> None:
    env = environment(tmp_path, batch=False)
    query = (
        "SELECT MINUTE(window_start), k, COUNT(*) FROM"
        " TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE))"
        " GROUP BY window_start, window_end, k"
    )
    with env.execute_sql(query).collect() as rows:
        found = Counter({(minute, key): count for minute, key, count in map(tuple, rows)})
    assert found == Counter((at // 60, key) for key, _, at in ROWS)


class Scaled(ScalarFunction):
    """Multiplies by what it gets when it is opened."""

    def open(self, function_context: FunctionContext) -> None:
        self.factor = int(function_context.get_job_parameter("factor", "7"))

    def eval(self, number: int) -> int:
        return number * self.factor


class Total(AggregateFunction[int, list[int]]):
    """A sum."""

    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], *args: int) -> None:
        accumulator[0] += args[0]

    def get_value(self, accumulator: list[int]) -> int:
        return accumulator[0]


@pytest.mark.capability(
    "SQL and Table API: Python functions, also over pandas", runners="streaming"
)
def test_functions_of_users(tmp_path: Path) -> None:
    env = environment(tmp_path, batch=False)
    shift = 3  # what a function closes over travels with it
    env.create_temporary_function("scaled", udf(Scaled(), result_type="INT"))
    env.create_temporary_function(
        "shifted", udf(lambda series: series + shift, result_type="INT", func_type="pandas")
    )
    env.create_temporary_function(
        "repeated", udtf(lambda key, n: [f"{key}.{i}" for i in range(n)], result_types="STRING")
    )
    query = "SELECT r, shifted(scaled(n)) FROM t, LATERAL TABLE(repeated(k, n)) AS l(r)"
    with env.execute_sql(query).collect() as rows:
        found = Counter(map(tuple, rows))
    assert found == Counter((f"{key}.{i}", n * 7 + 3) for key, n, _ in ROWS for i in range(n))

    env.create_temporary_function("total", udaf(Total(), result_type="BIGINT"))
    last: dict[str, int] = {}
    with env.execute_sql("SELECT k, total(n) FROM t GROUP BY k").collect() as rows:
        for row in rows:
            if row.get_row_kind().name in ("INSERT", "UPDATE_AFTER"):
                last[row[0]] = row[1]
    sums: Counter[str] = Counter()
    for key, n, _ in ROWS:
        sums[key] += n
    assert last == sums


@pytest.mark.capability("SQL: windows of processing time", runners="streaming")
def test_windows_by_processing_time(tmp_path: Path) -> None:
    env = environment(tmp_path, batch=False)
    env.execute_sql(
        "CREATE TABLE numbers (id INT, p AS PROCTIME()) WITH ('connector' = 'datagen',"
        " 'rows-per-second' = '40', 'fields.id.kind' = 'sequence', 'fields.id.start' = '0',"
        " 'fields.id.end' = '1000000')"
    )
    query = (
        "SELECT id - id / 7 * 7, window_end, COUNT(*), ARRAY_AGG(id)"
        " FROM TABLE(TUMBLE(TABLE numbers, DESCRIPTOR(p), INTERVAL '0.500' SECOND))"
        " GROUP BY id - id / 7 * 7, window_start, window_end"
    )
    found: dict[tuple[int, datetime], list[int]] = {}
    with env.execute_sql(query).collect() as rows:
        for key, end, count, ids in map(tuple, rows):
            assert (key, end) not in found and len(ids) == count
            found[key, end] = ids
            if len({end for _, end in found}) > 3:
                break  # the windows before this one are complete
    last = max(end for _, end in found)
    given = sorted(each for (_, end), ids in found.items() if end < last for each in ids)
    assert given == [*range(len(given))] and given
    assert all(each % 7 == key for (key, _), ids in found.items() for each in ids)

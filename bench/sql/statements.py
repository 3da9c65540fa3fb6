"""The statements of the SQL jobs: the same text for Flink and for Headrace.

``sg``: count and sum by key. ``st``: the same in tumbling windows. ``sf``: filter and projection of
rows from Parquet. ``sr``, ``sp``: a Python function, row by row and over pandas.

Standard library only: this is imported in the environment of each peer. The generated rows are
those of the DataStream jobs, said in SQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bench import workload

PYTHON_JOBS = ("sr", "sp")
STATELESS_JOBS = ("sf", *PYTHON_JOBS)
JOBS = ("sg", "st", *STATELESS_JOBS)

SINK_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "sg": ("k", "c", "s"),
    "st": ("k", "c", "s"),
    "sf": ("id", "kind", "notional"),
    "sr": ("k", "s"),
    "sp": ("k", "s"),
}
"""All are BIGINT. A check adds each of them up."""

CHECKED_RECORDS: Mapping[str, int] = {"st": 200_000}
"""Over how many of the first records a check runs; of ``sf`` over all."""
FEW_RECORDS = 20_000

TUMBLED = f"TUMBLE(TABLE records, DESCRIPTOR(ts), INTERVAL '{workload.TUMBLING_MS // 1000}' SECOND)"
QUERIES: Mapping[str, str] = {
    "sg": "SELECT k, COUNT(*) AS c, SUM(v) AS s FROM records GROUP BY k",
    "st": (
        f"SELECT k, COUNT(*) AS c, SUM(v) AS s FROM {TUMBLED} GROUP BY window_start, window_end, k"
    ),
    "sf": (
        "SELECT id, CAST(CASE WHEN price > 90000 THEN 2 WHEN price > 50000 THEN 1 ELSE 0 END"
        " AS BIGINT) AS kind, price * quantity AS notional FROM records WHERE symbol LIKE '%7_'"
    ),
    "sr": "SELECT k, score(k, v) AS s FROM records",
    "sp": "SELECT k, score(k, v) AS s FROM records",
}


def checked_records(job: str, records: int) -> int:
    """Over how many of the records the check of a job runs."""
    return records if job == "sf" else min(records, CHECKED_RECORDS.get(job, FEW_RECORDS))


def source(job: str, records: int, keys: int, scratch: Path) -> str:
    """The statement that makes the table ``records``."""
    if job == "sf":
        folder = workload.parquet_folder(records, scratch)
        columns = "id BIGINT, symbol STRING, price BIGINT, quantity BIGINT"
        return _table(
            columns, {"connector": "filesystem", "path": str(folder), "format": "parquet"}
        )
    columns = (
        f"i BIGINT, k AS {workload.UNIFORM_SQL.format(index='i', keys=keys)},"
        f" v AS {workload.VALUE_SQL.format(index='i')}"
    )
    if job == "st":
        time_ms = workload.TIME_SQL.format(index="i", rate=workload.rate_per_ms(keys))
        columns += (
            f", ts AS TO_TIMESTAMP_LTZ({time_ms}, 3),"
            f" WATERMARK FOR ts AS ts - INTERVAL '{workload.DISORDER_MS // 1000}' SECOND"
        )
    counted = {"kind": "sequence", "start": "0", "end": str(records - 1)}
    options = {f"fields.i.{name}": value for name, value in counted.items()}
    unpaced = {"connector": "datagen", "rows-per-second": "1000000000"}
    return _table(columns, {**unpaced, **options})


def sink(job: str) -> str:
    """The statement that makes the table ``hole``."""
    columns = ", ".join(f"{name} BIGINT" for name in SINK_COLUMNS[job])
    return f"CREATE TABLE hole ({columns}) WITH ('connector' = 'blackhole')"


def check(job: str) -> str:
    """The query whose last row has the number of results and the sum of each column."""
    sums = ", ".join(f"SUM(CAST({name} AS BIGINT))" for name in SINK_COLUMNS[job])
    return f"SELECT COUNT(*), {sums} FROM ({QUERIES[job]})"


def _table(columns: str, options: Mapping[str, str]) -> str:
    given = ", ".join(f"'{name}' = '{value}'" for name, value in options.items())
    return f"CREATE TABLE records ({columns}) WITH ({given})"

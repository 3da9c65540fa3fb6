"""The benchmark's window and CSV jobs: their records, and what they must give out."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from bench import expectation, report, workload
from bench.measure import firing_probe
from bench.peers import headrace_peer, plain_python
from bench.peers.protocol import Task
from bench.tally import LastByKey
from bench.targets import TARGETS, Measured

pytestmark = pytest.mark.slow

LOCAL = {"runner": "local"}
JOBS = ("wt", "wp", "ws", "we", "wc", "csv", "csvw")


@pytest.mark.parametrize("job", JOBS)
def test_each_job_gives_out_what_is_expected(job: str, tmp_path: Path) -> None:
    records, keys = 15_000, 20
    wanted = expectation.expected(job, records, keys, "uniform", tmp_path)
    for name, run in (("own", headrace_peer.run), ("plain", plain_python.run)):
        if job in ("wc", "csvw") and name == "plain":
            continue  # it has no columns, and reads file after file
        folder = tmp_path / name
        folder.mkdir()
        outcome = run(Task(job, records, keys, "uniform", LOCAL, tmp_path, folder))
        assert tuple(outcome.tally) == wanted, name


def windows_of(job: str, records: int, keys: int) -> list[tuple[int, int, int]]:
    """(key, count, sum) of each window by the plainest way."""
    slide = workload.SLIDE_MS if job == "ws" else workload.TUMBLING_MS
    size = workload.SLIDING_MS if job == "ws" else workload.TUMBLING_MS
    found: dict[tuple[int, int], list[int]] = defaultdict(list)
    for key, value, time_ms in map(workload.timed_record_function(job, keys), range(records)):
        start = time_ms // slide * slide
        while start > time_ms - size:
            found[key, start].append(value)
            start -= slide
    return [(key, len(values), sum(values)) for (key, _), values in found.items()]


def sessions_of(records: int, keys: int) -> list[tuple[int, int, int]]:
    make = workload.timed_record_function("we", keys)
    found: list[tuple[int, int, int]] = []
    by_key: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for key, value, time_ms in map(make, range(records)):
        by_key[key].append((time_ms, value))
    for key, values in by_key.items():
        values.sort()
        last = None
        for time_ms, value in values:
            if last is None or time_ms - last > workload.GAP_MS:
                found.append((key, 0, 0))
            _, count, total = found[-1]
            found[-1], last = (key, count + 1, total + value), time_ms
    return found


@pytest.mark.parametrize(("job", "records"), [("wt", 30_000), ("ws", 30_000), ("we", 80_000)])
def test_what_is_expected_is_what_the_plainest_loop_finds(
    job: str, records: int, tmp_path: Path
) -> None:
    keys = 12
    found = sessions_of(records, keys) if job == "we" else windows_of(job, records, keys)
    wanted = len(found), *(sum(column) for column in zip(*found, strict=True))
    assert expectation.expected(job, records, keys, "uniform", tmp_path) == wanted


def test_sessions_end_and_begin_again() -> None:
    keys, turns = 20, 6
    records = turns * workload.SESSION_TURN_MS
    found = sessions_of(records, keys)
    assert len(found) == turns * keys // workload.SESSION_BLOCKS


@pytest.mark.parametrize("job", ["wt", "we"])
def test_no_record_is_late(job: str) -> None:
    make = workload.timed_record_function(job, 10_000)
    times = [make(index)[2] for index in range(100_000)]
    latest = [*accumulate(times, max)]
    behind = [most - time_ms for most, time_ms in zip(latest, times, strict=True)]
    assert 0.9 * workload.DISORDER_MS < max(behind) < workload.DISORDER_MS
    assert times[-1] - times[0] == pytest.approx(10_000, abs=workload.DISORDER_MS)


@pytest.mark.parametrize("job", ["wt", "we"])
def test_records_are_made_of_an_array_as_of_numbers(job: str) -> None:
    make = workload.timed_record_function(job, 10_000)
    indexes = np.arange(149_000, 151_000)
    arrays = zip(*(column.tolist() for column in make(indexes)), strict=True)
    assert [*arrays] == [*map(make, range(149_000, 151_000))]


def test_sql_says_the_same_records() -> None:
    keys, half = 10_000, 2_000_000
    index = workload.INTERLEAVED_SQL.format(number="number", half=half)
    rate = workload.rate_per_ms(keys)
    columns = (
        workload.UNIFORM_SQL.format(index=f"({index})", keys=keys),
        workload.VALUE_SQL.format(index=f"({index})"),
        workload.TIME_SQL.format(index=f"({index})", rate=rate),
    )
    numbers = [0, 1, 7, 1_999_999, 2_000_000, 3_999_999]
    connection = sqlite3.connect(":memory:")
    connection.create_function("MOD", 2, lambda a, b: a % b)
    make = workload.timed_record_function("wt", keys)
    for number in numbers:
        sql = f"SELECT {', '.join(columns)} FROM (SELECT {number} AS number)"
        (found,) = connection.execute(sql)
        assert found == make(workload.interleaved(number, half))
    connection.close()


def test_two_halves_of_the_numbers_are_every_index_in_turn() -> None:
    found = [workload.interleaved(number, 5) for number in range(10)]
    assert found == [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]


def test_the_last_sum_of_a_key_counts(tmp_path: Path) -> None:
    tally = LastByKey(str(tmp_path))
    tally.columns(pa.record_batch({"key": [1, 2, 1], "value": [10, 5, 12]}))
    tally.columns(pa.record_batch({"key": [2, 3], "value": [9, 0]}))
    assert tally.total() == [3, 6, 21]


def test_every_file_has_the_header_and_its_keys(tmp_path: Path) -> None:
    folder = workload.input_of("csvw", 1_000, 10, tmp_path)
    assert folder is not None
    files = [path.read_text().splitlines() for path in sorted(folder.iterdir())]
    assert {lines[0] for lines in files} == {workload.CSV_HEADER}
    rows = [[tuple(map(int, row.split(","))) for row in lines[1:]] for lines in files]
    records = [*map(workload.timed_record_function("csvw", 10), range(1_000))]
    assert rows == [
        [record for record in records if record[0] % workload.CSV_FILES == number]
        for number in range(workload.CSV_FILES)
    ]
    assert workload.input_of("wt", 1_000, 10, tmp_path) is None


def test_all_windows_fire_after_they_were_filled(tmp_path: Path) -> None:
    found = firing_probe.run(200, "local", tmp_path)
    assert min(found.values()) > 0


def rated(contender: str, rate: float) -> list[dict[str, Any]]:
    return [
        {
            "contender": contender,
            "round": 0,
            "records": records,
            "seconds": 1 + records / rate,
            "wall_seconds": 2 + records / rate,
        }
        for records in (100, 1_100)
    ]


def asked(text: str, results: dict[str, Any]) -> float:
    (target,) = (target for target in TARGETS if target.text.startswith(text))
    found = target.ask(Measured(results))
    assert found is not None
    return pytest.approx(found.median)


def test_windows_are_compared_with_the_right_peers() -> None:
    peers = {"headrace": 1_000, "flink-sql": 500, "flink-sql-minibatch": 4_000, "bytewax": 200}
    results = {
        "windows": {"rows": [row for name, rate in peers.items() for row in rated(name, rate)]},
        "windows-columns": {"rows": rated("headrace", 8_000)},
        "windows-sliding": {"rows": rated("headrace", 800)},
        "csv": {"rows": [*rated("headrace-batch", 900), *rated("headrace", 600)]},
    }
    assert asked("windows over columns", results) == 2
    assert asked("windows to Flink SQL's, state on the heap", results) == 0.25
    assert asked("windows to Bytewax", results) == 5
    assert asked("what a record costs in sliding", results) == 1.25
    results["csv"]["rows"] += rated("pathway", 300)
    assert asked("CSV, sums by key as a batch", results) == 3
    assert asked("CSV, sums by key as a stream", results) == 2


def test_firing_is_compared_with_filling() -> None:
    values = {"fill_seconds": 8.0, "fire_seconds": 2.0}
    results = {"firing": {"rows": [{"contender": "headrace", "round": 0, "values": values}]}}
    assert asked("100,000 windows: seconds to fire", results) == 0.25


def test_the_table_of_windows_names_those_that_ran() -> None:
    results = {"windows": {"rows": [*rated("headrace", 1_000), *rated("pyflink-thread", 50)]}}
    text = report._in_short(Measured(results), report.WINDOWS_IN_SHORT)
    assert "| tumbling: PyFlink, the better of its modes | 50 | 1,000 | 20 |" in text
    assert "| tumbling: Bytewax, its best settings | not measured |" in text

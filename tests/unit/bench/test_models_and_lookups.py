"""The experiments of lookups and of map_batches: what they count, and what becomes of it."""

from __future__ import annotations

import asyncio
import gc
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench import processes
from bench.measure import batches, lookups, probes
from bench.targets import TARGETS, Measured
from bench.throughput import Plan


class Model:
    """Stands for one of scikit-learn."""

    def predict_proba(self, features: Any) -> Any:
        return np.column_stack([features[:, 0], 1 - features[:, 0]])


def test_jobs_over_batches_find_what_the_plain_loops_do(tmp_path: Path) -> None:
    file, count = tmp_path / "points.parquet", 200
    columns = {name: np.linspace(0, 1, count) for name in batches.FEATURES}
    table = pa.table({"id": np.arange(count), **columns})
    pq.write_table(table, file)
    score = batches.scoring(Model())
    assert batches.plain(file, score) == 20
    assert {name: work() for name, work in batches.ways(file, score).items()} == {
        batches.COLUMNS: 20,
        "every score as a row": 20,
    }
    rows = [*zip(*(column.to_pylist() for column in table.columns), strict=True)]
    assert batches.plain_of_rows(rows, score) == batches.job_of_rows(rows, score) == 20


def test_the_client_alone_asks_for_each_number_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    at_once = most = 0

    async def lookup(number: int) -> int:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0)
        at_once -= 1
        asked.append(number)
        return number

    monkeypatch.setattr(lookups, "AT_ONCE", 7)
    lookups.alone(lookup, 100)
    assert sorted(asked) == [*range(100)]
    assert most == 7


def test_ways_take_turns_and_each_has_its_best(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "collect", int)  # slow after thousands of tests
    called: list[str] = []
    found = lookups.best_in_turns([lambda: called.append("a"), lambda: called.append("b")], 2)
    assert called == ["a", "b", "a", "b"]
    assert len(found) == 2


def test_rows_of_one_process_keep_who_and_where(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {
            "contender": name,
            "point": "over HTTP, 20,000 lookups",
            "values": {"lookups_per_second": rate},
        }
        for name, rate in (("headrace-unordered", 900.0), ("client-alone", 1_000.0))
    ]
    result: dict[str, Any] = {"answer": {"rows": rows}}
    monkeypatch.setattr(processes, "run", lambda *given: processes.Run(["it"], 1.0, 0.5, **result))
    found = lookups.measure(Plan(1, 1.0))
    assert [(row["contender"], row["command"]) for row in found] == [
        ("headrace-unordered", ["it"]),
        ("client-alone", ["it"]),
    ]
    results = {"lookups": {"rows": [{**row, "round": 0} for row in found]}}
    (target,) = (each for each in TARGETS if each.text.startswith("20,000 lookups"))
    ratio = target.ask(Measured(json.loads(json.dumps(results))))
    assert ratio is not None
    assert ratio.median == pytest.approx(0.9)
    assert lookups.measure(Plan(1, 1.0, ("pyflink",))) == []
    result["answer"], result["failure"] = None, "exit code 1"
    (failed,) = probes.several("lookups", "lookups", [], 1)
    assert failed["failure"] == "exit code 1"

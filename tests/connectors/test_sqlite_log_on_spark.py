"""The worked example of a connector on Spark, which is killed when a task has committed."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.connectors.killed_job import FIRST, KEYS
from tests.connectors.test_sqlite_log import content, make_log
from tests.faults.processes import log_of, start

pytestmark = [
    pytest.mark.spark,
    pytest.mark.fault,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc (Linux)"),
]

RECORDS = 300


def test_every_record_counts_once(tmp_path: Path) -> None:
    make_log(tmp_path / "given.db", range(1, RECORDS + 1))
    make_log(tmp_path / "taken.db")
    runs = []
    for _ in range(2):
        runs.append(start("tests.connectors.killed_job", str(tmp_path)).wait(timeout=120))
    assert runs[0] != 0 and runs[1] == 0, log_of(tmp_path)
    assert (tmp_path / "killed").exists()
    written = content(tmp_path / "taken.db")
    assert len(written) == RECORDS - FIRST + 1
    for key in range(KEYS):
        totals = sorted([0, *(total for each, total in written if each == key)])
        added = sorted(after - before for before, after in pairwise(totals))
        assert added == [n for n in range(FIRST, RECORDS + 1) if n % KEYS == key]

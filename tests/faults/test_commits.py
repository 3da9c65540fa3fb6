"""The end of Spark around a commit: before the sink's, after it, and before Spark's own."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.faults.processes import log_of, start
from tests.faults.sums_job import KEYS, MOMENTS, RECORDS

pytestmark = [
    pytest.mark.spark,
    pytest.mark.fault,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc (Linux)"),
]


@pytest.mark.timeout(480)
def test_a_micro_batch_counts_once(tmp_path: Path) -> None:
    output = tmp_path / "out"
    for moment in MOMENTS:
        assert start("tests.faults.sums_job", str(output)).wait(timeout=120) != 0, moment
        assert Path(f"{output}-killed-{moment}").exists(), log_of(output)
    assert start("tests.faults.sums_job", str(output)).wait(timeout=120) == 0, log_of(output)
    written = Counter(
        line
        for path in output.rglob("part-*")
        if path.is_file()
        for line in path.read_text().splitlines()
    )
    assert written == Counter(
        str((n % KEYS, sum(range(n % KEYS, n + 1, KEYS)))) for n in range(RECORDS)
    )

"""The end of Spark around a commit: before the sink's, after it, and before Spark's own."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.faults.processes import log_of, start
from tests.faults.sums_job import KEYS, RECORDS

pytestmark = [
    pytest.mark.spark,
    pytest.mark.fault,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc (Linux)"),
]


@pytest.mark.parametrize("moment", ["before", "after", "told"])
def test_a_micro_batch_counts_once(moment: str, tmp_path: Path) -> None:
    output = tmp_path / "out"
    runs = []
    for _ in range(2):
        job = start("tests.faults.sums_job", str(output), moment)
        runs.append(job.wait(timeout=120))
    assert runs[0] != 0 and runs[1] == 0, log_of(output)
    assert Path(f"{output}-killed").exists()
    written = Counter(
        line
        for path in output.rglob("part-*")
        if path.is_file()
        for line in path.read_text().splitlines()
    )
    assert written == Counter(
        str((n % KEYS, sum(range(n % KEYS, n + 1, KEYS)))) for n in range(RECORDS)
    )

"""State that moves to other stages, through failures and kills: the same files as of one run."""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.faults import moved_job
from tests.faults.moved_job import KEYS, PER_BATCH, RECORDS
from tests.faults.processes import log_of, start

pytestmark = [
    pytest.mark.spark,
    pytest.mark.fault,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc (Linux)"),
]


RUNS = [
    ("plain", "2-before"),
    ("rebalance", "2-after"),
    ("plain", "2-after"),
    ("rebalance,later", "3-before"),
    ("later", "never"),
]
"""The shape of the program, and where it ends: in the middle of a micro-batch, while state moves,
later, and while it moves back."""


def test_state_moves_to_other_stages_and_back(tmp_path: Path) -> None:
    for number, (shape, end) in enumerate(RUNS):
        fails = (
            contextlib.nullcontext() if end == "never" else pytest.raises(Exception, match="end")
        )
        with fails:
            moved_job.run(tmp_path / "out", shape, end, number)
    _assert_counted_once(tmp_path / "out")


@pytest.mark.proof
@pytest.mark.timeout(300)
def test_state_moves_under_kills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = tmp_path / "out"
    for number, (shape, end) in enumerate(RUNS):
        monkeypatch.setenv("RUN", str(number))
        code = start("tests.faults.moved_job", str(output), shape, end).wait(timeout=100)
        assert (code == 0) == (end == "never"), log_of(output)
    _assert_counted_once(output)


def _assert_counted_once(output: Path) -> None:
    """As of one uncut run; what moved is there once."""
    batches = [
        (output / f"counts-{number}-batches").read_text().split() for number in range(len(RUNS))
    ]
    assert batches == [["0", "1", "2"], ["2"], ["2"], ["2", "3"], ["3", "4", "5"]]
    counts = Counter(str((n % KEYS, n // KEYS + 1)) for n in range(RECORDS))
    assert _written(output / "counts") == counts
    thirds: Counter[int] = Counter(n % KEYS % 3 for n in range(RECORDS))
    sums = Counter(str((third, n)) for third, many in thirds.items() for n in range(1, many + 1))
    assert _written(output / "sums") == sums
    assert sorted(_written(output / "later").items()) == sorted(
        (str(("all", n)), 1) for n in range(1, RECORDS - 2 * PER_BATCH + 1)
    )
    left = sorted(p.name for p in Path(f"{output}-checkpoint", "moved").glob("spark*"))
    assert left == ["spark-4"]


def _written(folder: Path) -> Counter[str]:
    files = [path for path in folder.rglob("part-*") if path.is_file()]
    return Counter(line for path in files for line in path.read_text().splitlines())

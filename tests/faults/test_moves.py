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


MOVED = [
    ("plain", "2-before"),
    ("rebalance", "2-after"),
    ("plain", "2-after"),
    ("rebalance,later", "3-before"),
    ("later", "never"),
]
"""The shape of the program, and where it ends: in the middle of a micro-batch, while state moves,
later, and while it moves back."""

RESCALED = [
    ("plain", "2-before"),
    ("p3", "2-after"),
    ("p3", "3-before"),
    ("p1", "4-before"),
    ("p1", "never"),
]
"""It ends in a micro-batch that is repeated in the old partitions, twice, and in the first one in
the new partitions, twice."""

Runs = list[tuple[str, str]]


def test_state_moves_to_other_stages_and_back(tmp_path: Path) -> None:
    _fail(tmp_path / "out", MOVED)
    _assert_counted_once(tmp_path / "out", "0 1 2|2|2|2 3|3 4 5", "spark-4")
    _assert_later(tmp_path / "out")


def test_state_moves_to_other_partitions_and_back(tmp_path: Path) -> None:
    _fail(tmp_path / "out", RESCALED)
    _assert_counted_once(tmp_path / "out", "0 1 2|2|2 3|3 4|4 5", "spark-2")


def _fail(output: Path, runs: Runs) -> None:
    for number, (shape, end) in enumerate(runs):
        fails = (
            contextlib.nullcontext() if end == "never" else pytest.raises(Exception, match="end")
        )
        with fails:
            moved_job.run(output, shape, end, number)


@pytest.mark.proof
@pytest.mark.timeout(300)
def test_state_moves_under_kills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _kill(tmp_path / "out", MOVED, monkeypatch)
    _assert_counted_once(tmp_path / "out", "0 1 2|2|2|2 3|3 4 5", "spark-4")
    _assert_later(tmp_path / "out")


@pytest.mark.proof
@pytest.mark.timeout(300)
def test_a_job_is_rescaled_under_kills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _kill(tmp_path / "out", RESCALED, monkeypatch)
    _assert_counted_once(tmp_path / "out", "0 1 2|2|2 3|3 4|4 5", "spark-2")


def _kill(output: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, (shape, end) in enumerate(runs):
        monkeypatch.setenv("RUN", str(number))
        code = start("tests.faults.moved_job", str(output), shape, end).wait(timeout=100)
        assert (code == 0) == (end == "never"), log_of(output)


def _assert_counted_once(output: Path, batches: str, left: str) -> None:
    """As of one uncut run.

    ``batches``: those that each run committed or tried to. ``left``: the last generation.
    """
    found = [
        (output / f"counts-{number}-batches").read_text().split()
        for number in range(len(batches.split("|")))
    ]
    assert found == [each.split() for each in batches.split("|")]
    counts = Counter(str((n % KEYS, n // KEYS + 1)) for n in range(RECORDS))
    assert _written(output / "counts") == counts
    thirds: Counter[int] = Counter(n % KEYS % 3 for n in range(RECORDS))
    sums = Counter(str((third, n)) for third, many in thirds.items() for n in range(1, many + 1))
    assert _written(output / "sums") == sums
    assert [p.name for p in Path(f"{output}-checkpoint", "moved").glob("spark*")] == [left]


def _assert_later(output: Path) -> None:
    """What came later has what came after it, once."""
    assert sorted(_written(output / "later").items()) == sorted(
        (str(("all", n)), 1) for n in range(1, RECORDS - 2 * PER_BATCH + 1)
    )


def _written(folder: Path) -> Counter[str]:
    files = [path for path in folder.rglob("part-*") if path.is_file()]
    return Counter(line for path in files for line in path.read_text().splitlines())

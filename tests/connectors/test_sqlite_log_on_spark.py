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


@pytest.mark.beam(
    "Bounded SDF/Base", "Bounded SDF/SDF-initiated Checkpointing", runners="streaming"
)
@pytest.mark.timeout(240)
@pytest.mark.parametrize("batch", [pytest.param("0", marks=pytest.mark.proof), "2"])
def test_a_changed_program_repeats_a_micro_batch_only_where_its_records_go_the_same_way(
    tmp_path: Path, batch: str
) -> None:
    """A task has committed: an exchange would bring its records to others; a step does not."""
    make_log(tmp_path / "given.db", range(1, RECORDS + 1))
    make_log(tmp_path / "taken.db")
    assert run(tmp_path, batch, "plain") != 0
    taken = content(tmp_path / "taken.db")
    assert run(tmp_path, batch, "dealt") != 0
    assert "CheckpointError" in log_of(tmp_path) and "was not completed" in log_of(tmp_path)
    assert content(tmp_path / "taken.db") == taken
    assert run(tmp_path, batch, "mapped") == 0, log_of(tmp_path)
    check(tmp_path)


def run(folder: Path, *arguments: str) -> int:
    return start("tests.connectors.killed_job", str(folder), *arguments).wait(timeout=120)


def check(folder: Path) -> None:
    """Each record of the log counts once in the sums of the other."""
    assert (folder / "killed").exists()
    written = content(folder / "taken.db")
    assert len(written) == RECORDS - FIRST + 1
    for key in range(KEYS):
        totals = sorted([0, *(total for each, total in written if each == key)])
        added = sorted(after - before for before, after in pairwise(totals))
        assert added == [n for n in range(FIRST, RECORDS + 1) if n % KEYS == key]

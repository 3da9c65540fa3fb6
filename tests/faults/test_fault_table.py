"""Each process of a job struck at each step: ``make proof-faults``, and a short part of it.

The short part is one job whose Python processes are killed at each step.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

pytest.importorskip("confluent_kafka", reason="missing: pip install 'headrace[kafka]'")

from tests.proof.fault_job import SINKS, expected, records
from tests.proof.fault_plan import SHORT, STEPS, grouped, planned
from tests.proof.fault_results import Written, difference_after_savepoint
from tests.proof.fault_run import run
from tests.proof.fault_table import DOCS, in_docs, run_all

pytestmark = pytest.mark.fault
on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc (Linux)")


@on_linux
@pytest.mark.spark
@pytest.mark.proof
@pytest.mark.timeout(300)
def test_workers_killed_at_each_step() -> None:
    outcomes = run(SHORT, None, None)
    assert [outcome.difference for outcome in outcomes] == [""] * len(STEPS)


@on_linux
@pytest.mark.spark
@pytest.mark.proof
@pytest.mark.timeout(8 * 3600)
def test_each_process_struck_at_each_step() -> None:
    seed = random.SystemRandom().randrange(1_000_000)
    jobs = grouped(planned(seed, seeds=3), together=True)
    outcomes = [*run_all(jobs, time.monotonic() + 7 * 3600)]
    assert [outcome.line for outcome in outcomes if outcome.difference] == []
    assert len(outcomes) == sum(map(len, jobs))


def test_the_docs_have_the_counts_of_the_runs() -> None:
    page = DOCS.read_text()
    assert in_docs(page) == page


def test_a_seed_plans_the_same_strikes() -> None:
    one, other = (planned(7, 3) for _ in range(2))
    assert [(asdict(each), each.moment) for each in one] == [
        (asdict(each), each.moment) for each in other
    ]
    assert sum(each.form == "kafka" for each in one) * 2 == pytest.approx(len(one), abs=3)


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """All that the job writes for ``GIVEN``, in one file for each sink."""
    for sink in SINKS:
        (tmp_path / "out" / sink).mkdir(parents=True)
        lines = expected(GIVEN)[sink].elements()
        (tmp_path / "out" / sink / "part-0").write_text("".join(f"{line}\n" for line in lines))
    return Written(tmp_path, {})


GIVEN = [line for split in records(1, 300) for line in split]


def test_what_is_right_has_no_difference(written: Written) -> None:
    assert written.difference(GIVEN) == ""
    assert difference_after_savepoint(written, GIVEN) == ""


@pytest.mark.parametrize("sink", SINKS)
@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (lambda lines: lines[1:], "1 of"),
        (lambda lines: [*lines, lines[0]], "1 too many"),
        (lambda lines: [lines[0] + "0", *lines[1:]], "1 too many"),
    ],
    ids=["lost", "doubled", "changed"],
)
def test_a_line_that_is_wrong_is_found(
    sink: str, change: Callable[[list[str]], list[str]], difference: str, written: Written
) -> None:
    file = written.folder / "out" / sink / "part-0"
    lines = change(file.read_text().splitlines())
    file.write_text("".join(f"{line}\n" for line in lines))
    assert difference in written.difference(GIVEN)


def test_a_gap_after_a_savepoint_is_found(written: Written) -> None:
    file = written.folder / "out" / "totals" / "part-0"
    lines = [line for line in file.read_text().splitlines() if int(line.split()[1]) > 3]
    file.write_text("\n".join(lines))
    assert difference_after_savepoint(written, GIVEN) == ""
    file.write_text("\n".join(line for line in lines if line.split()[1] != "5"))
    assert "missing" in difference_after_savepoint(written, GIVEN)

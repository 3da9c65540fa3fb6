"""A job begins on one version of Spark or Python, and goes on from its checkpoint on another."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.goldens import job

pytestmark = pytest.mark.spark

ROOT = Path(__file__).resolve().parents[2]
ASK = "import sys, pyspark; print(pyspark.__version__, '%d.%d' % sys.version_info[:2])"
RUN = "import sys, pathlib; from tests.goldens import job; job.run(pathlib.Path(sys.argv[1]))"
CHOOSES = ("SPARK_HOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
"""What would choose another Spark or Python than the environment's."""

SNAPSHOTS = (
    "--conf spark.sql.streaming.stateStore.minDeltasForSnapshot=1"
    " --conf spark.sql.streaming.stateStore.maintenanceInterval=100ms pyspark-shell"
)
"""State is in files of RocksDB from the first micro-batches on, as it is after many."""


@dataclass(frozen=True)
class Environment:
    """An interpreter of this checkout, with the minor versions of Spark and Python in it."""

    python: str
    spark: str
    version: str


@cache
def environments() -> list[Environment]:
    found = []
    for folder in [Path(sys.prefix), *sorted(ROOT.glob(".venv*"))]:
        python = folder / "bin" / "python"
        if not python.exists():
            continue
        asked = subprocess.run([python, "-c", ASK], capture_output=True, text=True)
        if asked.returncode == 0:
            spark, version = asked.stdout.split()
            found.append(Environment(str(python), spark.rpartition(".")[0], version))
    return found


def two_sparks() -> tuple[Environment, Environment]:
    by_version = {each.spark: each for each in reversed(environments())}
    if len(by_version) < 2:
        pytest.skip("missing: another Spark, `make .venv-spark-4.2/.installed`")
    return by_version[min(by_version)], by_version[max(by_version)]


def two_pythons() -> tuple[Environment, Environment]:
    here = environments()[0]
    by_version = {each.version: each for each in environments() if each.spark == here.spark}
    if len(by_version) < 2:
        pytest.skip(
            "no other Python with this Spark: PYTHON=python3.13 sh scripts/setup.sh"
            " .venv-python-3.13"
        )
    return by_version[min(by_version)], by_version[max(by_version)]


@pytest.mark.timeout(400)
@pytest.mark.parametrize("back", [False, True], ids=["up", "down"])
def test_a_checkpoint_moves_to_another_spark(tmp_path: Path, back: bool) -> None:
    older, newer = two_sparks()
    begin, end = (newer, older) if back else (older, newer)
    said = run_in_two_halves(tmp_path, begin, end)
    assert [f"Spark {each.spark}." in text for each, text in zip((begin, end), said, strict=True)]


@pytest.mark.timeout(400)
@pytest.mark.parametrize("back", [False, True], ids=["up", "down"])
def test_a_checkpoint_moves_to_another_python(tmp_path: Path, back: bool) -> None:
    older, newer = two_pythons()
    begin, end = (newer, older) if back else (older, newer)
    run_in_two_halves(tmp_path, begin, end)


def run_in_two_halves(folder: Path, begin: Environment, end: Environment) -> tuple[str, str]:
    """Run the job until it fails, and then to its end; return what both halves printed."""
    (folder / "fails").touch()
    first = run(folder, begin)
    assert "OSError: not now" in first, first[-3000:]
    checkpoint = folder / "checkpoint" / job.NAME / "spark"
    assert list(checkpoint.glob("state/0/*/*.zip"))
    assert not job.written(folder / "out")  # the sink holds its files back to the end
    (folder / "fails").unlink()
    second = run(folder, end)
    assert job.written(folder / "out") == job.expected(), second[-3000:]
    assert "it continues from" in second
    return first, second


def run(folder: Path, environment: Environment) -> str:
    inherited = {name: value for name, value in os.environ.items() if name not in CHOOSES}
    done = subprocess.run(
        [environment.python, "-c", RUN, str(folder)],
        cwd=ROOT,
        env={
            **inherited,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
            "PYSPARK_SUBMIT_ARGS": SNAPSHOTS,
        },
        capture_output=True,
        text=True,
        timeout=180,
    )
    return done.stdout + done.stderr

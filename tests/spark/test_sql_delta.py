"""A table of Delta is written exactly once by SQL, on the Spark that Delta is there for."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from headrace.dev.artifacts import install_server, read_pinned_files
from headrace.errors import JobError
from tests.spark.delta_job import ROWS
from tests.spark.test_versions import CHOOSES, ROOT, environments
from tests.storage.servers import LISTED

pytestmark = pytest.mark.spark

SPARK = "4.2"
"""The newest Spark for which Delta 4.4 is there."""


def python_with_spark() -> str:
    for each in environments():
        if each.spark == SPARK:
            return each.python
    pytest.skip(f"missing: Spark {SPARK}, which Delta needs: make .venv-spark-{SPARK}/.installed")


def delta_jars() -> Path:
    try:
        return install_server("delta", parts=read_pinned_files("delta", LISTED))
    except JobError as error:
        pytest.skip(f"missing: Delta: {error.message}; {error.hint}")


def run(python: str, *arguments: str) -> str:
    inherited = {name: value for name, value in os.environ.items() if name not in CHOOSES}
    done = subprocess.run(
        [python, "-m", "tests.spark.delta_job", *arguments],
        cwd=ROOT,
        env={**inherited, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.stdout + done.stderr


@pytest.mark.timeout(700)
def test_a_driver_that_dies_after_a_commit_doubles_nothing(tmp_path: Path) -> None:
    python, jars = python_with_spark(), delta_jars()
    (tmp_path / "given.csv").write_text("".join(f"{id_},k{id_ % 3}\n" for id_ in range(ROWS)))
    first = run(python, str(tmp_path), str(jars), "DIES")
    assert "found:" not in first and (tmp_path / "made").is_dir(), first[-3000:]
    second = run(python, str(tmp_path), str(jars))
    assert f"found: {' '.join(map(str, range(ROWS)))}\n" in second, second[-3000:]

"""Jobs begin from the savepoints that earlier versions wrote, on either runner."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.runtime.savepoint.folder import read_manifest
from headrace.runtime.savepoint.manifest import FORMAT
from tests.goldens.job import NAME, written
from tests.goldens.saved import SAVED, build, environment, expected_after

SAVEPOINTS = sorted(SAVED.glob("*-*"))
each_savepoint = pytest.mark.parametrize("savepoint", SAVEPOINTS, ids=lambda path: path.name)


def begin_from(savepoint: Path, folder: Path, **settings: str) -> None:
    env = environment(2, **{"execution.state-recovery.path": str(savepoint), **settings})
    build(env, folder)
    env.execute(NAME)
    assert written(folder / "out") == expected_after()


def test_there_is_one_of_each_format_and_runner() -> None:
    formats = range(3, FORMAT + 1)
    names = [f"{number}-{runner}" for number in formats for runner in ("local", "spark")]
    assert [path.name for path in SAVEPOINTS] == names
    for path in SAVEPOINTS:
        assert read_manifest(str(path)).job == NAME
        assert f'"format": {path.name[0]},' in (path / "_savepoint").read_text()


@each_savepoint
def test_a_local_job_begins(savepoint: Path, tmp_path: Path) -> None:
    begin_from(savepoint, tmp_path, **{"execution.target": "local"})


@pytest.mark.spark
@each_savepoint
def test_a_job_on_spark_begins(savepoint: Path, tmp_path: Path) -> None:
    begin_from(
        savepoint, tmp_path, **{"execution.checkpointing.dir": str(tmp_path / "checkpoints")}
    )

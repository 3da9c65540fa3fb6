"""The checkpoints of earlier versions go on, on Spark."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.runners.spark.startup.session import settings_of_query
from tests.goldens import VERSIONS, job
from tests.goldens.pickles import is_pickle, of_headrace

pytestmark = [
    pytest.mark.spark,
    pytest.mark.parametrize("version", VERSIONS, ids=lambda path: path.name),
]


def test_the_job_goes_on(version: Path, tmp_path: Path) -> None:
    for part in ("checkpoint", "out"):
        shutil.copytree(version / part, tmp_path / part)
    job.run(tmp_path)
    assert job.written(tmp_path / "out") == job.expected()


def test_no_class_of_headrace_stands_in_the_state(version: Path, tmp_path: Path) -> None:
    """After the job has gone on: in what was kept, and in what was added."""
    for part in ("checkpoint", "out"):
        shutil.copytree(version / part, tmp_path / part)
    job.run(tmp_path)
    spark = SparkSession.getActiveSession()
    assert spark is not None
    folder = str(tmp_path / "checkpoint" / job.NAME / "spark")
    found: list[bytes] = []
    for batch in (2, 3):
        with settings_of_query(spark, 2, folder, dataframes=True):
            reader = spark.read.format("statestore").option("path", folder)
            reader = reader.option("stateVarName", "pages").option("batchId", batch)
            rows = reader.load().select("user_map_value.data").collect()
        found += [bytes(row["data"]) for row in rows]
    assert len(found) > 10 and all(map(is_pickle, found))
    assert {name for data in found for name in of_headrace(data)} == set()

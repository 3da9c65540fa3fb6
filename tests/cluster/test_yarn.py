"""An archive of ``headrace package`` on YARN, submitted in client mode and in cluster mode."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("confluent_kafka", reason="missing: pip install 'headrace[kafka]'")

from headrace.demo.trades import generator
from headrace.runners.dependencies.folder import extract
from headrace.runners.spark.checkpoint.layout import CheckpointFolder
from headrace.runners.spark.checkpoint.metadata import CheckpointMetadata
from tests.cluster.commands import (
    PROGRAM,
    Trades,
    by_headrace,
    by_spark_submit,
    spark_defaults,
    start,
)
from tests.cluster.standalone import SPARK_HOME, make_bare_environment
from tests.cluster.yarn import yarn
from tests.faults.processes import log_of

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.proof]

NO_KAFKA = ["", "", ""]
SETTINGS = '{"parallelism.default": "3"}'
SETTINGS_ON_A_NODE = SETTINGS.replace('"', r"\"")  # YARN takes quotes away


@pytest.fixture(scope="module")
def hadoop_conf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The settings of a running YARN."""
    with yarn(tmp_path_factory.mktemp("yarn")) as settings:
        yield settings


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("given") / "day"
    generator.generate(folder, events=600, seed=7)
    return folder


@pytest.fixture(scope="module")
def expected(day: Path, tmp_path_factory: pytest.TempPathFactory) -> Trades:
    """What the local runner makes of the day."""
    folder = tmp_path_factory.mktemp("local")
    program = by_headrace("--local", str(PROGRAM), str(folder), str(day), *NO_KAFKA)
    assert start(folder, program).wait(timeout=120) == 0, log_of(folder)
    trades = Trades.read(folder)
    assert trades.documents
    return trades


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of the program, which is also extracted beside it."""
    folder = tmp_path_factory.mktemp("package")
    made = folder / "job.tar.gz"
    package = [sys.executable, "-m", "headrace", "package", str(PROGRAM), "-o", str(made)]
    assert start(folder, package).wait(timeout=120) == 0, log_of(folder)
    extract(made, folder / "environment")
    return made


@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", ["client", "cluster"])
def test_an_archive_on_yarn(
    mode: str, hadoop_conf: Path, archive: Path, day: Path, expected: Trades, tmp_path: Path
) -> None:
    python = str(make_bare_environment(tmp_path / "bare") / "python")
    spark_defaults(
        tmp_path / "conf",
        spark_executor_memory="640m",
        spark_driver_memory="640m",
        spark_yarn_jars=f"local:{SPARK_HOME}/jars/*",
        spark_yarn_stagingDir=str(tmp_path),
    )
    (tmp_path / "environment").symlink_to(archive.parent / "environment")
    options = [
        *("--master", "yarn", "--deploy-mode", mode, "--archives", f"{archive}#environment"),
        *("--conf", "spark.pyspark.python=./environment/bin/python"),
        *("--conf", f"spark.executorEnv.HEADRACE_PYTHON={python}"),
        *("--conf", f"spark.yarn.appMasterEnv.HEADRACE_PYTHON={python}"),
        *("--conf", f"spark.yarn.appMasterEnv.HEADRACE_SETTINGS={SETTINGS_ON_A_NODE}"),
    ]
    arguments = [str(tmp_path), str(day), *NO_KAFKA]
    program = start(
        tmp_path,
        by_spark_submit(*options, "environment/program/jobs.py", *arguments),
        HADOOP_CONF_DIR=str(hadoop_conf),
        HEADRACE_PYTHON=python,
        HEADRACE_SETTINGS=SETTINGS,
        PYTHONPATH="",
    )
    assert program.wait(timeout=500) == 0, log_of(tmp_path)
    assert Trades.read(tmp_path) == expected
    folder = CheckpointFolder.of_job(str(tmp_path / "checkpoint"), "trades")
    metadata = CheckpointMetadata.read(folder.store)
    assert metadata is not None and metadata.partitions == 3

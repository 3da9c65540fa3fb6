"""The same program on a cluster by three commands, and while the cluster changes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("confluent_kafka", reason="missing: pip install 'headrace[kafka]'")

from headrace.demo.trades import generator
from headrace.runners.dependencies.folder import extract
from tests.cluster.commands import (
    PROGRAM,
    Trades,
    by_headrace,
    by_spark_submit,
    numbers,
    spark_defaults,
    start,
)
from tests.cluster.standalone import Cluster, make_bare_environment
from tests.connectors.topic import content, new_topic, produce
from tests.faults.processes import log_of

pytestmark = [pytest.mark.spark, pytest.mark.slow]

EVENTS = 600


@dataclass(frozen=True)
class Input:
    """The input of the program, and what the local runner makes of it."""

    day: Path
    servers: str
    topic: str
    trades: Trades
    windows: list[bytes]


def written(servers: str, topic: str) -> list[bytes]:
    return sorted(message.value() for message in content(servers, topic))


@pytest.fixture(scope="session")
def given(kafka_servers: str, tmp_path_factory: pytest.TempPathFactory) -> Input:
    folder = tmp_path_factory.mktemp("local")
    generator.generate(folder / "day", events=EVENTS, seed=7)
    topic, output = new_topic(kafka_servers, 2), new_topic(kafka_servers)
    produce(kafka_servers, topic, numbers(400))
    arguments = [str(folder), str(folder / "day"), kafka_servers, topic, output]
    program = start(folder, by_headrace("--local", str(PROGRAM), *arguments))
    assert program.wait(timeout=120) == 0, log_of(folder)
    windows = written(kafka_servers, output)
    assert len(windows) > 50
    return Input(folder / "day", kafka_servers, topic, Trades.read(folder), windows)


def start_session(url: str, folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """The program makes its session, in an environment that was activated."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return start(folder, [sys.executable, str(PROGRAM), *arguments], PATH=path, SESSION=url)


def start_by_headrace(url: str, folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return start(folder, by_headrace("--master", url, str(PROGRAM), *arguments))


def submit_archive(url: str, folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Driver and executors have a Python without any library, and the archive."""
    archive = folder / "job.tar.gz"
    package = [sys.executable, "-m", "headrace", "package", str(PROGRAM), "-o", str(archive)]
    assert start(folder, package).wait(timeout=120) == 0, log_of(folder)
    extract(archive, folder / "environment")
    python = str(make_bare_environment(folder / "bare") / "python")
    options = [
        *("--master", url, "--archives", f"{archive}#environment"),
        *("--conf", "spark.pyspark.python=./environment/bin/python"),
        *("--conf", f"spark.executorEnv.HEADRACE_PYTHON={python}"),
    ]
    command = by_spark_submit(*options, "environment/program/jobs.py", *arguments)
    settings = '{"parallelism.default": "2"}'
    return start(folder, command, PYTHONPATH="", HEADRACE_PYTHON=python, HEADRACE_SETTINGS=settings)


@pytest.mark.parametrize(
    ("begin", "cores"),
    [
        (start_session, "2 cores"),
        (start_by_headrace, "2 cores"),
        (submit_archive, "2 tasks at once"),
    ],
)
@pytest.mark.timeout(600)
def test_a_program_on_a_cluster(
    begin: Callable[..., subprocess.Popen[bytes]],
    cores: str,
    cluster: Cluster,
    given: Input,
    tmp_path: Path,
) -> None:
    output = new_topic(given.servers, 2)
    spark_defaults(tmp_path / "conf", spark_cores_max="1" if begin is submit_archive else "2")
    arguments = [str(tmp_path), str(given.day), given.servers, given.topic, output]
    program = begin(cluster.url, tmp_path, *arguments)
    assert program.wait(timeout=500) == 0, log_of(tmp_path)
    log = Path(f"{tmp_path}.log").read_text()
    assert f"'trades' runs on {cluster.url} with {cores}, Spark" in log, log[-3000:]
    assert Trades.read(tmp_path) == given.trades
    assert written(given.servers, output) == given.windows


def committed(folder: Path, job: str) -> int:
    """The number of the last micro-batch; -1 for none."""
    commits = folder / "checkpoint" / job / "spark" / "commits"
    return max((int(path.name) for path in commits.glob("[0-9]*")), default=-1)


def wait_for_batches(folder: Path, job: str, count: int) -> None:
    """Wait until micro-batches are committed."""
    end = time.monotonic() + 100
    while committed(folder, job) + 1 < count:
        assert time.monotonic() < end, log_of(folder)
        time.sleep(0.2)


@pytest.mark.fault
@pytest.mark.proof
@pytest.mark.timeout(600)
def test_a_worker_goes_and_another_comes(cluster: Cluster, given: Input, tmp_path: Path) -> None:
    """With dynamic allocation, which asks for an executor in place of the lost one."""
    spark_defaults(
        tmp_path / "conf",
        spark_dynamicAllocation_enabled="true",
        spark_dynamicAllocation_minExecutors="2",
        spark_dynamicAllocation_maxExecutors="3",
        spark_dynamicAllocation_executorIdleTimeout="1s",
        spark_executor_cores="1",
    )
    arguments = [str(PROGRAM), str(tmp_path), str(given.day), "", "", ""]
    program = start(tmp_path, by_headrace("--master", cluster.url, *arguments), RECORDS="60")
    wait_for_batches(tmp_path, "trades", 2)
    busy = next(worker for worker in cluster.workers if worker.executors())
    cluster.kill_worker(busy)
    new = cluster.add_worker()
    assert program.poll() is None, "it ended before the worker was lost"
    before = committed(tmp_path, "trades")
    assert program.wait(timeout=500) == 0, log_of(tmp_path)
    assert committed(tmp_path, "trades") > before
    assert cluster.has_worked(new)
    assert Trades.read(tmp_path) == given.trades

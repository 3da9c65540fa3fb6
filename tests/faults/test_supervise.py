"""``headrace run --supervise``: driver and Spark are killed, and each record counts once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import pytest

from headrace.runners.savepoint_folders import is_savepoint, stored_savepoints
from headrace.runners.spark.checkpoint.layout import CheckpointFolder
from headrace.runners.spark.checkpoint.listing import stored_jobs
from tests.faults.processes import ROOT, descendants, kill, kill_jvm_once
from tests.goldens.job import written
from tests.spark import test_savepoints as tallies

pytestmark = [
    pytest.mark.spark,
    pytest.mark.fault,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc (Linux)"),
]


@contextmanager
def supervised(
    folder: Path, *options: str, settings: Mapping[str, str] = MappingProxyType({})
) -> Iterator[subprocess.Popen[bytes]]:
    program = str(ROOT / "tests/faults/tallies_job.py")
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    pairs = [f"{key}={value}" for key, value in settings.items()]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "headrace", "run", *options, program, str(folder), *pairs],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path},
            stdout=log,
            stderr=log,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def driver_of(supervisor: int) -> int | None:
    found = [p.pid for p in descendants(supervisor) if p.parent == supervisor]
    return found[0] if found else None


def committed(folder: Path) -> int:
    """The micro-batches that are committed."""
    store = CheckpointFolder.of_job(str(folder / "checkpoints 0"), "tallies")
    commits = Path(store.directory, "spark", "commits")
    return len([*commits.glob("[0-9]*")])


def wait_for_batches(folder: Path, more: int, process: subprocess.Popen[bytes]) -> None:
    wanted, deadline = committed(folder) + more, time.monotonic() + 90
    while committed(folder) < wanted:
        log = (folder / "log").read_text(errors="replace")[-3_000:]
        assert time.monotonic() < deadline and process.poll() is None, log
        time.sleep(0.02)


@pytest.mark.timeout(300)
def test_a_dead_driver_and_a_dead_spark_are_started_again(tmp_path: Path) -> None:
    """Although the first start was with --fresh."""
    with supervised(tmp_path, "--supervise", "--fresh") as supervisor:
        wait_for_batches(tmp_path, 2, supervisor)
        driver = driver_of(supervisor.pid)
        assert driver is not None and kill(driver)
        killed = time.monotonic()
        wait_for_batches(tmp_path, 1, supervisor)
        print(f"{time.monotonic() - killed:.1f} s from the kill of the driver to the next commit")
        driver = driver_of(supervisor.pid)
        assert driver is not None and kill_jvm_once(tmp_path / "killed", driver)
        killed = time.monotonic()
        wait_for_batches(tmp_path, 1, supervisor)
        print(f"{time.monotonic() - killed:.1f} s from the kill of Spark to the next commit")
        assert supervisor.wait(240) == 0, (tmp_path / "log").read_text(errors="replace")[-3_000:]
    assert written(tmp_path / "out") == tallies.expected()
    (job,) = stored_jobs(str(tmp_path / "checkpoints 0"))
    assert [restart.of_driver for restart in job.restarts] == [True, True]
    assert [restart.reason for restart in job.restarts] == [
        "the program was killed by SIGKILL",
        "the program failed with an error that may be gone",
    ]


@pytest.mark.timeout(300)
def test_one_that_stands_by_takes_over(tmp_path: Path) -> None:
    with supervised(tmp_path, "--supervise") as first:
        wait_for_batches(tmp_path, 2, first)
        with supervised(tmp_path, "--standby") as second:
            wait_for_text(tmp_path / "log", "waiting for its end", second)
            assert kill(first.pid)
            driver = driver_of_log(tmp_path)
            assert kill(driver)
            assert second.wait(240) == 0, (tmp_path / "log").read_text(errors="replace")[-3_000:]
    assert written(tmp_path / "out") == tallies.expected()


@pytest.mark.timeout(300)
def test_one_that_stands_by_takes_over_from_a_driver_that_writes_a_savepoint(
    tmp_path: Path,
) -> None:
    """The part of the savepoint that was written is none; later ones are of one moment."""
    saved = tmp_path / "saved"
    settings = {
        "execution.checkpointing.savepoint-dir": str(saved),
        "headrace.savepoint.interval": "100 ms",
        "headrace.savepoint.num-retained": "100",
    }
    folder = CheckpointFolder.of_job(str(tmp_path / "checkpoints 0"), "tallies")
    pins = Path(folder.directory, "pins")
    with supervised(tmp_path, settings=settings) as first:
        wait_for_batches(tmp_path, 2, first)
        with supervised(tmp_path, "--standby", settings=settings) as second:
            wait_for_text(tmp_path / "log", "waiting for its end", second)
            deadline = time.monotonic() + 60
            while not (begun := incomplete(saved)):
                assert time.monotonic() < deadline and first.poll() is None
                time.sleep(0.001)
            assert kill(driver_of_log(tmp_path))
            left = {*pins.iterdir()}
            assert second.wait(240) == 0, (tmp_path / "log").read_text(errors="replace")[-3_000:]
    assert written(tmp_path / "out") == tallies.expected()
    assert left and left.isdisjoint(pins.iterdir())
    found = dict(stored_savepoints(str(saved)))
    assert not begun & {Path(each).name for each in found}
    newest = max(found, key=lambda each: found[each].batch_id)
    (tmp_path / "out").rename(tmp_path / "out of the first")
    restored = {**tallies.TO_THE_END, tallies.RESTORE: newest}
    client = tallies.start(tmp_path, 1, **restored)
    client.get_job_execution_result().result()
    tallies.assert_all_after_a_moment(written(tmp_path / "out"))


def incomplete(saved: Path) -> set[str]:
    """The savepoints of which something is written, but not all."""
    return {
        each.name for each in saved.glob("*") if any(each.iterdir()) and not is_savepoint(str(each))
    }


def driver_of_log(folder: Path) -> int:
    """The driver that owns the checkpoint."""
    (job,) = stored_jobs(str(folder / "checkpoints 0"))
    assert job.pid is not None
    return job.pid


def wait_for_text(path: Path, text: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while text not in path.read_text(errors="replace"):
        assert time.monotonic() < deadline and process.poll() is None, path.read_text()[-3_000:]
        time.sleep(0.05)

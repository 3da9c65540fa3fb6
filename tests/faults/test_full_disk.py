"""The disk of the checkpoint is full for some seconds: the job goes on, and counts each once."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.test_supervise import supervised, wait_for_batches, wait_for_text
from tests.goldens.job import written
from tests.spark import test_savepoints as tallies

pytestmark = [
    pytest.mark.spark,
    pytest.mark.fault,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mounts a tmpfs (Linux)"),
]

RESTARTS = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "100",
    "restart-strategy.fixed-delay.delay": "1 s",
}


@contextmanager
def small_disk(folder: Path, size_mb: int) -> Iterator[None]:
    """A file system of its own at a folder; skips the test where this user cannot mount one."""
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size_mb}m", "headrace-test", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"a file system cannot be mounted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(path: Path) -> None:
    """Write to a file until its disk is full."""
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError as error:
            assert error.errno == errno.ENOSPC


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "recovery", ["restart strategy", pytest.param("supervisor", marks=pytest.mark.proof)]
)
def test_a_job_goes_on_after_a_full_disk(recovery: str, tmp_path: Path) -> None:
    disk = tmp_path / "checkpoints 0"
    options = ["--supervise"] if recovery == "supervisor" else []
    settings = {} if options else RESTARTS
    with small_disk(disk, 64), supervised(tmp_path, *options, settings=settings) as job:
        wait_for_batches(tmp_path, 2, job)
        fill(disk / "filler")
        wait_for_text(tmp_path / "log", "a disk that Spark writes to is full", job)
        time.sleep(5)
        os.unlink(disk / "filler")
        assert job.wait(180) == 0, (tmp_path / "log").read_text(errors="replace")[-3_000:]
    assert written(tmp_path / "out") == tallies.expected()
    assert "\tat org.apache.spark" not in (tmp_path / "log").read_text(errors="replace")

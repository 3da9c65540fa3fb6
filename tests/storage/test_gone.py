"""A storage that does not answer for a while: the job waits, or restarts, and counts each once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headrace.common._storage.locations import file_system_of
from tests.faults.processes import ROOT
from tests.storage.servers import Storage, in_proof
from tests.storage.test_on_spark import INPUT, LINES, SUMS, lines_in

pytestmark = [pytest.mark.spark, pytest.mark.fault, pytest.mark.xdist_group("storage")]

RESTARTS = [
    "restart-strategy.type=fixed-delay",
    "restart-strategy.fixed-delay.attempts=100",
    "restart-strategy.fixed-delay.delay=2 s",
]


class LinesJob:
    """A job in a process of its own, which reads lines slowly and restarts after failures."""

    def __init__(self, storage: Storage, base: str, log: Path) -> None:
        file_system_of(base).replace(f"{base}/in/lines.csv", INPUT.encode())
        self._log = log
        pairs = [f"{key}={value}" for key, value in storage.settings.items()]
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        program = [sys.executable, "-m", "tests.storage.lines_job", base, str(LINES)]
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [*program, *pairs, *RESTARTS],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": path, "LINE_SECONDS": "0.02"},
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def __enter__(self) -> LinesJob:
        """Wait until it has completed a micro-batch."""
        deadline = time.monotonic() + 120
        try:
            while "micro-batch 0" not in self.log:
                assert self._process.poll() is None and time.monotonic() < deadline, self.log[
                    -3000:
                ]
                time.sleep(0.1)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def assert_ends(self) -> None:
        assert self._process.wait(300) == 0, self.log[-5000:]


@pytest.mark.timeout(500)
@in_proof("s3", "hdfs")
@pytest.mark.parametrize("seconds", [10, pytest.param(75, marks=pytest.mark.proof)])
def test_a_storage_that_is_gone_for_a_while(
    seconds: int, storage: Storage, base: str, tmp_path: Path
) -> None:
    running = storage.server.running
    assert running is not None
    with LinesJob(storage, base, tmp_path / "log") as job:
        os.kill(running.process.pid, signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            os.kill(running.process.pid, signal.SIGCONT)
        job.assert_ends()
    assert lines_in(f"{base}/out") == SUMS
    assert "\tat org.apache.spark" not in job.log

"""A storage that does not answer for a while: the job waits, or restarts, and counts each once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.common._storage.locations import file_system_of
from tests.faults.processes import ROOT
from tests.storage.faulty_proxy import FaultyProxy
from tests.storage.servers import Storage
from tests.storage.test_on_spark import INPUT, LINES, SUMS, lines_in

pytestmark = [pytest.mark.spark, pytest.mark.fault, pytest.mark.xdist_group("storage")]

RESTARTS = [
    "restart-strategy.type=fixed-delay",
    "restart-strategy.fixed-delay.attempts=100",
    "restart-strategy.fixed-delay.delay=2 s",
]


class Job:
    """A job in a process of its own, which reads lines slowly."""

    def __init__(self, storage: Storage, base: str, log: Path) -> None:
        file_system_of(base).replace(f"{base}/in/lines.csv", INPUT.encode())
        self._log, self._base = log, base
        pairs = [f"{key}={value}" for key, value in storage.settings.items()]
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        command = [sys.executable, "-m", "tests.storage.lines_job", base, str(LINES)]
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [*command, *pairs, *RESTARTS],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": path, "LINE_SECONDS": "0.02"},
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def wait_for_a_micro_batch(self) -> None:
        deadline = time.monotonic() + 120
        while "micro-batch 0" not in self.log:
            assert self.process.poll() is None and time.monotonic() < deadline, self.log[-3000:]
            time.sleep(0.1)

    def assert_ends_with_each_line_once(self) -> None:
        assert self.process.wait(300) == 0, self.log[-5000:]
        assert lines_in(f"{self._base}/out") == SUMS
        assert "\tat org.apache.spark" not in self.log


@pytest.mark.timeout(500)
@pytest.mark.parametrize("seconds", [10, pytest.param(75, marks=pytest.mark.proof)])
def test_a_storage_that_is_gone_for_a_while(
    seconds: int, storage: Storage, base: str, tmp_path: Path
) -> None:
    running = storage.server.running
    assert running is not None
    with Job(storage, base, tmp_path / "log") as job:
        job.wait_for_a_micro_batch()
        os.kill(running.process.pid, signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            os.kill(running.process.pid, signal.SIGCONT)
        job.assert_ends_with_each_line_once()


@pytest.mark.timeout(500)
@pytest.mark.parametrize("storage", ["s3"], indirect=True)
@pytest.mark.parametrize(
    "fault",
    [
        "errors",
        pytest.param("some errors", marks=pytest.mark.proof),
        pytest.param("slow", marks=pytest.mark.proof),
    ],
)
def test_a_storage_that_answers_with_errors_or_slowly(
    fault: str, storage: Storage, base: str, tmp_path: Path
) -> None:
    """All requests of ten seconds are refused, each fifth one is, or each takes a second."""
    proxy = FaultyProxy(storage.hadoop["fs.s3a.endpoint"])
    hadoop = {**storage.hadoop, "fs.s3a.endpoint": proxy.url}
    try:
        with Job(replace(storage, hadoop=hadoop), base, tmp_path / "log") as job:
            job.wait_for_a_micro_batch()
            if fault == "errors":
                proxy.refuses = lambda number: True
                time.sleep(10)
            elif fault == "some errors":
                proxy.refuses = lambda number: number % 5 == 0
                time.sleep(20)
            else:
                proxy.delay_s = 1.0
                time.sleep(60)
            proxy.delay_s, proxy.refuses = 0.0, lambda number: False
            job.assert_ends_with_each_line_once()
    finally:
        proxy.close()
    assert proxy.refused > 3 or fault == "slow"

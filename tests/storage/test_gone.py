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
from tests.storage.servers import Storage
from tests.storage.test_on_spark import INPUT, LINES, SUMS, lines_in

pytestmark = [pytest.mark.spark, pytest.mark.fault, pytest.mark.xdist_group("storage")]

RESTARTS = [
    "restart-strategy.type=fixed-delay",
    "restart-strategy.fixed-delay.attempts=100",
    "restart-strategy.fixed-delay.delay=2 s",
]


@pytest.mark.timeout(500)
@pytest.mark.parametrize("seconds", [10, pytest.param(75, marks=pytest.mark.proof)])
def test_a_storage_that_is_gone_for_a_while(
    seconds: int, storage: Storage, base: str, tmp_path: Path
) -> None:
    files = file_system_of(base)
    files.replace(f"{base}/in/lines.csv", INPUT.encode())
    running = storage.server.running
    assert running is not None
    pairs = [f"{key}={value}" for key, value in storage.settings.items()]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    log = tmp_path / "log"
    with log.open("wb") as output:
        job = subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.storage.lines_job", base, str(LINES)),
                *pairs,
                *RESTARTS,
            ],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path, "LINE_SECONDS": "0.02"},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        deadline = time.monotonic() + 120
        while "micro-batch 0" not in log.read_text(errors="replace"):
            assert job.poll() is None and time.monotonic() < deadline, log.read_text()[-3000:]
            time.sleep(0.1)
        os.kill(running.process.pid, signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            os.kill(running.process.pid, signal.SIGCONT)
        assert job.wait(300) == 0, log.read_text(errors="replace")[-5000:]
    finally:
        job.kill()
        job.wait()
    assert lines_in(f"{base}/out") == SUMS
    assert "\tat org.apache.spark" not in log.read_text(errors="replace")

"""A storage that is slow or answers with errors for a while: the job counts each line once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headrace.common._storage.locations import file_system_of
from tests.faults.processes import ROOT
from tests.storage.servers import Storage
from tests.storage.test_gone import RESTARTS
from tests.storage.test_on_spark import INPUT, LINES, SUMS, lines_in
from tests.storage.troubled import Trouble, with_proxy

pytestmark = [pytest.mark.spark, pytest.mark.fault, pytest.mark.xdist_group("storage")]

SOME = Trouble(failing=0.3, executed=0.5)
ALL = Trouble(failing=1.0)
SLOW = Trouble(delay_seconds=2.0)


@pytest.mark.timeout(500)
@pytest.mark.parametrize(
    ("storage", "trouble", "seconds"),
    [
        pytest.param("s3", SOME, 10, id="s3 some", marks=pytest.mark.proof),
        pytest.param("hdfs", SOME, 10, id="hdfs some", marks=pytest.mark.proof),
        *(
            pytest.param(name, trouble, seconds, id=f"{name} {said}", marks=pytest.mark.proof)
            for name in ("s3", "hdfs")
            for said, trouble, seconds in (
                ("all", ALL, 20),
                ("all for long", ALL, 75),
                ("slow", SLOW, 30),
            )
        ),
    ],
    indirect=["storage"],
)
def test_a_storage_in_trouble_for_a_while(
    trouble: Trouble, seconds: int, storage: Storage, base: str, tmp_path: Path
) -> None:
    file_system_of(base).replace(f"{base}/in/lines.csv", INPUT.encode())
    log = tmp_path / "log"
    with with_proxy(storage) as (reached, proxy), log.open("wb") as output:
        pairs = [f"{key}={value}" for key, value in reached.settings.items()]
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        program = [sys.executable, "-m", "tests.storage.lines_job", base, str(LINES)]
        job = subprocess.Popen(
            [*program, *pairs, *RESTARTS],
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
            proxy.trouble = trouble
            time.sleep(seconds)
            proxy.trouble = Trouble()
            assert job.wait(300) == 0, log.read_text(errors="replace")[-5000:]
        finally:
            job.kill()
            job.wait()
    assert proxy.met, "no request met the trouble"
    print(dict(proxy.met), log.read_text(errors="replace").count("failed and restarts"), "restarts")
    assert lines_in(f"{base}/out") == SUMS

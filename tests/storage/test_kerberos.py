"""A job on an HDFS with Kerberos, which runs longer than its delegation tokens are valid."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.processes import ROOT
from tests.storage.kerberos import secure_hdfs
from tests.storage.test_on_spark import INPUT, LINES, SUMS, lines_in

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.proof]

TOKEN_SECONDS = 100
LINE_SECONDS = 0.3


@pytest.mark.timeout(600)
def test_a_job_outlives_its_tokens(tmp_path: Path) -> None:
    """Its user has nothing but a keytab. Spark replaces tokens after three quarters of their time.

    All lines together take longer than a token is valid.
    """
    assert LINES * LINE_SECONDS > TOKEN_SECONDS
    (tmp_path / "lines.csv").write_text(INPUT)
    with secure_hdfs(tmp_path, TOKEN_SECONDS) as hdfs:
        hdfs.upload(tmp_path / "lines.csv", f"{hdfs.base}/in/lines.csv")
        submitted = ["--master", "local[2]", *hdfs.submit_arguments, "pyspark-shell"]
        environ = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
            "HADOOP_CONF_DIR": str(hdfs.settings),
            "PYSPARK_SUBMIT_ARGS": shlex.join(submitted),
            "LINE_SECONDS": str(LINE_SECONDS),
        }
        limits = [f"headrace.source.{each}-records-per-batch=40" for each in ("max", "min")]
        job = subprocess.run(
            [sys.executable, "-m", "tests.storage.lines_job", hdfs.base, str(LINES), *limits],
            cwd=ROOT,
            env=environ,
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
        assert job.returncode == 0, job.stderr
        assert "continues with new delegation tokens of HDFS" in job.stderr
        hdfs.download(f"{hdfs.base}/out", tmp_path / "out")
    assert lines_in(str(tmp_path / "out")) == SUMS

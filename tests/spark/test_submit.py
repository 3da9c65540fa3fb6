"""A program under ``spark-submit``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from headrace.runners.spark.startup.class_archive import archive_options
from headrace.runners.spark.startup.java import ensure_java

pytestmark = pytest.mark.spark

PROGRAM = """
from pyspark.sql import SparkSession
from headrace.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
with env.from_sequence(1, 3).map(lambda n: n * n).execute_and_collect() as results:
    print(sorted(results))
context = SparkSession.getActiveSession().sparkContext
print(context.master, context.appName)
"""


def test_what_submits_decides(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(PROGRAM)
    ours = [path for path in sys.path if path and "python3" not in path]
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    settings = ["--conf", "spark.app.name=theirs", "--conf", "spark.ui.enabled=false"]
    java = ensure_java()
    quick = " ".join(["-XX:TieredStopAtLevel=1", *archive_options(java)])
    settings += ["--driver-java-options", quick]  # the test takes half as long
    done = subprocess.run(
        [str(submit), "--master", "local[1]", *settings, "job.py"],
        cwd=tmp_path,
        env={
            **os.environ,
            "JAVA_HOME": str(java.home),
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join(ours),
        },
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.stdout.splitlines()[-2:] == ["[1, 4, 9]", "local[1] theirs"], done.stderr[-3000:]
    # spark-submit puts the standard error of a Python program into its own standard output
    assert (done.stdout + done.stderr).count(" runs on local[1] with 1 core, Spark ") == 1

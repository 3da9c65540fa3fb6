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


WAITING = """
import time
from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.functions import KeyedProcessFunction
from tests.connectors.test_sqlite_log import SqliteLogSource, make_log
from headrace.common import WatermarkStrategy

class Same(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value

env = StreamExecutionEnvironment.get_execution_environment()
source = SqliteLogSource(make_log("log.db", []), bounded=False)
records = env.from_source(source, WatermarkStrategy.no_watermarks(), "log")
records.key_by(lambda n: n).process(Same()).print()
job = env.execute_async("waiting")
time.sleep(SECONDS)
job.cancel()
"""


def submit(folder: Path, program: str, *given: str) -> subprocess.CompletedProcess[str]:
    (folder / "job.py").write_text(program)
    ours = [path for path in sys.path if path and "python3" not in path]
    command = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    java = ensure_java()
    quick = " ".join(["-XX:TieredStopAtLevel=1", *archive_options(java)])
    settings = ["--conf", "spark.ui.enabled=false", *given]
    settings += ["--driver-java-options", quick]  # the test takes half as long
    return subprocess.run(
        [str(command), "--master", "local[1]", *settings, "job.py"],
        cwd=folder,
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


def test_what_submits_decides(tmp_path: Path) -> None:
    done = submit(tmp_path, PROGRAM, "--conf", "spark.app.name=theirs")
    assert done.stdout.splitlines()[-2:] == ["[1, 4, 9]", "local[1] theirs"], done.stderr[-3000:]
    # spark-submit puts the standard error of a Python program into its own standard output
    assert (done.stdout + done.stderr).count(" runs on local[1] with 1 core, Spark ") == 1


def test_a_job_that_waits_logs_little(tmp_path: Path) -> None:
    done = submit(tmp_path, WAITING.replace("SECONDS", "3"))
    assert done.returncode == 0, done.stderr[-3000:]
    assert "INFO" in done.stderr
    assert "MicroBatchExecutionContext" not in done.stderr
